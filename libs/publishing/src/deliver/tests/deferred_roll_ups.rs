//! Deferred roll-ups of an overloaded minute.

use super::*;

#[tokio::test]
async fn overloaded_minute_publishes_on_time_and_defers_the_roll_up() {
    let harness = PublishingHarness::new().await;
    let post = harness.schedule("Hello", later(5)).await;
    let message = harness.queue.take().remove(0).1;

    harness.clock.skip_to(later(3));
    harness.deliver(DeliveryMessage { roll_up_at: Some(later(600)), ..message }, 1).await;

    assert_eq!(*harness.fake.calls.lock().unwrap(), [later(5)]);
    assert_eq!(harness.post(&post).await.status, PostStatus::Scheduled);
    harness.live(later(597)).await;
    assert_eq!(harness.post(&post).await.status, PostStatus::Scheduled, "the sweep does not hurry it");
    harness.live(later(600)).await;
    assert_published_once(&harness, &post, "Hello").await;
}

#[tokio::test]
async fn deferred_roll_up_with_lost_message_is_done_by_the_sweep() {
    let harness = PublishingHarness::new().await;
    let post = harness.schedule("Hello", noon()).await;
    let message = harness.queue.take().remove(0).1;
    harness.deliver(DeliveryMessage { roll_up_at: Some(later(300)), ..message }, 1).await;
    harness.queue.take();

    harness.live(later(300) + TICK * 3).await;

    assert_published_once(&harness, &post, "Hello").await;
}
