use domain::delivery::{FailureClass, RETRY_WINDOW};
use fakes::conformance::log::Log;
use platforms::Registry;

use super::*;

#[tokio::test]
async fn post_with_lost_response_is_found_and_not_resent() {
    let harness = PublishingHarness::with(1, FakePlatform::default().with_faults([PublishFault::LostResponse])).await;
    let post = harness.schedule("Hello", later(5)).await;

    harness.live(later(3600)).await;

    assert_published_once(&harness, &post, "Hello").await;
    assert_eq!((harness.fake.calls(), *harness.fake.looks.lock().unwrap()), (1, 1));
}

/// It is not a sign of an outage, so the operator is not alerted. The look-up has the progress of the call.
#[tokio::test]
async fn accepted_post_is_looked_up_and_not_counted_as_unknown() {
    for (fault, is_alarming) in [(PublishFault::Accepted, false), (PublishFault::LostResponse, true)] {
        let (log, _kept) = Log::capture();
        let harness = PublishingHarness::with(1, FakePlatform::default().with_faults([fault])).await;
        let post = harness.schedule("Hello", later(5)).await;

        harness.live(later(3600)).await;

        assert_published_once(&harness, &post, "Hello").await;
        assert_eq!(log.text().contains("unknown_outcomes=1"), is_alarming);
        let progress = (!is_alarming).then(|| "accepted".to_owned());
        assert_eq!(harness.fake.looked_with.lock().unwrap().first(), Some(&progress));
    }
}

#[tokio::test]
async fn lost_call_is_retried_only_after_the_settle_time() {
    let harness = PublishingHarness::with(1, FakePlatform::default().with_faults([PublishFault::LostCall])).await;
    let post = harness.schedule("Hello", later(5)).await;

    harness.live(later(5) + SETTLES - TimeDelta::milliseconds(1)).await;
    assert_eq!(harness.fake.calls(), 1);
    assert!(0 < *harness.fake.looks.lock().unwrap());
    harness.live(later(3600)).await;

    assert_published_once(&harness, &post, "Hello").await;
    let calls = harness.fake.calls.lock().unwrap().clone();
    assert_eq!(calls.len(), 2);
    assert!(calls[0] + SETTLES <= calls[1] && calls[1] < calls[0] + SETTLES * 2, "{calls:?}");
}

#[tokio::test]
async fn error_response_and_missing_post_lead_to_a_quick_retry() {
    let harness = PublishingHarness::with(1, FakePlatform::default().with_faults([PublishFault::TheirError])).await;
    let post = harness.schedule("Hello", later(5)).await;

    harness.live(later(15)).await;

    assert_published_once(&harness, &post, "Hello").await;
    assert_eq!(harness.fake.calls(), 2);
}

#[tokio::test]
async fn unresolved_outcome_fails_after_a_day_as_possibly_public() {
    let harness = PublishingHarness::with(1, FakePlatform::default().with_faults([PublishFault::LostResponse])).await;
    *harness.fake.always.lock().unwrap() = Some(Resolution::Pending { reason: "down".to_owned() });
    let post = harness.schedule("Hello", later(5)).await;

    harness.live(later(3600)).await;
    harness.clock.skip_to(later(5) + RETRY_WINDOW - TimeDelta::seconds(60));
    harness.live(later(5) + RETRY_WINDOW - TimeDelta::seconds(5)).await;
    assert_eq!(harness.post(&post).await.status, PostStatus::Publishing);
    harness.live(later(5) + RETRY_WINDOW + TimeDelta::hours(1)).await;

    assert!(failure(&harness, &post).await.contains("may be public"));
    assert_eq!(harness.fake.calls(), 1);
}

#[tokio::test]
async fn accepted_then_refused_post_fails_with_platform_message() {
    let harness = PublishingHarness::with(1, FakePlatform::default().with_faults([PublishFault::LostCall])).await;
    let reason = "the video could not be processed".to_owned();
    harness.fake.resolutions.lock().unwrap().push_back(Resolution::Refused { reason });
    let post = harness.schedule("Hello", later(5)).await;

    harness.live(later(30)).await;

    let message = failure(&harness, &post).await;
    let expected = "Sandbox accepted the post and then refused it: the video could not be processed. \
                    Edit the post and reschedule it.";
    assert_eq!(message, expected);
    harness.live(later(5) + RETRY_WINDOW).await;
    assert_eq!((harness.fake.calls(), *harness.fake.looks.lock().unwrap()), (1, 1));
}

/// A list without the post may lag. Only proof that nothing is public permits the message that the
/// post failed.
#[tokio::test]
async fn refusal_after_a_lost_response_warns_unless_absence_is_proven() {
    for (resolution, may_be_public) in [(Resolution::NotFound, true), (Resolution::NotPublished, false)] {
        let harness = PublishingHarness::with(
            1,
            FakePlatform::default().with_faults([PublishFault::LostCall, PublishFault::Refused]),
        )
        .await;
        *harness.fake.always.lock().unwrap() = Some(resolution);
        let post = harness.schedule("Hello", later(5)).await;

        harness.live(later(3600)).await;

        let message = failure(&harness, &post).await;
        let warning = "The post may be public: the outcome of an earlier attempt is unknown. Look at the account before \
                       you send it again. ";
        assert_eq!(message.starts_with(warning), may_be_public, "{message}");
        assert!(message.contains("refused the post: not polite enough"), "{message}");
        let class = if may_be_public { FailureClass::MayBePublic } else { FailureClass::Refused };
        assert_eq!(harness.post(&post).await.targets[0].failure, Some(class));
        assert_eq!(harness.fake.calls(), 2);
    }
}

#[tokio::test]
async fn post_given_up_after_a_lost_response_may_be_public() {
    let busy = std::iter::repeat_n(PublishFault::Busy(None), 500);
    let harness =
        PublishingHarness::with(1, FakePlatform::default().with_faults([PublishFault::LostCall]).with_faults(busy))
            .await;
    *harness.fake.always.lock().unwrap() = Some(Resolution::NotFound);
    let post = harness.schedule("Hello", later(5)).await;

    harness.live(later(5) + RETRY_WINDOW + TimeDelta::hours(1)).await;

    let message = failure(&harness, &post).await;
    assert!(
        message.starts_with("The post may be public: ") && message.contains("Not published within 24 hours"),
        "{message}"
    );
    assert_eq!(harness.post(&post).await.targets[0].failure, Some(FailureClass::MayBePublic));
}

#[tokio::test]
async fn undeterminable_outcome_fails_and_names_where_to_look() {
    let harness = PublishingHarness::with(1, FakePlatform::default().with_faults([PublishFault::LostCall])).await;
    let advice = "look at your page".to_owned();
    harness.fake.resolutions.lock().unwrap().push_back(Resolution::Undeterminable { advice });
    let post = harness.schedule("Hello", later(5)).await;

    harness.live(later(3600)).await;

    let message = failure(&harness, &post).await;
    assert!(message.starts_with("The post may be public: look at your page"), "{message}");
    assert_eq!(harness.fake.calls(), 1);
}

#[tokio::test]
async fn unknown_outcome_survives_a_disabled_platform() {
    let mut harness =
        PublishingHarness::with(1, FakePlatform::default().with_faults([PublishFault::LostResponse])).await;
    *harness.fake.always.lock().unwrap() = Some(Resolution::Pending { reason: "down".to_owned() });
    let post = harness.schedule("Hello", noon()).await;
    harness.live(later(10)).await;
    let on = std::mem::replace(&mut harness.platforms, Registry::from_adapters(Vec::new()));

    harness.live(later(900)).await;
    assert!(harness.delivery(&post).await.intent.is_some());
    harness.platforms = on;
    *harness.fake.always.lock().unwrap() = None;
    harness.live(later(7200)).await;

    assert_published_once(&harness, &post, "Hello").await;
    assert_eq!(harness.fake.calls(), 1);
}

#[tokio::test]
async fn call_is_marked_as_repetition_only_after_an_unknown_outcome() {
    let faults = [
        PublishFault::Busy(None),
        PublishFault::Stale,
        PublishFault::LostCall,
        PublishFault::Busy(None),
        PublishFault::Public,
    ];
    let harness = PublishingHarness::with(1, FakePlatform::default().with_faults(faults)).await;
    let post = harness.schedule("Hello", later(5)).await;

    harness.live(later(3600)).await;

    assert_published_once(&harness, &post, "Hello").await;
    assert_eq!(*harness.fake.may_have_published.lock().unwrap(), [false, false, false, true, true]);
}

/// A platform whose list lags behind longer than a call may still run, and which refuses
/// duplicates.
fn platform_listing_late(after: TimeDelta) -> FakePlatform {
    FakePlatform { listed_after: after, ..FakePlatform::default() }
        .with_faults([PublishFault::LostResponse, PublishFault::Duplicate])
}

#[tokio::test]
async fn post_listed_late_is_found_and_not_resent() {
    let harness = PublishingHarness::with(1, platform_listing_late(TimeDelta::minutes(30))).await;
    let post = harness.schedule("Hello", later(5)).await;

    harness.live(later(600)).await;
    let message = harness.post(&post).await.targets[0].error_message.clone().unwrap();
    assert!(message.contains("refused the post as a duplicate"), "{message}");
    harness.live(later(7200)).await;

    assert_published_once(&harness, &post, "Hello").await;
    let calls = harness.fake.calls.lock().unwrap().clone();
    assert_eq!(calls.len(), 2);
    assert_eq!(harness.post(&post).await.targets[0].published().unwrap().at, calls[0], "the first call made it");
    let look_ups = harness.fake.looked_since.lock().unwrap().clone();
    assert!(look_ups.iter().all(|(since, _)| *since <= calls[0]), "{look_ups:?}");
    assert!(look_ups.iter().all(|(_, called_at)| calls.iter().any(|it| *called_at <= *it)), "{look_ups:?}");
    assert!(look_ups.last().unwrap().1 > calls[0], "about the second call: {look_ups:?}");
}

#[tokio::test]
async fn unlisted_duplicate_fails_after_a_day_as_possibly_public() {
    let harness = PublishingHarness::with(1, platform_listing_late(TimeDelta::days(9))).await;
    let post = harness.schedule("Hello", later(5)).await;

    harness.live(later(3600)).await;
    harness.clock.skip_to(later(5) + RETRY_WINDOW - TimeDelta::seconds(5));
    harness.live(later(5) + RETRY_WINDOW + TimeDelta::hours(1)).await;

    let message = failure(&harness, &post).await;
    assert!(message.starts_with("The post may be public."), "{message}");
    assert_eq!(harness.fake.calls(), 2);
}
