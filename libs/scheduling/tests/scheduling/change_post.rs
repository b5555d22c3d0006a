use std::sync::atomic::Ordering;

use chrono::TimeDelta;
use domain::post::{Authority, Changes, IfMatch, NewTarget, Post, PostStatus, TargetStatus};
use domain::testing::{noon, text};
use housekeeping::Outbox;
use publishing::testing::{FakePlatform, PublishFault, PublishingHarness, later};
use scheduling::Changed;

fn expect_done(changed: Changed) -> Post {
    match changed {
        Changed::Done(post) => *post,
        other => panic!("{other:?}"),
    }
}

fn invalid_fields(changed: Changed) -> String {
    match changed {
        Changed::Invalid(errors) => errors.iter().map(|it| it.0).collect::<Vec<_>>().join(","),
        other => panic!("{other:?}"),
    }
}

async fn change(harness: &PublishingHarness, read: &Post, change: Changes) -> Changed {
    harness.scheduling.change_post(harness.user.user_id, read.clone(), change).await.unwrap()
}

async fn delete(harness: &PublishingHarness, read: &Post, authority: Authority, if_match: Option<&IfMatch>) -> Changed {
    harness.scheduling.delete_post(harness.user.user_id, read.clone(), authority, if_match).await.unwrap()
}

#[tokio::test]
async fn change_just_before_publishing_is_published() {
    let harness = PublishingHarness::new().await;
    let post = harness.schedule("Old", later(100)).await;
    harness.live(later(97)).await;

    assert_eq!(expect_done(harness.rewrite(&post, "New").await).revision, 2);
    harness.live(later(400)).await;

    assert_eq!(harness.fake.texts(), ["New"]);
    assert_eq!(*harness.fake.calls.lock().unwrap(), [later(100)]);
    assert_eq!(harness.events.types(), ["post.scheduled", "target.published", "post.published"]);
}

#[tokio::test]
async fn confirmed_change_stops_a_worker_with_the_old_text() {
    let harness = PublishingHarness::with(
        1,
        FakePlatform { refresh_policy: platforms::RefreshPolicy::Rotating, ..FakePlatform::default() },
    )
    .await;
    harness.reconnect(0, PublishingHarness::credentials(Some(later(10))), None).await;
    let post = harness.schedule("Old", noon()).await;
    let message = harness.queue.take().remove(0).1;
    let gate = harness.fake.hold_refresh();

    // The worker is between its read and its publish call.
    let change = async {
        gate.entered().await;
        let changed = harness.rewrite(&post, "New").await;
        gate.open();
        changed
    };
    let (delivered, changed) = tokio::join!(harness.publishing.deliver(&harness.platforms, message), change);

    delivered.unwrap();
    expect_done(changed);
    assert_eq!(harness.fake.texts(), [""; 0]);
    harness.live(later(60)).await;
    assert_eq!(harness.fake.texts(), ["New"]);
}

#[tokio::test]
async fn post_with_a_running_call_cannot_be_changed_or_deleted() {
    let harness = PublishingHarness::new().await;
    let post = harness.schedule("Old", noon()).await;
    let message = harness.queue.take().remove(0).1;
    let gate = harness.fake.hold_publish();

    let attempts = async {
        gate.entered().await;
        // As the client read it: still scheduled.
        let read = harness.post(&post).await;
        assert_eq!(read.status, PostStatus::Scheduled);
        let rewritten = Changes { text: Some(text("New")), ..Changes::default() };
        let unscheduled = Changes { scheduled_at: Some(None), ..Changes::default() };
        let ends = [
            change(&harness, &read, rewritten).await,
            change(&harness, &read, unscheduled).await,
            delete(&harness, &read, Authority::Posts, None).await,
        ];
        assert_eq!(harness.post(&post).await.status, PostStatus::Publishing);
        gate.open();
        ends
    };
    let (delivered, ends) = tokio::join!(harness.publishing.deliver(&harness.platforms, message), attempts);

    delivered.unwrap();
    assert_eq!(ends.map(invalid_fields), ["status"; 3]);
    let post = harness.post(&post).await;
    assert_eq!((post.status, post.revision), (PostStatus::Published, 1));
    assert_eq!(harness.fake.texts(), ["Old"]);
    assert_eq!((harness.pending(0).await, harness.counts().await.count(None)), (0, 1));
}

#[tokio::test]
async fn change_during_unknown_outcome_is_refused() {
    let harness = PublishingHarness::with(1, FakePlatform::default().with_faults([PublishFault::LostResponse])).await;
    let post = harness.schedule("Old", noon()).await;
    let delivery = harness.delivery(&post).await;
    harness.leave(&delivery, delivery.clone().open_intent(noon())).await;

    assert_eq!(invalid_fields(harness.rewrite(&post, "New").await), "status");

    assert_eq!(harness.post(&post).await.status, PostStatus::Publishing);
}

#[tokio::test]
async fn unscheduled_post_is_not_published() {
    let harness = PublishingHarness::new().await;
    let post = harness.schedule("Hello", later(100)).await;
    harness.live(later(97)).await;

    let draft = expect_done(harness.reschedule(&post, None).await);
    harness.live(later(7200)).await;

    assert_eq!(draft.status, PostStatus::Draft);
    assert_eq!(harness.fake.calls(), 0);
    assert_eq!((harness.deliveries(&post).await, harness.due().await), (Vec::new(), Vec::new()));
    assert_eq!((harness.pending(0).await, harness.counts().await.draft, harness.counts().await.count(None)), (0, 1, 1));

    expect_done(harness.reschedule(&post, Some(later(7300))).await);
    harness.live(later(7400)).await;
    assert_eq!(harness.fake.texts(), ["Hello"]);
}

#[tokio::test]
async fn deleted_post_is_not_published() {
    let harness = PublishingHarness::new().await;
    let post = harness.schedule("Hello", later(100)).await;
    harness.live(later(97)).await;

    expect_done(delete(&harness, &harness.post(&post).await, Authority::Posts, None).await);
    harness.live(later(7200)).await;

    assert_eq!(harness.fake.calls(), 0);
    assert_eq!((harness.pending(0).await, harness.counts().await.count(None)), (0, 0));
    assert_eq!((harness.deliveries(&post).await, harness.due().await), (Vec::new(), Vec::new()));
    let again = delete(&harness, &post, Authority::Posts, None).await;
    assert!(matches!(again, Changed::NotThere), "{again:?}");
}

#[tokio::test]
async fn rescheduled_post_is_published_once_at_its_new_time() {
    for moved_to in [50, 5000] {
        let harness = PublishingHarness::new().await;
        let post = harness.schedule("Hello", later(100)).await;

        expect_done(harness.reschedule(&post, Some(later(moved_to))).await);
        harness.live(later(9000)).await;

        assert_eq!(*harness.fake.calls.lock().unwrap(), [later(moved_to)]);
        assert_eq!(harness.post(&post).await.status, PostStatus::Published);
        let types = harness.events.types();
        assert_eq!(types, ["post.scheduled", "post.scheduled", "target.published", "post.published"]);
    }
}

#[tokio::test]
async fn removed_target_is_not_published_and_not_pending() {
    let harness = PublishingHarness::with(2, FakePlatform::default()).await;
    let post = harness.schedule("Hello", later(100)).await;
    let kept = NewTarget::new(0, harness.accounts[1].connection_id);

    let change = Changes { targets: Some(vec![kept]), ..Changes::default() };
    let changed = expect_done(harness.change(&post, change).await);
    harness.live(later(200)).await;

    assert_eq!(changed.targets[0].target_id, post.targets[1].target_id, "the entry keeps its id");
    let accounts: Vec<_> = harness.fake.public.lock().unwrap().iter().map(|it| it.account.clone()).collect();
    assert_eq!(accounts, ["1"]);
    assert_eq!((harness.pending(0).await, harness.pending(1).await), (0, 0));
    assert_eq!(harness.due().await, []);
}

#[tokio::test]
async fn rescheduled_failed_post_publishes_only_unpublished_targets() {
    let harness =
        PublishingHarness::with(2, FakePlatform::default().with_faults([PublishFault::Public, PublishFault::Refused]))
            .await;
    let post = harness.schedule("Hello", later(5)).await;
    harness.live(later(60)).await;
    assert_eq!(harness.post(&post).await.status, PostStatus::Failed);
    assert_eq!(invalid_fields(harness.reschedule(&post, None).await), "scheduled_at");
    let gone = delete(&harness, &harness.post(&post).await, Authority::Posts, None).await;
    assert_eq!(invalid_fields(gone), "status");

    expect_done(harness.reschedule(&post, Some(later(500))).await);
    assert_eq!(harness.counts().await.scheduled, 1);
    harness.live(later(600)).await;

    assert_eq!(harness.fake.calls(), 3);
    let mut accounts: Vec<_> = harness.fake.public.lock().unwrap().iter().map(|it| it.account.clone()).collect();
    accounts.sort();
    assert_eq!(accounts, ["0", "1"], "each once");
    assert_eq!(harness.post(&post).await.status, PostStatus::Published);
    assert_eq!((harness.pending(0).await, harness.pending(1).await, harness.counts().await.published), (0, 0, 1));
}

#[tokio::test]
async fn changed_failed_post_stays_failed_until_rescheduled() {
    let harness = PublishingHarness::with(1, FakePlatform::default().with_faults([PublishFault::Refused])).await;
    let post = harness.schedule("Old", later(5)).await;
    harness.live(later(60)).await;

    let changed = expect_done(harness.rewrite(&post, "New").await);
    harness.live(later(600)).await;
    assert_eq!((changed.status, harness.fake.calls()), (PostStatus::Failed, 1));
    expect_done(harness.reschedule(&post, Some(later(700))).await);
    harness.live(later(800)).await;

    assert_eq!(harness.fake.texts(), ["New"]);
    assert_eq!((harness.counts().await.published, harness.counts().await.failed), (1, 0));
}

#[tokio::test]
async fn failed_post_rescheduled_for_same_time_emits_an_event() {
    let harness = PublishingHarness::with(1, FakePlatform::default().with_faults([PublishFault::Refused])).await;
    let post = harness.schedule("Hello", later(5)).await;
    harness.live(later(60)).await;

    expect_done(harness.reschedule(&post, Some(later(5))).await);

    let scheduled = harness.events.types().into_iter().filter(|it| *it == "post.scheduled").count();
    assert_eq!(scheduled, 2);
}

#[tokio::test]
async fn concurrent_changes_and_delivery_publish_the_last_change() {
    for _ in 0..10 {
        let harness = PublishingHarness::new().await;
        let post = harness.schedule("Old", noon()).await;
        let message = harness.queue.take().remove(0).1;

        let (delivered, changed) =
            tokio::join!(harness.publishing.deliver(&harness.platforms, message), harness.rewrite(&post, "New"));
        delivered.unwrap();
        harness.live(later(60)).await;

        match changed {
            Changed::Done(_) => assert_eq!(harness.fake.texts(), ["New"]),
            Changed::Invalid(_) => assert_eq!(harness.fake.texts(), ["Old"]),
            other => panic!("{other:?}"),
        }
        assert_eq!(harness.post(&post).await.status, PostStatus::Published);
    }
}

#[tokio::test]
async fn concurrent_changes_are_applied_one_after_the_other() {
    let harness = PublishingHarness::new().await;
    let post = harness.schedule("Old", later(5000)).await;
    let texts: Vec<_> = (0..12).map(|it| format!("New {it}")).collect();

    let changed = futures::future::join_all(texts.iter().map(|it| harness.rewrite(&post, it))).await;

    let mut revisions: Vec<_> = changed.into_iter().map(|it| expect_done(it).revision).collect();
    revisions.sort_unstable();
    assert_eq!(revisions, (2..=13).collect::<Vec<_>>(), "each is a change of the one before");
    assert_eq!(harness.post(&post).await.revision, 13);
    assert!(harness.clock.now() < later(12), "within the time of a request");
}

#[tokio::test]
async fn concurrent_changes_and_deletions_all_get_a_response() {
    let harness = PublishingHarness::new().await;
    let post = harness.schedule("Old", later(5000)).await;
    let read = harness.post(&post).await;
    let new = || Changes { text: Some(text("New")), ..Changes::default() };

    let (changed, deleted) = futures::join!(
        futures::future::join_all((0..6).map(|_| change(&harness, &read, new()))),
        futures::future::join_all((0..2).map(|_| delete(&harness, &read, Authority::Posts, None))),
    );

    assert_eq!(deleted.iter().filter(|it| matches!(it, Changed::Done(_))).count(), 1, "{deleted:?}");
    let ended = |it: &Changed| matches!(it, Changed::Done(_) | Changed::NotThere);
    assert!(changed.iter().chain(&deleted).all(ended), "{changed:?} {deleted:?}");
    assert_eq!((harness.pending(0).await, harness.counts().await.count(None)), (0, 0));
    assert_eq!((harness.deliveries(&post).await, harness.due().await), (Vec::new(), Vec::new()));
}

#[tokio::test]
async fn change_that_makes_a_post_published_emits_one_event() {
    let harness = PublishingHarness::with(2, FakePlatform::default().with_faults([PublishFault::Refused])).await;
    let post = harness.schedule("Hello", later(100)).await;
    harness.live(later(200)).await;
    let failed = harness.post(&post).await;
    let public = failed.targets.iter().find(|it| it.status == TargetStatus::Published).unwrap();
    let kept = NewTarget::new(0, public.connection_id);
    let count_published_events = || harness.events.types().iter().filter(|it| **it == "post.published").count();

    // The change is applied although the event bus is down.
    harness.events.down.store(true, Ordering::SeqCst);
    let without_failed = || Changes { targets: Some(vec![kept.clone()]), ..Changes::default() };
    let (one, other) =
        tokio::join!(change(&harness, &failed, without_failed()), harness.change(&failed, without_failed()));
    assert!([one, other].iter().any(|it| matches!(it, Changed::Done(_))));
    harness.events.down.store(false, Ordering::SeqCst);
    assert_eq!((harness.post(&post).await.status, count_published_events()), (PostStatus::Published, 0));

    harness.clock.advance(TimeDelta::minutes(1));
    let outbox = Outbox { store: harness.store.clone(), events: harness.events.clone(), clock: harness.clock.clone() };
    outbox.sweep().await.unwrap();
    assert_eq!(count_published_events(), 1);
}

#[tokio::test]
async fn drafts_only_caller_cannot_change_a_post_scheduled_meanwhile() {
    let harness = PublishingHarness::new().await;
    let post = harness.schedule("Old", later(5000)).await;
    let at = |scheduled_at| Changes { scheduled_at: Some(scheduled_at), ..Changes::default() };
    let draft = expect_done(change(&harness, &harness.post(&post).await, at(None)).await);
    let drafts = |request| Changes { authority: Authority::Drafts, ..request };
    let rewrite = || drafts(Changes { text: Some(text("New")), ..Changes::default() });

    assert_eq!(expect_done(change(&harness, &draft, rewrite()).await).text.as_str(), "New");
    let draft = harness.post(&post).await;
    assert!(matches!(change(&harness, &draft, drafts(at(Some(later(5000))))).await, Changed::DraftsOnly));
    let scheduled = expect_done(change(&harness, &draft, for_revision(draft.revision, at(Some(later(5000))))).await);

    for read in [&draft, &scheduled] {
        assert!(matches!(change(&harness, read, rewrite()).await, Changed::DraftsOnly));
        assert!(matches!(change(&harness, read, drafts(at(None))).await, Changed::DraftsOnly));
        let deleted = delete(&harness, read, Authority::Drafts, None).await;
        assert!(matches!(deleted, Changed::DraftsOnly), "{deleted:?}");
    }
    assert_eq!(harness.post(&post).await.text.as_str(), "New");
    harness.live(later(6000)).await;
    assert_eq!(harness.fake.texts(), ["New"]);
}

fn for_revision(revision: u64, change: Changes) -> Changes {
    Changes { if_match: Some(IfMatch::revision(revision)), ..change }
}

#[tokio::test]
async fn concurrent_changes_of_one_revision_apply_once() {
    for _ in 0..10 {
        let harness = PublishingHarness::new().await;
        let post = harness.schedule("Old", later(5000)).await;
        let read = harness.post(&post).await;
        let rewrite = |content| for_revision(1, Changes { text: Some(text(content)), ..Changes::default() });

        // Both read the first revision, so the later write conflicts with the earlier one.
        let (one, other) =
            tokio::join!(change(&harness, &read, rewrite("One")), change(&harness, &read, rewrite("Other")));

        let made: Vec<_> = match (one, other) {
            (Changed::Done(post), Changed::Stale) => vec![("One", post)],
            (Changed::Stale, Changed::Done(post)) => vec![("Other", post)],
            ends => panic!("{ends:?}"),
        };
        let now = harness.post(&post).await;
        assert_eq!((now.text.as_str(), now.revision, made[0].1.revision), (made[0].0, 2, 2));
    }
}

#[tokio::test]
async fn wrong_revision_changes_and_deletes_nothing() {
    let harness = PublishingHarness::new().await;
    let post = harness.schedule("Old", later(5000)).await;
    let first = harness.post(&post).await;
    expect_done(harness.rewrite(&post, "New").await);
    let now = harness.post(&post).await;

    // Read before or after the other change.
    for read in [&first, &now] {
        for request in [Changes::default(), Changes { scheduled_at: Some(None), ..Changes::default() }] {
            let changed = change(&harness, read, for_revision(1, request)).await;
            assert!(matches!(changed, Changed::Stale), "{changed:?}");
        }
        let deleted = delete(&harness, read, Authority::Posts, Some(&IfMatch::revision(1))).await;
        assert!(matches!(deleted, Changed::Stale), "{deleted:?}");
    }
    assert_eq!(harness.post(&post).await, now);

    let deleted = delete(&harness, &now, Authority::Posts, Some(&IfMatch::revision(2))).await;
    assert!(matches!(deleted, Changed::Done(_)), "{deleted:?}");
}

#[tokio::test]
async fn draft_changed_by_full_caller_needs_no_revision() {
    let harness = PublishingHarness::new().await;
    let post = harness.schedule("Hello", later(5000)).await;
    expect_done(harness.reschedule(&post, None).await);
    let by_drafts = |content| Changes { text: Some(text(content)), authority: Authority::Drafts, ..Changes::default() };
    expect_done(harness.change(&post, by_drafts("Theirs")).await);
    expect_done(harness.rewrite(&post, "Mine").await);

    assert_eq!(expect_done(harness.reschedule(&post, Some(later(5000))).await).status, PostStatus::Scheduled);
}

#[tokio::test]
async fn post_waiting_for_reconnection_can_change_all_but_its_time() {
    let harness = PublishingHarness::with(1, FakePlatform::default().with_faults([PublishFault::Gone])).await;
    let post = harness.schedule("Old", later(5)).await;
    harness.live(later(300)).await;
    assert!(harness.connection(0).await.connection.needs_reconnection);
    let waiting = harness.post(&post).await;
    assert_eq!((waiting.status, waiting.targets[0].status), (PostStatus::Scheduled, TargetStatus::Pending));

    expect_done(harness.change(&post, Changes::default()).await);
    let changed = expect_done(harness.rewrite(&post, "New").await);
    assert_eq!((changed.status, changed.scheduled_at), (PostStatus::Scheduled, Some(later(5))));
    assert_eq!(invalid_fields(harness.reschedule(&post, Some(later(900))).await), "platforms.0.connected_account_id");
    harness.reconnect(0, PublishingHarness::credentials(None), None).await;
    harness.live(later(1800)).await;

    assert_eq!(harness.fake.texts(), ["New"]);
    assert_eq!(harness.post(&post).await.status, PostStatus::Published);
}
