//! Deferred roll-ups of an overloaded minute.

use super::*;

#[tokio::test]
async fn overloaded_minute_publishes_on_time_and_defers_the_roll_up() {
    let rig = Rig::new().await;
    let post = rig.schedule("Hello", later(5)).await;
    let message = rig.queue.take().remove(0).1;

    rig.clock.skip_to(later(3));
    rig.deliver(DeliveryMessage { roll_up_at: Some(later(600)), ..message }, 1).await;

    assert_eq!(*rig.network.calls.lock().unwrap(), [later(5)]);
    assert_eq!(rig.post(&post).await.status, PostStatus::Scheduled);
    rig.live(later(597)).await;
    assert_eq!(rig.post(&post).await.status, PostStatus::Scheduled, "the sweep does not hurry it");
    rig.live(later(600)).await;
    assert_published_once(&rig, &post, "Hello").await;
}

#[tokio::test]
async fn deferred_roll_up_with_lost_message_is_done_by_the_sweep() {
    let rig = Rig::new().await;
    let post = rig.schedule("Hello", noon()).await;
    let message = rig.queue.take().remove(0).1;
    rig.deliver(DeliveryMessage { roll_up_at: Some(later(300)), ..message }, 1).await;
    rig.queue.take();

    rig.live(later(300) + TICK * 3).await;

    assert_published_once(&rig, &post, "Hello").await;
}
