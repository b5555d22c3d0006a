//! A platform that refuses, is busy, or is disabled.

use domain::delivery::RETRY_WINDOW;
use platforms::Registry;

use super::*;

#[tokio::test]
async fn refused_post_fails_with_the_platform_message() {
    let rig = Rig::with(1, Network::default().with_faults([PublishFault::Refused])).await;
    let post = rig.schedule("Hello", later(5)).await;

    rig.live(later(3600)).await;

    let message = failure(&rig, &post).await;
    assert_eq!(message, "Sandbox refused the post: not polite enough. Edit the post and reschedule it.");
    assert_eq!((rig.network.calls(), rig.network.texts().len()), (1, 0));
    assert_eq!(rig.events.types(), ["post.scheduled", "target.failed", "post.failed"]);
}

#[tokio::test]
async fn busy_platform_is_retried_at_its_retry_time() {
    let rig =
        Rig::with(1, Network::default().with_faults([PublishFault::Busy(None), PublishFault::Busy(Some(later(500)))]))
            .await;
    let post = rig.schedule("Hello", later(100)).await;

    rig.live(later(300)).await;
    let waiting = rig.post(&post).await;
    assert_eq!(waiting.status, PostStatus::Scheduled);
    let message = "Sandbox has not accepted the post: too many posts. We will try again, for up to 24 hours after the \
                 scheduled time.";
    assert_eq!(waiting.targets[0].error_message.as_deref(), Some(message));
    rig.live(later(3600)).await;

    assert_published_once(&rig, &post, "Hello").await;
    let calls = rig.network.calls.lock().unwrap().clone();
    assert_eq!((calls.len(), calls[0], calls[2]), (3, later(100), later(500)));
    assert!(later(105) <= calls[1] && calls[1] <= later(107), "{}", calls[1]);
}

#[tokio::test]
async fn post_is_given_up_after_a_day_of_busy_platform() {
    let rig = Rig::with(1, Network::default().with_faults(vec![PublishFault::Busy(None); 200])).await;
    let post = rig.schedule("Hello", later(5)).await;

    rig.live(later(3600)).await;
    rig.clock.skip_to(later(5) + RETRY_WINDOW - TimeDelta::seconds(60));
    rig.live(later(5) + RETRY_WINDOW - TimeDelta::seconds(5)).await;
    assert_eq!(rig.post(&post).await.status, PostStatus::Scheduled);
    rig.live(later(5) + RETRY_WINDOW + TICK).await;

    let message = failure(&rig, &post).await;
    assert!(
        message.starts_with(
            "Not published within 24 hours of the scheduled time. Sandbox has not accepted the post: too many"
        ) && !message.contains("We will"),
        "{message}"
    );
    assert!(rig.network.calls() < 100, "{}", rig.network.calls());
}

#[tokio::test]
async fn delivery_waits_for_a_quota_reset_after_more_than_a_day() {
    let opens_at = later(5) + RETRY_WINDOW + TimeDelta::hours(3);
    let rig = Rig::with(1, Network::default().with_faults([PublishFault::Busy(Some(opens_at))])).await;
    let post = rig.schedule("Hello", later(5)).await;

    rig.live(opens_at - TimeDelta::seconds(5)).await;
    assert_eq!(rig.post(&post).await.status, PostStatus::Scheduled);
    rig.live(opens_at + TICK).await;

    assert_published_once(&rig, &post, "Hello").await;
    assert_eq!(*rig.network.calls.lock().unwrap(), [later(5), opens_at]);
}

#[tokio::test]
async fn quota_still_exhausted_after_its_reset_is_given_up_soon() {
    let opens_at = later(5) + RETRY_WINDOW + TimeDelta::hours(3);
    let still = PublishFault::Busy(Some(opens_at + RETRY_WINDOW));
    let rig = Rig::with(1, Network::default().with_faults([PublishFault::Busy(Some(opens_at)), still])).await;
    let post = rig.schedule("Hello", later(5)).await;

    rig.live(opens_at + TimeDelta::minutes(20)).await;

    let message = failure(&rig, &post).await;
    assert!(message.starts_with("Not published within 27 hours of the scheduled time"), "{message}");
    assert_eq!(rig.network.calls(), 2);
}

#[tokio::test]
async fn post_of_a_disabled_platform_is_published_once_enabled() {
    let mut rig = Rig::new().await;
    let post = rig.schedule("Hello", noon()).await;
    let on = std::mem::replace(&mut rig.platforms, Registry::from_adapters(Vec::new()));
    rig.live(later(900)).await;
    assert!(rig.post(&post).await.targets[0].error_message.is_some());

    rig.platforms = on;
    rig.live(later(1800)).await;

    assert_published_once(&rig, &post, "Hello").await;
}
