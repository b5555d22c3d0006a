mod at_random;
mod attempt_errors;
mod crashes;
mod deferred_roll_ups;
mod follow_ups;
mod grant_gone;
mod in_time;
mod preparation;
mod recognized;
mod recorded;
mod threads;
mod unknown_outcomes;

use domain::delivery::DeliveryIds;
use domain::post::{PostStatus, TargetStatus};
use domain::testing::noon;
use platforms::Step;

use super::*;
use crate::testing::{FakePlatform, PublishFault, PublishingHarness, SETTLES, TICK, later};
use scheduling::Changed;

/// Exactly once, with nothing left to do.
async fn assert_published_once(harness: &PublishingHarness, post: &Post, content: &str) {
    assert_eq!(harness.fake.texts(), [content]);
    let now = harness.post(post).await;
    assert_eq!(now.status, PostStatus::Published);
    assert_eq!(now.targets[0].status, TargetStatus::Published);
    assert_eq!(now.targets[0].published().unwrap().platform_post_id, "p1");
    assert_eq!(now.targets[0].error_message, None);
    assert_eq!((harness.pending(0).await, harness.counts().await.published), (0, 1));
    assert_eq!(harness.due().await, []);
}

async fn failure(harness: &PublishingHarness, post: &Post) -> String {
    let post = harness.post(post).await;
    assert_eq!((post.status, post.targets[0].status), (PostStatus::Failed, TargetStatus::Failed));
    assert_eq!((harness.pending(0).await, harness.counts().await.failed), (0, 1));
    assert_eq!(harness.due().await, []);
    post.targets[0].error_message.clone().unwrap()
}

#[tokio::test]
async fn post_is_published_once_and_not_early() {
    let harness = PublishingHarness::new().await;
    let post = harness.schedule("Hello", later(100)).await;

    harness.live(later(97)).await;
    assert_eq!(harness.fake.calls(), 0);
    harness.live(later(3600)).await;

    assert_published_once(&harness, &post, "Hello").await;
    assert_eq!(*harness.fake.calls.lock().unwrap(), [later(100)]);
    assert_eq!(harness.events.types(), ["post.scheduled", "target.published", "post.published"]);
    assert_eq!(harness.queue.take(), []);
}

#[tokio::test]
async fn post_due_now_is_published_immediately() {
    let harness = PublishingHarness::new().await;
    let post = harness.schedule("Hello", later(-60)).await;

    harness.live(noon()).await;

    assert_published_once(&harness, &post, "Hello").await;
}

#[tokio::test]
async fn duplicate_message_publishes_once() {
    let harness = PublishingHarness::new().await;
    let post = harness.schedule("Hello", later(1)).await;
    let message = harness.queue.take().remove(0).1;

    harness.deliver(message, 8).await;
    harness.deliver(message, 8).await;

    assert_published_once(&harness, &post, "Hello").await;
    assert_eq!(harness.fake.calls(), 1);
}

#[tokio::test]
async fn early_message_is_queued_again() {
    let harness = PublishingHarness::new().await;
    let post = harness.schedule("Hello", later(5000)).await;
    let message = DeliveryMessage::for_delivery(&harness.delivery(&post).await);

    harness.deliver(message, 1).await;
    assert_eq!(harness.queue.take(), [(later(900), message)]);
    harness.clock.skip_to(later(4990));
    harness.deliver(message, 1).await;

    assert_eq!(harness.queue.take(), [(later(4998), message)]);
    assert_eq!(harness.fake.calls(), 0);
}

#[tokio::test]
async fn message_of_an_old_revision_or_unknown_post_is_dropped() {
    let harness = PublishingHarness::new().await;
    let post = harness.schedule("Old", later(1)).await;
    let old = harness.queue.take().remove(0).1;
    assert!(matches!(harness.rewrite(&post, "New").await, Changed::Done(_)));
    let unknown = DeliveryIds { post_id: harness.scheduling.ids.fresh(), ..old.ids };
    let unknown = DeliveryMessage { ids: unknown, ..old };

    harness.clock.skip_to(later(2));
    harness.deliver(old, 8).await;
    harness.deliver(unknown, 1).await;

    assert_eq!(harness.fake.calls(), 0);
    harness.live(later(60)).await;
    assert_published_once(&harness, &post, "New").await;
}

#[tokio::test]
async fn inconsistent_delivery_and_post_are_read_again() {
    let harness = PublishingHarness::new().await;
    let post = harness.schedule("Hello", noon()).await;
    let message = harness.queue.take().remove(0).1;
    // As if the change of the delivery were visible before that of the post.
    let torn = Post { revision: 2, ..harness.post(&post).await };
    let write =
        storage::PostWrite { before: Some(&harness.post(&post).await), after: Some(&torn), ..Default::default() };
    assert_eq!(harness.store.write_post(&write, noon()).await.unwrap(), storage::PostWritten::Done);

    harness.deliver(message, 1).await;

    assert_eq!(harness.fake.calls(), 0);
}

#[tokio::test]
async fn slow_publish_call_sets_status_publishing() {
    let harness = PublishingHarness::new().await;
    let post = harness.schedule("Hello", noon()).await;
    let message = harness.queue.take().remove(0).1;
    let gate = harness.fake.hold_publish();

    let shown = async {
        gate.entered().await;
        while harness.post(&post).await.status != PostStatus::Publishing {}
        gate.open();
    };
    let (delivered, ()) = tokio::join!(harness.publishing.deliver(&harness.platforms, message), shown);

    delivered.unwrap();
    assert_published_once(&harness, &post, "Hello").await;
}

#[tokio::test]
async fn delivery_of_a_deleted_post_is_removed() {
    let harness = PublishingHarness::new().await;
    let post = harness.schedule("Hello", noon()).await;
    let message = harness.queue.take().remove(0).1;
    let before = harness.post(&post).await;
    let write = storage::PostWrite { before: Some(&before), ..Default::default() };
    assert_eq!(harness.store.write_post(&write, noon()).await.unwrap(), storage::PostWritten::Done);

    harness.deliver(message, 2).await;

    assert_eq!((harness.deliveries(&post).await, harness.due().await), (Vec::new(), Vec::new()));
    assert_eq!(harness.fake.calls(), 0);
}
