use domain::delivery::{LEASE_DURATION, Published};
use fakes::conformance::log::Log;
use platforms::Followed;
use storage::Disconnected;

use super::*;

fn fake(results: impl IntoIterator<Item = Result<Followed, AttemptError>>) -> FakePlatform {
    let platform = FakePlatform { follow_ups: vec!["comment", "playlist"], ..FakePlatform::default() };
    platform.following.lock().unwrap().extend(results);
    platform
}

fn busy() -> Result<Followed, AttemptError> {
    Err(AttemptError::RetryLater { retry_at: None, reason: "too many comments".to_owned() })
}

fn followed(harness: &PublishingHarness) -> Vec<String> {
    harness.fake.followed.lock().unwrap().iter().map(|it| it.0.clone()).collect()
}

fn missed_in(log: &Log) -> Vec<String> {
    let lines = log.text();
    let field = |line: &str, name: &str| {
        let value = line.split_once(&format!("{name}=")).map(|it| it.1.split(' ').next().unwrap().replace('"', ""));
        value.unwrap_or_default()
    };
    let missed = lines.lines().filter(|it| it.contains("were not done"));
    let summary = |it: &str| ["follow_up", "follow_ups_missed", "why"].map(|name| field(it, name)).join(" ");
    missed.map(summary).collect()
}

#[tokio::test]
async fn follow_ups_run_in_order_and_delay_nothing() {
    let again = Ok(Followed::Again { progress: "half".to_owned(), at: later(20) });
    let (log, _kept) = Log::capture();
    let harness = PublishingHarness::with(1, fake([busy(), again])).await;
    let post = harness.schedule("Hello", later(5)).await;

    harness.live(later(10)).await;
    assert_eq!(harness.post(&post).await.status, PostStatus::Published, "before anything follows");
    assert_eq!((harness.pending(0).await, harness.due().await.len()), (0, 1));
    harness.live(later(3600)).await;

    assert_published_once(&harness, &post, "Hello").await;
    let followed = harness.fake.followed.lock().unwrap().clone();
    let expected = [("comment", None), ("comment", None), ("comment", Some("half")), ("playlist", None)];
    assert_eq!(followed, expected.map(|(name, progress)| (name.to_owned(), progress.map(str::to_owned))));
    assert_eq!(harness.events.types(), ["post.scheduled", "target.published", "post.published"]);
    assert_eq!((harness.fake.calls(), missed_in(&log)), (1, vec![]));
}

/// An hour later, the platform shows the post; a day later it has removed it. The post has failed,
/// and can be sent again.
#[tokio::test]
async fn post_that_the_platform_removed_has_failed() {
    let review = |progress: &str, at| Ok(Followed::Again { progress: progress.to_owned(), at });
    let removed = Ok(Followed::Removed { reason: "it breaks the rules.".to_owned() });
    let fake = fake([review("1", later(3_600)), review("2", later(86_400)), removed]);
    let harness = PublishingHarness::with(1, FakePlatform { follow_ups: vec!["review"], ..fake }).await;
    let post = harness.schedule("Hello", later(5)).await;

    harness.live(later(80_000)).await;
    assert_eq!(harness.post(&post).await.status, PostStatus::Published);
    harness.live(later(90_000)).await;

    let after = harness.post(&post).await;
    let message =
        "Sandbox published the post, and removed it later: it breaks the rules. Edit the post and reschedule it.";
    assert_eq!((after.status, after.targets[0].error_message.as_deref()), (PostStatus::Failed, Some(message)));
    assert!(!after.targets[0].is_public());
    let types = ["post.scheduled", "target.published", "post.published", "target.failed", "post.failed"];
    assert_eq!((harness.events.types(), harness.due().await.len()), (types.to_vec(), 0));
}

#[tokio::test]
async fn follow_ups_run_after_an_unknown_outcome_too() {
    let harness = PublishingHarness::with(1, fake([]).with_faults([PublishFault::LostResponse])).await;
    let post = harness.schedule("Hello", later(5)).await;

    harness.live(later(3600)).await;

    assert_published_once(&harness, &post, "Hello").await;
    assert_eq!(followed(&harness), ["comment", "playlist"]);
}

#[tokio::test]
async fn follow_up_with_unknown_outcome_is_skipped_and_next_runs() {
    let lost = Err(AttemptError::Unknown { may_still_run: true, retry_at: None, reason: "no answer".to_owned() });
    let (log, _kept) = Log::capture();
    let harness = PublishingHarness::with(1, fake([lost])).await;
    let post = harness.schedule("Hello", later(5)).await;

    harness.live(later(7200)).await;

    assert_published_once(&harness, &post, "Hello").await;
    assert_eq!(followed(&harness), ["comment", "playlist"]);
    assert_eq!(missed_in(&log), ["comment 1 unknown"]);
}

#[tokio::test]
async fn failing_follow_up_is_given_up_within_the_hour() {
    let (log, _kept) = Log::capture();
    let harness = PublishingHarness::with(1, fake(vec![busy(); 40])).await;
    let post = harness.schedule("Hello", later(5)).await;

    harness.live(later(2 * 3600)).await;

    assert_published_once(&harness, &post, "Hello").await;
    let followed = followed(&harness);
    assert!((5..=10).contains(&followed.len()), "{followed:?}");
    assert_eq!(missed_in(&log), ["comment 1 busy", "playlist 1 busy"], "once each, and not for every try");
}

/// The follow-ups are a comment and a playlist.
async fn crash_after_publication(harness: &PublishingHarness) -> (Post, Delivery) {
    let post = harness.schedule("Hello", noon()).await;
    harness.queue.take();
    let delivery = harness.delivery(&post).await;
    let intended = harness.leave(&delivery, delivery.clone().open_intent(noon())).await;
    harness.fake.public.lock().unwrap().push(crate::testing::a_public_post("Hello", &reference(&delivery, 0)));
    let names = vec!["comment".to_owned(), "playlist".to_owned()];
    let published = intended.clone().record_publish(Ok(Published::new("p1", noon())), noon(), 0);
    let published = harness.leave(&intended, published.with_follow_ups(names, noon())).await;
    (post, published)
}

#[tokio::test]
async fn follow_up_not_started_within_the_hour_is_late() {
    for (has_begun, missed) in [(false, "comment 2 late"), (true, "comment 2 unknown")] {
        let (log, _kept) = Log::capture();
        let harness = PublishingHarness::with(1, fake([])).await;
        let (post, published) = crash_after_publication(&harness).await;
        if has_begun {
            harness.leave(&published, published.clone().begin_follow_up(noon())).await;
        }

        harness.clock.skip_to(later(2 * 3600));
        harness.live(later(2 * 3600 + 600)).await;

        assert_published_once(&harness, &post, "Hello").await;
        assert_eq!((followed(&harness), missed_in(&log)), (vec![], vec![missed.to_owned()]));
    }
}

#[tokio::test]
async fn follow_ups_after_a_lost_grant_are_logged_as_missed() {
    let (log, _kept) = Log::capture();
    let platform = FakePlatform { refresh_policy: platforms::RefreshPolicy::Rotating, ..fake([busy()]) };
    platform.refresh_faults.lock().unwrap().extend(vec![crate::testing::RefreshFault::Gone; 9]);
    let harness = PublishingHarness::with(1, platform).await;
    let post = harness.schedule("Hello", later(5)).await;
    harness.live(later(10)).await;
    harness.reconnect(0, PublishingHarness::credentials(Some(later(11))), None).await;

    harness.live(later(7200)).await;

    assert_eq!(
        (harness.post(&post).await.status, followed(&harness)),
        (PostStatus::Published, vec!["comment".to_owned()])
    );
    assert_eq!(missed_in(&log), ["comment 1 disconnected", "playlist 1 disconnected"]);
}

#[tokio::test]
async fn many_workers_make_each_call_once() {
    let harness = PublishingHarness::with(1, fake([])).await;
    let post = harness.schedule("Hello", later(1)).await;
    let message = harness.queue.take().remove(0).1;

    harness.deliver(message, 8).await;
    harness.live(later(600)).await;

    assert_published_once(&harness, &post, "Hello").await;
    assert_eq!(followed(&harness), ["comment", "playlist"]);
}

#[tokio::test]
async fn crash_after_publication_loses_and_repeats_no_follow_up() {
    for has_begun in [false, true] {
        let harness = PublishingHarness::with(1, fake([])).await;
        let (post, published) = crash_after_publication(&harness).await;
        if has_begun {
            harness.leave(&published, published.clone().begin_follow_up(noon())).await;
            harness.live(noon() + LEASE_DURATION - TimeDelta::seconds(1)).await;
            assert_eq!(followed(&harness), Vec::<String>::new(), "the worker may still be at it");
        }

        harness.live(later(600)).await;

        assert_published_once(&harness, &post, "Hello").await;
        let expected: &[&str] = if has_begun { &["playlist"] } else { &["comment", "playlist"] };
        assert_eq!(followed(&harness), expected);
    }
}

#[tokio::test]
async fn no_follow_up_runs_after_disconnection() {
    let harness = PublishingHarness::with(1, fake([busy()])).await;
    let post = harness.schedule("Hello", later(5)).await;
    harness.live(later(10)).await;
    assert_eq!(followed(&harness), ["comment"]);

    let id = harness.accounts[0].connection_id;
    let disconnected = harness.store.delete_connection(harness.user.user_id, id, noon()).await.unwrap();
    assert!(matches!(disconnected, Disconnected::Deleted { .. }), "a published post does not hold it");
    harness.live(later(7200)).await;

    assert_eq!(followed(&harness), ["comment"]);
    assert_eq!((harness.post(&post).await.status, harness.due().await), (PostStatus::Published, vec![]));
}
