mod fixture;

use chrono::TimeDelta;
use domain::connection::Connection;
use domain::delivery::{PreparationStep, Published, State};
use domain::idempotency::IdempotencyKey;
use domain::listing::Counts;
use domain::post::{SegmentKind, TargetStatus};
use domain::profile::ProfileRef;
use domain::testing::{Dice, a_profile, noon};

use self::fixture::{Fixture, puts};
use super::*;
use crate::connections::Disconnected;
use crate::write_outcome::WriteOutcome;

fn published(delivery: &Delivery) -> Delivery {
    let published = Published::new("p1".to_owned(), noon());
    delivery.clone().open_intent(noon()).record_publish(Ok(published), noon(), 0).with_write_id(8)
}

fn changed(post: &Post) -> Post {
    Post { revision: post.revision + 1, ..post.clone() }
}

#[tokio::test]
async fn scheduled_post_is_stored_with_deliveries_counts_and_marks() {
    let fixture = Fixture::with_accounts(2).await;

    let (post, deliveries) = fixture.scheduled().await;

    let (stored, mut found, counts, pending, due) = fixture.snapshot(&post).await;
    assert_eq!(stored, Some(post));
    found.sort_by_key(|it| it.target_id);
    assert_eq!(found, deliveries);
    assert_eq!(counts, Counts { scheduled: 1, ..Counts::default() });
    assert_eq!((pending, due), (vec![1, 1], 2));
}

#[tokio::test]
async fn existing_post_is_not_overwritten_by_a_new_one() {
    let fixture = Fixture::with_accounts(1).await;
    let (post, _) = fixture.scheduled().await;
    let before = fixture.snapshot(&post).await;

    assert_eq!(fixture.write(None, Some(&post), Vec::new()).await, PostWritten::PostChanged);

    assert_eq!(fixture.snapshot(&post).await, before);
}

#[tokio::test]
async fn one_of_concurrent_changes_is_written() {
    let fixture = Fixture::with_accounts(1).await;
    let post = fixture.post(None);
    fixture.write(None, Some(&post), Vec::new()).await;
    let after = fixture.post(Some(10));
    let after = Post { post_id: post.post_id, ..after };

    let writes = (0..8).map(|_| fixture.write(Some(&post), Some(&after), Vec::new()));
    let mut ends = futures::future::join_all(writes).await;

    ends.sort_by_key(|it| *it != PostWritten::Done);
    assert_eq!(ends[0], PostWritten::Done);
    assert!(ends[1..].iter().all(|it| *it == PostWritten::PostChanged), "{ends:?}");
    assert_eq!(fixture.counts().await, Counts { scheduled: 1, ..Counts::default() });
    assert_eq!(fixture.pending().await, [1]);
}

#[tokio::test]
async fn concurrent_posts_are_all_counted() {
    let fixture = Fixture::with_accounts(1).await;
    let posts: Vec<_> = (0..16).map(|_| fixture.post(Some(10))).collect();

    let ends = futures::future::join_all(posts.iter().map(|it| fixture.write(None, Some(it), Vec::new()))).await;

    assert!(ends.iter().all(|it| *it == PostWritten::Done), "{ends:?}");
    assert_eq!(fixture.counts().await.scheduled, 16);
    assert_eq!(fixture.pending().await, [16]);
}

#[tokio::test]
async fn posts_of_each_profile_are_counted() {
    let fixture = Fixture::with_accounts(1).await;
    let (one, other) = (a_profile(&fixture.user).reference(), a_profile(&fixture.user).reference());
    let scheduled = async || {
        let count = |it: &ProfileRef| fixture.store.scheduled_of_profile(fixture.user.user_id, it.profile_id);
        (count(&one).await.unwrap(), count(&other).await.unwrap())
    };
    let mut before: Option<Post> = None;
    let draft = fixture.post(None);
    for (status, profile, count) in [
        (PostStatus::Draft, &one, (0, 0)),
        (PostStatus::Scheduled, &one, (1, 0)),
        (PostStatus::Scheduled, &one, (1, 0)),
        (PostStatus::Scheduled, &other, (0, 1)),
        (PostStatus::Publishing, &other, (0, 0)),
        (PostStatus::Scheduled, &one, (1, 0)),
    ] {
        let stored = before.as_ref().map(|it| Post { write_id: it.write_id, ..changed(it) });
        let after = Post { status, of_profile: Some(profile.clone()), ..stored.unwrap_or_else(|| draft.clone()) };
        assert_eq!(fixture.write(before.as_ref(), Some(&after), Vec::new()).await, PostWritten::Done);
        assert_eq!(scheduled().await, count, "{status:?}");
        before = fixture.store.post(after.user_id, after.post_id).await.unwrap();
    }
    assert_eq!(fixture.write(before.as_ref(), None, Vec::new()).await, PostWritten::Done);
    assert_eq!(scheduled().await, (0, 0));
}

#[tokio::test]
async fn changed_post_is_not_deleted() {
    let fixture = Fixture::with_accounts(1).await;
    let (post, _) = fixture.scheduled().await;
    assert_eq!(fixture.write(Some(&post), Some(&changed(&post)), Vec::new()).await, PostWritten::Done);

    assert_eq!(fixture.write(Some(&post), None, Vec::new()).await, PostWritten::PostChanged);

    let now = fixture.store.post(post.user_id, post.post_id).await.unwrap().unwrap();
    assert_eq!((now.revision, fixture.counts().await.scheduled), (2, 1));
    let target = post.targets[0].target_id;
    assert_eq!(fixture.write(Some(&now), None, vec![DeliveryWrite::Remove(target)]).await, PostWritten::Done);
    assert_eq!(fixture.snapshot(&post).await, (None, Vec::new(), Counts::default(), vec![0], 0));
}

#[tokio::test]
async fn delivery_with_open_intent_blocks_changes_of_its_post() {
    let fixture = Fixture::with_accounts(2).await;
    let (post, deliveries) = fixture.scheduled().await;
    let intended = deliveries[1].clone().open_intent(noon()).with_write_id(8);
    assert_eq!(fixture.store.replace_delivery(&deliveries[1], &intended).await.unwrap(), WriteOutcome::Applied);
    let before = fixture.snapshot(&post).await;
    let after = changed(&post);
    let newer = fixture.deliveries(&after);

    let put = fixture.write(Some(&post), Some(&after), puts(&newer)).await;
    let removals = deliveries.iter().map(|it| DeliveryWrite::Remove(it.target_id)).collect();
    let removed = fixture.write(Some(&post), None, removals).await;

    assert_eq!([put, removed], [PostWritten::DeliveryBusy; 2]);
    assert_eq!(fixture.snapshot(&post).await, before);
}

#[tokio::test]
async fn published_delivery_blocks_changes_of_its_post() {
    let fixture = Fixture::with_accounts(1).await;
    let (post, deliveries) = fixture.scheduled().await;
    fixture.store.replace_delivery(&deliveries[0], &published(&deliveries[0])).await.unwrap();
    let before = fixture.snapshot(&post).await;
    let after = changed(&post);
    let newer = fixture.deliveries(&after);

    let put = fixture.write(Some(&post), Some(&after), puts(&newer)).await;
    let removed = fixture.write(Some(&post), None, vec![DeliveryWrite::Remove(deliveries[0].target_id)]).await;

    assert_eq!([put, removed], [PostWritten::DeliveryBusy; 2]);
    assert_eq!(fixture.snapshot(&post).await, before);
}

/// The post as it was read does not know of the segment yet.
#[tokio::test]
async fn segment_that_a_change_does_not_know_blocks_it() {
    let fixture = Fixture::with_accounts(1).await;
    let (post, deliveries) = fixture.scheduled().await;
    let thread = Delivery { segments: vec![SegmentKind::Post, SegmentKind::Reply], ..deliveries[0].clone() };
    let between = published(&thread);
    assert_eq!(between.state, State::Waiting);
    fixture.store.replace_delivery(&deliveries[0], &between).await.unwrap();
    let after = changed(&post);
    let ignorant = fixture.deliveries(&after);
    let removal = || vec![DeliveryWrite::Remove(deliveries[0].target_id)];

    assert_eq!(fixture.write(Some(&post), Some(&after), puts(&ignorant)).await, PostWritten::DeliveryBusy);
    assert_eq!(fixture.write(Some(&post), None, removal()).await, PostWritten::DeliveryBusy);
    let resumed = [Delivery { published: between.published.clone(), ..ignorant[0].clone() }];
    assert_eq!(fixture.write(Some(&post), Some(&after), puts(&resumed)).await, PostWritten::Done);
}

#[tokio::test]
async fn leased_delivery_without_intent_is_replaced_by_a_change() {
    let fixture = Fixture::with_accounts(1).await;
    let (post, deliveries) = fixture.scheduled().await;
    let held = deliveries[0].clone().lease(noon()).with_write_id(8);
    fixture.store.replace_delivery(&deliveries[0], &held).await.unwrap();
    let after = changed(&post);
    let newer = fixture.deliveries(&after);

    assert_eq!(fixture.write(Some(&post), Some(&after), puts(&newer)).await, PostWritten::Done);

    let prepared = held.clone().record_preparation(0, PreparationStep::Ready { progress: None }).with_write_id(9);
    assert_eq!(fixture.store.replace_delivery(&held, &prepared).await.unwrap(), WriteOutcome::Conflict);
    assert_eq!(fixture.store.deliveries(post.user_id, post.post_id).await.unwrap(), newer);
}

#[tokio::test]
async fn rolled_up_delivery_is_not_due_but_stays_readable() {
    let fixture = Fixture::with_accounts(1).await;
    let (post, deliveries) = fixture.scheduled().await;
    let ended = published(&deliveries[0]);
    fixture.store.replace_delivery(&deliveries[0], &ended).await.unwrap();
    let after = post.rolled_up(std::slice::from_ref(&ended), noon());

    let stale = fixture.write(Some(&post), Some(&after), vec![DeliveryWrite::RolledUp(&deliveries[0])]).await;
    assert_eq!((stale, fixture.due().await, fixture.counts().await.published), (PostWritten::DeliveryBusy, 1, 0));
    let rolled_up = fixture.write(Some(&post), Some(&after), vec![DeliveryWrite::RolledUp(&ended)]).await;

    assert_eq!(rolled_up, PostWritten::Done);
    let (stored, found, counts, pending, due) = fixture.snapshot(&post).await;
    assert_eq!(stored.unwrap().targets[0].status, TargetStatus::Published);
    assert_eq!(found, [ended.finish_roll_up()]);
    assert_eq!(counts, Counts { published: 1, ..Counts::default() });
    assert_eq!((pending, due), (vec![0], 0));
}

#[tokio::test]
async fn disconnected_account_accepts_no_posts() {
    let fixture = Fixture::with_accounts(2).await;
    let post = fixture.post(Some(10));
    let deliveries = fixture.deliveries(&post);
    let gone = fixture.accounts[1].connection_id;
    let deleted = fixture.store.delete_connection(fixture.user.user_id, gone, noon()).await.unwrap();
    assert!(matches!(deleted, Disconnected::Deleted { .. }), "{deleted:?}");

    assert_eq!(fixture.write(None, Some(&post), puts(&deliveries)).await, PostWritten::AccountGone(gone));

    assert_eq!(fixture.snapshot(&post).await, (None, Vec::new(), Counts::default(), vec![0], 0));
}

#[tokio::test]
async fn concurrent_disconnect_and_scheduling_exclude_each_other() {
    for _ in 0..8 {
        let fixture = Fixture::with_accounts(1).await;
        let (post, account) = (fixture.post(Some(10)), fixture.accounts[0].connection_id);

        let (written, deleted) = tokio::join!(
            fixture.write(None, Some(&post), Vec::new()),
            fixture.store.delete_connection(fixture.user.user_id, account, noon())
        );

        match (written, deleted.unwrap()) {
            (PostWritten::Done, Disconnected::Pending(1)) => assert_eq!(fixture.pending().await, [1]),
            (PostWritten::AccountGone(_), Disconnected::Deleted { .. }) => assert!(fixture.pending().await.is_empty()),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn response_is_stored_with_its_post_for_a_day() {
    let fixture = Fixture::with_accounts(1).await;
    let user = fixture.user.user_id;
    let key = |body: &str| IdempotentRequest {
        owner: user.into(),
        route: "POST /posts",
        key: IdempotencyKey::parse(b"once").unwrap(),
        body_hash: body.to_owned(),
    };
    let first = key("body");
    let create = async |post: &Post, at| {
        let kept = Some((&first, post.post_id.to_string()));
        let write = PostWrite { before: None, after: Some(post), deliveries: Vec::new(), kept, event: None };
        fixture.store.write_post(&write, at).await.unwrap()
    };
    let kept = async |at| fixture.store.load_post_context(user, [], [], Some(&first), at).await.unwrap().kept;
    let posts = [fixture.post(None), fixture.post(None), fixture.post(None)];
    assert!(kept(noon()).await.is_none());

    assert_eq!(create(&posts[0], noon()).await, PostWritten::Done);
    let day = noon() + TimeDelta::hours(24);
    assert_eq!(create(&posts[1], day).await, PostWritten::KeyTaken);

    let response = kept(day).await.unwrap();
    assert_eq!((response.response, response.body_hash), (posts[0].post_id.to_string(), "body".to_owned()));
    assert_eq!(fixture.store.post(user, posts[1].post_id).await.unwrap(), None);
    let over = day + TimeDelta::milliseconds(1);
    assert!(kept(over).await.is_none());
    assert_eq!(create(&posts[2], over).await, PostWritten::Done);
    assert_eq!(fixture.counts().await.draft, 2);
}

#[tokio::test]
async fn one_of_concurrent_requests_with_the_same_key_creates_a_post() {
    let fixture = Fixture::with_accounts(1).await;
    let key = IdempotentRequest {
        owner: fixture.user.user_id.into(),
        route: "POST /posts",
        key: IdempotencyKey::parse(b"once").unwrap(),
        body_hash: "body".to_owned(),
    };
    let posts: Vec<_> = (0..8).map(|_| fixture.post(Some(10))).collect();

    let creations = posts.iter().map(async |post| {
        let kept = Some((&key, String::new()));
        let write = PostWrite { before: None, after: Some(post), deliveries: Vec::new(), kept, event: None };
        fixture.store.write_post(&write, noon()).await.unwrap()
    });
    let ends = futures::future::join_all(creations).await;

    assert_eq!(ends.iter().filter(|it| **it == PostWritten::Done).count(), 1, "{ends:?}");
    assert_eq!(ends.iter().filter(|it| **it == PostWritten::KeyTaken).count(), 7, "{ends:?}");
    assert_eq!((fixture.counts().await.scheduled, fixture.pending().await), (1, vec![1]));
}

#[tokio::test]
async fn write_larger_than_a_transaction_writes_nothing() {
    let fixture = Fixture::with_accounts(0).await;
    // The post and its count are two of the hundred.
    let removals = |count| (0..count).map(|_| DeliveryWrite::Remove(fixture.ids.fresh())).collect();
    let post = fixture.post(None);

    assert_eq!(fixture.write(None, Some(&post), removals(99)).await, PostWritten::TooMany);
    assert_eq!(fixture.counts().await.draft, 0);
    assert_eq!(fixture.write(None, Some(&post), removals(98)).await, PostWritten::Done);
    assert_eq!(fixture.counts().await.draft, 1);
}

#[tokio::test]
async fn counts_and_marks_are_exact_after_every_write() {
    let fixture = Fixture::with_accounts(3).await;
    let mut dice = Dice(1);
    let mut posts: Vec<Post> = Vec::new();

    for step in 0..150 {
        let mut after = fixture.post(None);
        after.targets.truncate(dice.below(4));
        for target in &mut after.targets {
            target.marked = dice.below(2) == 0;
        }
        after.status = PostStatus::ALL[dice.below(5)];
        let index = dice.below(posts.len() + 1);
        match posts.get(index).cloned() {
            None => {
                assert_eq!(fixture.write(None, Some(&after), Vec::new()).await, PostWritten::Done);
                posts.push(after);
            }
            Some(before) if dice.below(4) == 0 => {
                assert_eq!(fixture.write(Some(&before), None, Vec::new()).await, PostWritten::Done);
                posts.remove(index);
            }
            Some(before) => {
                after.post_id = before.post_id;
                assert_eq!(fixture.write(Some(&before), Some(&after), Vec::new()).await, PostWritten::Done);
                posts[index] = Post { write_id: before.write_id + 1, ..after };
            }
        }

        let expected = |status| posts.iter().filter(|it| it.status == status).count() as u64;
        let counts = fixture.counts().await;
        for status in PostStatus::ALL {
            assert_eq!(counts.count(Some(status)), expected(status), "step {step}, {status:?}");
        }
        let marked = |it: &Connection| posts.iter().filter(|post| post.marked().contains(&it.connection_id)).count();
        let model: Vec<_> = fixture.accounts.iter().map(|it| u32::try_from(marked(it)).unwrap()).collect();
        assert_eq!(fixture.pending().await, model, "step {step}");
    }
}
