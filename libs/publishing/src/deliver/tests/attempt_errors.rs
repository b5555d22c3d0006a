//! A platform that refuses, is busy, or is disabled.

use domain::delivery::RETRY_WINDOW;
use platforms::Registry;

use super::*;

#[tokio::test]
async fn refused_post_fails_with_the_platform_message() {
    let harness = PublishingHarness::with(1, FakePlatform::default().with_faults([PublishFault::Refused])).await;
    let post = harness.schedule("Hello", later(5)).await;

    harness.live(later(3600)).await;

    let message = failure(&harness, &post).await;
    assert_eq!(message, "Sandbox refused the post: not polite enough. Edit the post and reschedule it.");
    assert_eq!((harness.fake.calls(), harness.fake.texts().len()), (1, 0));
    assert_eq!(harness.events.types(), ["post.scheduled", "target.failed", "post.failed"]);
}

#[tokio::test]
async fn busy_platform_is_retried_at_its_retry_time() {
    let harness = PublishingHarness::with(
        1,
        FakePlatform::default().with_faults([PublishFault::Busy(None), PublishFault::Busy(Some(later(500)))]),
    )
    .await;
    let post = harness.schedule("Hello", later(100)).await;

    harness.live(later(300)).await;
    let waiting = harness.post(&post).await;
    assert_eq!(waiting.status, PostStatus::Scheduled);
    let message = "Sandbox has not accepted the post: too many posts. We will try again, for up to 24 hours after the \
                 scheduled time.";
    assert_eq!(waiting.targets[0].error_message.as_deref(), Some(message));
    harness.live(later(3600)).await;

    assert_published_once(&harness, &post, "Hello").await;
    let calls = harness.fake.calls.lock().unwrap().clone();
    assert_eq!((calls.len(), calls[0], calls[2]), (3, later(100), later(500)));
    assert!(later(105) <= calls[1] && calls[1] <= later(107), "{}", calls[1]);
}

#[tokio::test]
async fn post_is_given_up_after_a_day_of_busy_platform() {
    let harness =
        PublishingHarness::with(1, FakePlatform::default().with_faults(vec![PublishFault::Busy(None); 200])).await;
    let post = harness.schedule("Hello", later(5)).await;

    harness.live(later(3600)).await;
    harness.clock.skip_to(later(5) + RETRY_WINDOW - TimeDelta::seconds(60));
    harness.live(later(5) + RETRY_WINDOW - TimeDelta::seconds(5)).await;
    assert_eq!(harness.post(&post).await.status, PostStatus::Scheduled);
    harness.live(later(5) + RETRY_WINDOW + TICK).await;

    let message = failure(&harness, &post).await;
    assert!(
        message.starts_with(
            "Not published within 24 hours of the scheduled time. Sandbox has not accepted the post: too many"
        ) && !message.contains("We will"),
        "{message}"
    );
    assert!(harness.fake.calls() < 100, "{}", harness.fake.calls());
}

#[tokio::test]
async fn delivery_waits_for_a_quota_reset_after_more_than_a_day() {
    let opens_at = later(5) + RETRY_WINDOW + TimeDelta::hours(3);
    let harness =
        PublishingHarness::with(1, FakePlatform::default().with_faults([PublishFault::Busy(Some(opens_at))])).await;
    let post = harness.schedule("Hello", later(5)).await;

    harness.live(opens_at - TimeDelta::seconds(5)).await;
    assert_eq!(harness.post(&post).await.status, PostStatus::Scheduled);
    harness.live(opens_at + TICK).await;

    assert_published_once(&harness, &post, "Hello").await;
    assert_eq!(*harness.fake.calls.lock().unwrap(), [later(5), opens_at]);
}

#[tokio::test]
async fn quota_still_exhausted_after_its_reset_is_given_up_soon() {
    let opens_at = later(5) + RETRY_WINDOW + TimeDelta::hours(3);
    let still = PublishFault::Busy(Some(opens_at + RETRY_WINDOW));
    let harness =
        PublishingHarness::with(1, FakePlatform::default().with_faults([PublishFault::Busy(Some(opens_at)), still]))
            .await;
    let post = harness.schedule("Hello", later(5)).await;

    harness.live(opens_at + TimeDelta::minutes(20)).await;

    let message = failure(&harness, &post).await;
    assert!(message.starts_with("Not published within 27 hours of the scheduled time"), "{message}");
    assert_eq!(harness.fake.calls(), 2);
}

#[tokio::test]
async fn post_of_a_disabled_platform_is_published_once_enabled() {
    let mut harness = PublishingHarness::new().await;
    let post = harness.schedule("Hello", noon()).await;
    let on = std::mem::replace(&mut harness.platforms, Registry::from_adapters(Vec::new()));
    harness.live(later(900)).await;
    assert!(harness.post(&post).await.targets[0].error_message.is_some());

    harness.platforms = on;
    harness.live(later(1800)).await;

    assert_published_once(&harness, &post, "Hello").await;
}
