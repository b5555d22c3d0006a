mod fixture;

use chrono::TimeDelta;
use domain::connection::Connection;
use domain::delivery::Published;
use domain::idempotency::IdempotencyKey;
use domain::listing::Counts;
use domain::post::TargetStatus;
use domain::testing::{Dice, noon};

use self::fixture::{Fixture, puts};
use super::*;
use crate::connections::Disconnected;
use crate::write_outcome::WriteOutcome;

fn published(delivery: &Delivery) -> Delivery {
    let published = Published::new("p1".to_owned(), noon());
    delivery.clone().open_intent(noon()).record_publish(Ok(published), noon(), 0).with_write_id(8)
}

/// The post again, so that it reads as a change of it.
fn changed(post: &Post) -> Post {
    Post { revision: post.revision + 1, ..post.clone() }
}

#[tokio::test]
async fn a_scheduled_post_is_kept_with_its_deliveries_counts_and_marks() {
    let desk = Fixture::with_accounts(2).await;

    let (post, deliveries) = desk.scheduled().await;

    let (kept, mut found, counts, pending, due) = desk.picture(&post).await;
    assert_eq!(kept, Some(post));
    found.sort_by_key(|it| it.target_id);
    assert_eq!(found, deliveries);
    assert_eq!(counts, Counts { scheduled: 1, ..Counts::default() });
    assert_eq!((pending, due), (vec![1, 1], 2));
}

#[tokio::test]
async fn an_id_that_is_taken_is_left_to_its_post() {
    let desk = Fixture::with_accounts(1).await;
    let (post, _) = desk.scheduled().await;
    let before = desk.picture(&post).await;

    assert_eq!(desk.write(None, Some(&post), Vec::new()).await, PostWritten::PostChanged);

    assert_eq!(desk.picture(&post).await, before);
}

#[tokio::test]
async fn of_many_changes_of_the_same_reading_one_is_written() {
    let desk = Fixture::with_accounts(1).await;
    let post = desk.post(None);
    desk.write(None, Some(&post), Vec::new()).await;
    let after = desk.post(Some(10));
    let after = Post { post_id: post.post_id, ..after };

    let writes = (0..8).map(|_| desk.write(Some(&post), Some(&after), Vec::new()));
    let mut ends = futures::future::join_all(writes).await;

    ends.sort_by_key(|it| *it != PostWritten::Done);
    assert_eq!(ends[0], PostWritten::Done);
    assert!(ends[1..].iter().all(|it| *it == PostWritten::PostChanged), "{ends:?}");
    assert_eq!(desk.counts().await, Counts { scheduled: 1, ..Counts::default() });
    assert_eq!(desk.pending().await, [1]);
}

#[tokio::test]
async fn posts_written_at_the_same_moment_are_all_counted() {
    let desk = Fixture::with_accounts(1).await;
    let posts: Vec<_> = (0..16).map(|_| desk.post(Some(10))).collect();

    let ends = futures::future::join_all(posts.iter().map(|it| desk.write(None, Some(it), Vec::new()))).await;

    assert!(ends.iter().all(|it| *it == PostWritten::Done), "{ends:?}");
    assert_eq!(desk.counts().await.scheduled, 16);
    assert_eq!(desk.pending().await, [16]);
}

#[tokio::test]
async fn a_post_that_changed_is_not_deleted() {
    let desk = Fixture::with_accounts(1).await;
    let (post, _) = desk.scheduled().await;
    assert_eq!(desk.write(Some(&post), Some(&changed(&post)), Vec::new()).await, PostWritten::Done);

    assert_eq!(desk.write(Some(&post), None, Vec::new()).await, PostWritten::PostChanged);

    let now = desk.store.post(post.user_id, post.post_id).await.unwrap().unwrap();
    assert_eq!((now.revision, desk.counts().await.scheduled), (2, 1));
    let target = post.targets[0].target_id;
    assert_eq!(desk.write(Some(&now), None, vec![DeliveryWrite::Remove(target)]).await, PostWritten::Done);
    assert_eq!(desk.picture(&post).await, (None, Vec::new(), Counts::default(), vec![0], 0));
}

#[tokio::test]
async fn a_delivery_that_is_being_sent_keeps_its_post_from_changing() {
    let desk = Fixture::with_accounts(2).await;
    let (post, deliveries) = desk.scheduled().await;
    let intended = deliveries[1].clone().open_intent(noon()).with_write_id(8);
    assert_eq!(desk.store.replace_delivery(&deliveries[1], &intended).await.unwrap(), WriteOutcome::Applied);
    let before = desk.picture(&post).await;
    let after = changed(&post);
    let newer = desk.deliveries(&after);

    let put = desk.write(Some(&post), Some(&after), puts(&newer)).await;
    let removals = deliveries.iter().map(|it| DeliveryWrite::Remove(it.target_id)).collect();
    let removed = desk.write(Some(&post), None, removals).await;

    assert_eq!([put, removed], [PostWritten::DeliveryBusy; 2]);
    assert_eq!(desk.picture(&post).await, before);
}

#[tokio::test]
async fn a_public_delivery_keeps_its_post_from_changing() {
    let desk = Fixture::with_accounts(1).await;
    let (post, deliveries) = desk.scheduled().await;
    desk.store.replace_delivery(&deliveries[0], &published(&deliveries[0])).await.unwrap();
    let before = desk.picture(&post).await;
    let after = changed(&post);
    let newer = desk.deliveries(&after);

    let put = desk.write(Some(&post), Some(&after), puts(&newer)).await;
    let removed = desk.write(Some(&post), None, vec![DeliveryWrite::Remove(deliveries[0].target_id)]).await;

    assert_eq!([put, removed], [PostWritten::DeliveryBusy; 2]);
    assert_eq!(desk.picture(&post).await, before);
}

#[tokio::test]
async fn a_delivery_that_is_only_prepared_gives_way_to_a_change() {
    let desk = Fixture::with_accounts(1).await;
    let (post, deliveries) = desk.scheduled().await;
    let held = deliveries[0].clone().lease(noon()).with_write_id(8);
    desk.store.replace_delivery(&deliveries[0], &held).await.unwrap();
    let after = changed(&post);
    let newer = desk.deliveries(&after);

    assert_eq!(desk.write(Some(&post), Some(&after), puts(&newer)).await, PostWritten::Done);

    let prepared = held.clone().record_preparation(Some("done".to_owned()), None).with_write_id(9);
    assert_eq!(desk.store.replace_delivery(&held, &prepared).await.unwrap(), WriteOutcome::Conflict);
    assert_eq!(desk.store.deliveries(post.user_id, post.post_id).await.unwrap(), newer);
}

#[tokio::test]
async fn what_the_post_was_told_of_is_due_no_more_but_stays_readable() {
    let desk = Fixture::with_accounts(1).await;
    let (post, deliveries) = desk.scheduled().await;
    let ended = published(&deliveries[0]);
    desk.store.replace_delivery(&deliveries[0], &ended).await.unwrap();
    let after = post.rolled_up(std::slice::from_ref(&ended), noon());

    let stale = desk.write(Some(&post), Some(&after), vec![DeliveryWrite::RolledUp(&deliveries[0])]).await;
    assert_eq!((stale, desk.due().await, desk.counts().await.published), (PostWritten::DeliveryBusy, 1, 0));
    let told = desk.write(Some(&post), Some(&after), vec![DeliveryWrite::RolledUp(&ended)]).await;

    assert_eq!(told, PostWritten::Done);
    let (kept, found, counts, pending, due) = desk.picture(&post).await;
    assert_eq!(kept.unwrap().targets[0].status, TargetStatus::Published);
    assert_eq!(found, [ended.finish_roll_up()]);
    assert_eq!(counts, Counts { published: 1, ..Counts::default() });
    assert_eq!((pending, due), (vec![0], 0));
}

#[tokio::test]
async fn an_account_that_was_disconnected_takes_no_posts() {
    let desk = Fixture::with_accounts(2).await;
    let post = desk.post(Some(10));
    let deliveries = desk.deliveries(&post);
    let gone = desk.accounts[1].connection_id;
    let deleted = desk.store.delete_connection(desk.user.user_id, gone, noon()).await.unwrap();
    assert!(matches!(deleted, Disconnected::Deleted { .. }), "{deleted:?}");

    assert_eq!(desk.write(None, Some(&post), puts(&deliveries)).await, PostWritten::AccountGone(gone));

    assert_eq!(desk.picture(&post).await, (None, Vec::new(), Counts::default(), vec![0], 0));
}

#[tokio::test]
async fn of_a_disconnection_and_a_scheduling_at_the_same_moment_one_is_refused() {
    for _ in 0..8 {
        let desk = Fixture::with_accounts(1).await;
        let (post, account) = (desk.post(Some(10)), desk.accounts[0].connection_id);

        let (written, deleted) = tokio::join!(
            desk.write(None, Some(&post), Vec::new()),
            desk.store.delete_connection(desk.user.user_id, account, noon())
        );

        match (written, deleted.unwrap()) {
            (PostWritten::Done, Disconnected::Pending(1)) => assert_eq!(desk.pending().await, [1]),
            (PostWritten::AccountGone(_), Disconnected::Deleted { .. }) => assert!(desk.pending().await.is_empty()),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn an_answer_is_kept_with_its_post_and_given_again_for_a_day() {
    let desk = Fixture::with_accounts(1).await;
    let user = desk.user.user_id;
    let key = |body: &str| IdempotencyUse {
        user,
        route: "POST /posts",
        key: IdempotencyKey::parse(b"once").unwrap(),
        body_hash: body.to_owned(),
    };
    let first = key("body");
    let create = async |post: &Post, at| {
        let kept = Some((&first, post.post_id.to_string()));
        let write = PostWrite { before: None, after: Some(post), deliveries: Vec::new(), kept, event: None };
        desk.store.write_post(&write, at).await.unwrap()
    };
    let kept = async |at| desk.store.surroundings(user, [], [], Some(&first), at).await.unwrap().kept;
    let posts = [desk.post(None), desk.post(None), desk.post(None)];
    assert!(kept(noon()).await.is_none());

    assert_eq!(create(&posts[0], noon()).await, PostWritten::Done);
    let day = noon() + TimeDelta::hours(24);
    assert_eq!(create(&posts[1], day).await, PostWritten::KeyTaken);

    let answer = kept(day).await.unwrap();
    assert_eq!((answer.response, answer.body_hash), (posts[0].post_id.to_string(), "body".to_owned()));
    assert_eq!(desk.store.post(user, posts[1].post_id).await.unwrap(), None);
    let over = day + TimeDelta::milliseconds(1);
    assert!(kept(over).await.is_none());
    assert_eq!(create(&posts[2], over).await, PostWritten::Done);
    assert_eq!(desk.counts().await.draft, 2);
}

#[tokio::test]
async fn of_many_requests_with_one_key_one_creates_a_post() {
    let desk = Fixture::with_accounts(1).await;
    let key = IdempotencyUse {
        user: desk.user.user_id,
        route: "POST /posts",
        key: IdempotencyKey::parse(b"once").unwrap(),
        body_hash: "body".to_owned(),
    };
    let posts: Vec<_> = (0..8).map(|_| desk.post(Some(10))).collect();

    let creations = posts.iter().map(async |post| {
        let kept = Some((&key, String::new()));
        let write = PostWrite { before: None, after: Some(post), deliveries: Vec::new(), kept, event: None };
        desk.store.write_post(&write, noon()).await.unwrap()
    });
    let ends = futures::future::join_all(creations).await;

    assert_eq!(ends.iter().filter(|it| **it == PostWritten::Done).count(), 1, "{ends:?}");
    assert_eq!(ends.iter().filter(|it| **it == PostWritten::KeyTaken).count(), 7, "{ends:?}");
    assert_eq!((desk.counts().await.scheduled, desk.pending().await), (1, vec![1]));
}

#[tokio::test]
async fn what_a_transaction_cannot_hold_is_refused_whole() {
    let desk = Fixture::with_accounts(0).await;
    // The post and its count are two of the hundred.
    let removals = |count| (0..count).map(|_| DeliveryWrite::Remove(desk.ids.fresh())).collect();
    let post = desk.post(None);

    assert_eq!(desk.write(None, Some(&post), removals(99)).await, PostWritten::TooMany);
    assert_eq!(desk.counts().await.draft, 0);
    assert_eq!(desk.write(None, Some(&post), removals(98)).await, PostWritten::Done);
    assert_eq!(desk.counts().await.draft, 1);
}

#[tokio::test]
async fn counts_and_marks_are_exact_after_every_write() {
    let desk = Fixture::with_accounts(3).await;
    let mut dice = Dice(1);
    let mut posts: Vec<Post> = Vec::new();

    for step in 0..150 {
        let mut after = desk.post(None);
        after.targets.truncate(dice.below(4));
        for target in &mut after.targets {
            target.marked = dice.below(2) == 0;
        }
        after.status = PostStatus::ALL[dice.below(5)];
        let index = dice.below(posts.len() + 1);
        match posts.get(index).cloned() {
            None => {
                assert_eq!(desk.write(None, Some(&after), Vec::new()).await, PostWritten::Done);
                posts.push(after);
            }
            Some(before) if dice.below(4) == 0 => {
                assert_eq!(desk.write(Some(&before), None, Vec::new()).await, PostWritten::Done);
                posts.remove(index);
            }
            Some(before) => {
                after.post_id = before.post_id;
                assert_eq!(desk.write(Some(&before), Some(&after), Vec::new()).await, PostWritten::Done);
                posts[index] = Post { write_id: before.write_id + 1, ..after };
            }
        }

        let of = |status| posts.iter().filter(|it| it.status == status).count() as u64;
        let counts = desk.counts().await;
        for status in PostStatus::ALL {
            assert_eq!(counts.of(Some(status)), of(status), "step {step}, {status:?}");
        }
        let marked = |it: &Connection| posts.iter().filter(|post| post.marked().contains(&it.connection_id)).count();
        let model: Vec<_> = desk.accounts.iter().map(|it| u32::try_from(marked(it)).unwrap()).collect();
        assert_eq!(desk.pending().await, model, "step {step}");
    }
}
