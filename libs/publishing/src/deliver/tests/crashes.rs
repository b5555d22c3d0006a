//! Workers that die at a step, and the workers after them.

use domain::delivery::{LEASE_DURATION, Published};

use super::*;

#[tokio::test]
async fn crash_before_the_call_is_followed_by_a_look_up() {
    let harness = PublishingHarness::new().await;
    let post = harness.schedule("Hello", noon()).await;
    let delivery = harness.delivery(&post).await;
    harness.leave(&delivery, delivery.clone().open_intent(noon())).await;

    harness.live(noon() + LEASE_DURATION - TimeDelta::seconds(1)).await;
    assert_eq!(*harness.fake.looks.lock().unwrap(), 0, "the worker may still be at it");
    harness.live(noon() + LEASE_DURATION + TICK + TimeDelta::seconds(10)).await;

    assert_published_once(&harness, &post, "Hello").await;
    assert_eq!((harness.fake.calls(), *harness.fake.looks.lock().unwrap()), (1, 1));
}

#[tokio::test]
async fn crash_after_the_call_is_found_by_a_look_up() {
    let harness = PublishingHarness::new().await;
    let post = harness.schedule("Hello", noon()).await;
    let delivery = harness.delivery(&post).await;
    harness.fake.public.lock().unwrap().push(crate::testing::a_public_post("Hello", &reference(&delivery, 0)));
    harness.leave(&delivery, delivery.clone().open_intent(noon())).await;

    harness.live(later(300)).await;

    assert_published_once(&harness, &post, "Hello").await;
    assert_eq!(harness.fake.calls(), 0);
}

#[tokio::test]
async fn missing_roll_up_is_done_by_the_sweep() {
    let harness = PublishingHarness::new().await;
    let post = harness.schedule("Hello", noon()).await;
    harness.queue.take();
    let delivery = harness.delivery(&post).await;
    let intended = harness.leave(&delivery, delivery.clone().open_intent(noon())).await;
    harness.fake.public.lock().unwrap().push(crate::testing::a_public_post("Hello", &reference(&delivery, 0)));
    let published = Published::new("p1".to_owned(), noon());
    harness.leave(&intended, intended.clone().record_publish(Ok(published), noon(), 0)).await;
    assert_eq!(harness.post(&post).await.status, PostStatus::Scheduled);

    harness.live(later(200)).await;

    assert_published_once(&harness, &post, "Hello").await;
    assert_eq!((harness.fake.calls(), *harness.fake.looks.lock().unwrap()), (0, 0));
}
