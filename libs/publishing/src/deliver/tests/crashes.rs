//! Workers that die at a step, and the workers after them.

use domain::delivery::{LEASE_DURATION, Published};

use super::*;

#[tokio::test]
async fn crash_before_the_call_is_followed_by_a_look_up() {
    let rig = Rig::new().await;
    let post = rig.schedule("Hello", noon()).await;
    let delivery = rig.delivery(&post).await;
    rig.leave(&delivery, delivery.clone().open_intent(noon())).await;

    rig.live(noon() + LEASE_DURATION - TimeDelta::seconds(1)).await;
    assert_eq!(*rig.network.looks.lock().unwrap(), 0, "the worker may still be at it");
    rig.live(noon() + LEASE_DURATION + TICK + TimeDelta::seconds(10)).await;

    assert_published_once(&rig, &post, "Hello").await;
    assert_eq!((rig.network.calls(), *rig.network.looks.lock().unwrap()), (1, 1));
}

#[tokio::test]
async fn crash_after_the_call_is_found_by_a_look_up() {
    let rig = Rig::new().await;
    let post = rig.schedule("Hello", noon()).await;
    let delivery = rig.delivery(&post).await;
    rig.network.public.lock().unwrap().push(crate::testing::a_public_post("Hello", &reference(&delivery)));
    rig.leave(&delivery, delivery.clone().open_intent(noon())).await;

    rig.live(later(300)).await;

    assert_published_once(&rig, &post, "Hello").await;
    assert_eq!(rig.network.calls(), 0);
}

#[tokio::test]
async fn missing_roll_up_is_done_by_the_sweep() {
    let rig = Rig::new().await;
    let post = rig.schedule("Hello", noon()).await;
    rig.queue.take();
    let delivery = rig.delivery(&post).await;
    let intended = rig.leave(&delivery, delivery.clone().open_intent(noon())).await;
    rig.network.public.lock().unwrap().push(crate::testing::a_public_post("Hello", &reference(&delivery)));
    let published = Published::new("p1".to_owned(), noon());
    rig.leave(&intended, intended.clone().record_publish(Ok(published), noon(), 0)).await;
    assert_eq!(rig.post(&post).await.status, PostStatus::Scheduled);

    rig.live(later(200)).await;

    assert_published_once(&rig, &post, "Hello").await;
    assert_eq!((rig.network.calls(), *rig.network.looks.lock().unwrap()), (0, 0));
}
