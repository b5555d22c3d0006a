use domain::delivery::LEASE_DURATION;

use super::*;

#[tokio::test]
async fn preparation_continues_after_a_crash() {
    let lead_time = TimeDelta::minutes(10);
    let harness = PublishingHarness::with(1, FakePlatform { lead: Some(lead_time), ..FakePlatform::default() }).await;
    let again = |progress: &str, seconds| Ok(Step::Again { progress: progress.to_owned(), at: later(seconds) });
    let ready = Ok(Step::Ready { progress: Some("uploaded".to_owned()) });
    harness.fake.steps.lock().unwrap().extend([again("one", 0), again("two", 700), ready]);
    let post = harness.schedule("Hello", later(1200)).await;

    harness.live(later(597)).await;
    assert_eq!(harness.fake.prepared.lock().unwrap().len(), 0, "not before the lead");
    harness.live(later(601)).await;
    assert_eq!(harness.delivery(&post).await.progress(0), Some("two"));
    // A worker takes the next step and dies.
    let delivery = harness.delivery(&post).await;
    harness.leave(&delivery, delivery.clone().lease(later(700))).await;
    harness.clock.skip_to(later(700));
    harness.live(later(700) + LEASE_DURATION - TimeDelta::seconds(1)).await;
    assert_eq!(harness.fake.prepared.lock().unwrap().len(), 2);
    harness.live(later(1100)).await;
    assert!(harness.delivery(&post).await.is_prepared());
    assert_eq!(harness.post(&post).await.status, PostStatus::Scheduled);
    harness.live(later(1300)).await;

    let expected = [None, Some("one".to_owned()), Some("two".to_owned())];
    assert_eq!(*harness.fake.prepared.lock().unwrap(), expected);
    assert_eq!(harness.fake.public.lock().unwrap()[0].progress.as_deref(), Some("uploaded"));
    assert_eq!(*harness.fake.calls.lock().unwrap(), [later(1200)]);
    assert_published_once(&harness, &post, "Hello").await;
}

#[tokio::test]
async fn expired_preparation_is_repeated_and_the_post_published() {
    let platform = FakePlatform { lead: Some(TimeDelta::minutes(10)), ..FakePlatform::default() };
    let harness = PublishingHarness::with(1, platform.with_faults([PublishFault::Stale])).await;
    let ready = |progress: &str| Ok(Step::Ready { progress: Some(progress.to_owned()) });
    harness.fake.steps.lock().unwrap().extend([ready("old"), ready("new")]);
    let post = harness.schedule("Hello", later(1200)).await;

    harness.live(later(1201)).await;
    let waiting = harness.post(&post).await;
    assert_eq!((waiting.status, waiting.targets[0].status), (PostStatus::Scheduled, TargetStatus::Pending));
    let message = "Sandbox no longer has the prepared post: a file has expired. It has to be prepared again. We will \
                 try again, for up to 24 hours after the scheduled time.";
    assert_eq!(waiting.targets[0].error_message.as_deref(), Some(message));
    harness.live(later(1300)).await;

    assert_eq!(*harness.fake.prepared.lock().unwrap(), [None, None]);
    assert_eq!(harness.fake.public.lock().unwrap()[0].progress.as_deref(), Some("new"));
    assert_eq!((harness.fake.calls(), *harness.fake.looks.lock().unwrap()), (2, 0));
    assert_published_once(&harness, &post, "Hello").await;
}

#[tokio::test]
async fn failed_preparation_is_retried_and_the_post_can_be_changed() {
    let harness =
        PublishingHarness::with(1, FakePlatform { lead: Some(TimeDelta::minutes(10)), ..FakePlatform::default() })
            .await;
    let lost = AttemptError::Unknown { may_still_run: true, retry_at: None, reason: "no answer".to_owned() };
    let busy = AttemptError::RetryLater { retry_at: None, reason: "busy".to_owned() };
    harness.fake.steps.lock().unwrap().extend([Err(lost), Err(busy)]);
    let post = harness.schedule("Old", later(1200)).await;

    harness.live(later(650)).await;
    assert_eq!(harness.fake.prepared.lock().unwrap().len(), 3);
    let waiting = harness.post(&post).await;
    assert_eq!((waiting.status, &waiting.targets[0].error_message), (PostStatus::Scheduled, &None));
    assert!(matches!(harness.rewrite(&post, "New").await, Changed::Done(_)));
    harness.live(later(1300)).await;

    assert_eq!(harness.fake.prepared.lock().unwrap().len(), 4, "the new text is prepared anew");
    assert_published_once(&harness, &post, "New").await;
    assert_eq!(*harness.fake.looks.lock().unwrap(), 0);
}

#[tokio::test]
async fn refused_file_fails_the_post_before_it_is_due() {
    let harness =
        PublishingHarness::with(1, FakePlatform { lead: Some(TimeDelta::minutes(10)), ..FakePlatform::default() })
            .await;
    let refused = AttemptError::Refused { reason: "too dark".to_owned() };
    harness.fake.steps.lock().unwrap().push_back(Err(refused));
    let post = harness.schedule("Hello", later(1200)).await;

    harness.live(later(700)).await;

    let message = failure(&harness, &post).await;
    assert!(message.starts_with("Sandbox refused a file or another step before publishing: too dark."), "{message}");
    assert_eq!(harness.fake.calls(), 0);
}
