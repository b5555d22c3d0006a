mod at_random;
mod crashes;
mod doubt;
mod follow_ups;
mod grant_gone;
mod in_time;
mod preparation;
mod recognized;
mod recorded;
mod setbacks;
mod told_later;

use domain::post::{PostStatus, TargetStatus};
use domain::testing::noon;

use super::*;
use crate::Changed;
use crate::testing::{Network, PublishFault, Rig, SETTLES, TICK, later};

/// Asserts that the post is published once, with nothing left to do.
async fn assert_published_once(rig: &Rig, post: &Post, content: &str) {
    assert_eq!(rig.network.texts(), [content]);
    let now = rig.post(post).await;
    assert_eq!(now.status, PostStatus::Published);
    assert_eq!(now.targets[0].status, TargetStatus::Published);
    assert_eq!(now.targets[0].platform_post_id.as_deref(), Some("p1"));
    assert_eq!(now.targets[0].error_message, None);
    assert_eq!((rig.pending(0).await, rig.counts().await.published), (0, 1));
    assert_eq!(rig.due().await, []);
}

async fn failure(rig: &Rig, post: &Post) -> String {
    let post = rig.post(post).await;
    assert_eq!((post.status, post.targets[0].status), (PostStatus::Failed, TargetStatus::Failed));
    assert_eq!((rig.pending(0).await, rig.counts().await.failed), (0, 1));
    assert_eq!(rig.due().await, []);
    post.targets[0].error_message.clone().unwrap()
}

#[tokio::test]
async fn post_is_published_once_and_not_early() {
    let rig = Rig::new().await;
    let post = rig.schedule("Hello", later(100)).await;

    rig.live(later(97)).await;
    assert_eq!(rig.network.calls(), 0);
    rig.live(later(3600)).await;

    assert_published_once(&rig, &post, "Hello").await;
    assert_eq!(*rig.network.calls.lock().unwrap(), [later(100)]);
    assert_eq!(rig.events.types(), ["post.scheduled", "target.published", "post.published"]);
    assert_eq!(rig.queue.take(), []);
}

#[tokio::test]
async fn post_due_now_is_published_immediately() {
    let rig = Rig::new().await;
    let post = rig.schedule("Hello", later(-60)).await;

    rig.live(noon()).await;

    assert_published_once(&rig, &post, "Hello").await;
}

#[tokio::test]
async fn duplicate_message_publishes_once() {
    let rig = Rig::new().await;
    let post = rig.schedule("Hello", later(1)).await;
    let message = rig.queue.take().remove(0).1;

    rig.deliver(message, 8).await;
    rig.deliver(message, 8).await;

    assert_published_once(&rig, &post, "Hello").await;
    assert_eq!(rig.network.calls(), 1);
}

#[tokio::test]
async fn early_message_is_queued_again() {
    let rig = Rig::new().await;
    let post = rig.schedule("Hello", later(5000)).await;
    let message = DeliveryMessage::about(&rig.delivery(&post).await);

    rig.deliver(message, 1).await;
    assert_eq!(rig.queue.take(), [(later(900), message)]);
    rig.clock.skip_to(later(4990));
    rig.deliver(message, 1).await;

    assert_eq!(rig.queue.take(), [(later(4998), message)]);
    assert_eq!(rig.network.calls(), 0);
}

#[tokio::test]
async fn message_of_an_old_revision_or_unknown_post_is_dropped() {
    let rig = Rig::new().await;
    let post = rig.schedule("Old", later(1)).await;
    let old = rig.queue.take().remove(0).1;
    assert!(matches!(rig.rewrite(&post, "New").await, Changed::Done(_)));
    let unknown = DeliveryMessage { post_id: rig.publishing.ids.fresh(), ..old };

    rig.clock.skip_to(later(2));
    rig.deliver(old, 8).await;
    rig.deliver(unknown, 1).await;

    assert_eq!(rig.network.calls(), 0);
    rig.live(later(60)).await;
    assert_published_once(&rig, &post, "New").await;
}

#[tokio::test]
async fn inconsistent_delivery_and_post_are_read_again() {
    let rig = Rig::new().await;
    let post = rig.schedule("Hello", noon()).await;
    let message = rig.queue.take().remove(0).1;
    // As if the change of the delivery were visible before that of the post.
    let torn = Post { revision: 2, ..rig.post(&post).await };
    let write = storage::PostWrite { before: Some(&rig.post(&post).await), after: Some(&torn), ..Default::default() };
    assert_eq!(rig.store.write_post(&write, noon()).await.unwrap(), storage::PostWritten::Done);

    rig.deliver(message, 1).await;

    assert_eq!(rig.network.calls(), 0);
}

#[tokio::test]
async fn slow_publish_call_sets_status_publishing() {
    let rig = Rig::new().await;
    let post = rig.schedule("Hello", noon()).await;
    let message = rig.queue.take().remove(0).1;
    let gate = rig.network.hold_publish();

    let shown = async {
        gate.entered().await;
        while rig.post(&post).await.status != PostStatus::Publishing {}
        gate.open();
    };
    let (delivered, ()) = tokio::join!(rig.publishing.deliver(&rig.platforms, message), shown);

    delivered.unwrap();
    assert_published_once(&rig, &post, "Hello").await;
}

#[tokio::test]
async fn delivery_of_a_deleted_post_is_removed() {
    let rig = Rig::new().await;
    let post = rig.schedule("Hello", noon()).await;
    let message = rig.queue.take().remove(0).1;
    let before = rig.post(&post).await;
    let write = storage::PostWrite { before: Some(&before), ..Default::default() };
    assert_eq!(rig.store.write_post(&write, noon()).await.unwrap(), storage::PostWritten::Done);

    rig.deliver(message, 2).await;

    assert_eq!((rig.deliveries(&post).await, rig.due().await), (Vec::new(), Vec::new()));
    assert_eq!(rig.network.calls(), 0);
}
