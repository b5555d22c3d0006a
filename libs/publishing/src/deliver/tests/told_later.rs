//! Posts that are told later how their deliveries ended, because their minute is full.

use super::*;

#[tokio::test]
async fn in_a_very_full_minute_a_post_goes_out_on_time_and_is_told_later() {
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
async fn an_end_that_was_put_off_and_whose_message_was_lost_is_told_by_the_sweep() {
    let rig = Rig::new().await;
    let post = rig.schedule("Hello", noon()).await;
    let message = rig.queue.take().remove(0).1;
    rig.deliver(DeliveryMessage { roll_up_at: Some(later(300)), ..message }, 1).await;
    rig.queue.take();

    rig.live(later(300) + TICK * 3).await;

    assert_published_once(&rig, &post, "Hello").await;
}
