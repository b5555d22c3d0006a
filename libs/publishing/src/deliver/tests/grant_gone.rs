use domain::delivery::RETRY_WINDOW;
use domain::post::Authority;

use super::*;

#[tokio::test]
async fn post_with_revoked_grant_is_published_after_reconnection() {
    let harness = PublishingHarness::with(1, FakePlatform::default().with_faults([PublishFault::Gone])).await;
    let post = harness.schedule("Hello", later(5)).await;

    harness.live(later(3600)).await;
    assert!(harness.connection(0).await.connection.needs_reconnection);
    assert_eq!(harness.events.types(), ["post.scheduled", "connection.needs_reconnection"]);
    let waiting = harness.post(&post).await;
    assert_eq!((waiting.status, harness.pending(0).await), (PostStatus::Scheduled, 1));
    let message = waiting.targets[0].error_message.clone().unwrap();
    assert_eq!(
        message,
        "Sandbox no longer accepts this connection: revoked. Connect the account again. The post waits for the \
         account for up to 24 hours after the scheduled time.",
        "the platform's own words stay"
    );
    assert_eq!(harness.fake.calls(), 1, "nothing is tried with a grant that is gone");

    harness.reconnect(0, PublishingHarness::credentials(None), None).await;
    harness.live(later(3600 + 330)).await;

    assert_published_once(&harness, &post, "Hello").await;
    assert_eq!(harness.fake.calls(), 2);
}

#[tokio::test]
async fn post_waiting_for_reconnection_can_be_unscheduled_or_deleted() {
    let harness = PublishingHarness::with(1, FakePlatform::default().with_faults([PublishFault::Gone])).await;
    let (one, other) = (harness.schedule("Hello", later(5)).await, harness.schedule("Again", later(5)).await);
    harness.live(later(600)).await;
    assert_eq!(harness.pending(0).await, 2);

    let unscheduled = harness.reschedule(&one, None).await;
    let deleted = harness
        .scheduling
        .delete_post(harness.user.user_id, harness.post(&other).await, Authority::Posts, None)
        .await
        .unwrap();

    assert!(matches!((unscheduled, deleted), (Changed::Done(_), Changed::Done(_))));
    assert_eq!((harness.pending(0).await, harness.due().await), (0, Vec::new()));
    harness.reconnect(0, PublishingHarness::credentials(None), None).await;
    harness.live(later(7200)).await;
    assert_eq!(harness.fake.texts().len(), 0);
}

#[tokio::test]
async fn post_fails_a_day_after_its_grant_was_lost() {
    let harness = PublishingHarness::with(1, FakePlatform::default().with_faults([PublishFault::Gone])).await;
    let post = harness.schedule("Hello", later(5)).await;

    harness.live(later(1800)).await;
    harness.clock.skip_to(later(5) + RETRY_WINDOW - TimeDelta::seconds(60));
    harness.live(later(5) + RETRY_WINDOW - TimeDelta::seconds(5)).await;
    assert_eq!(harness.post(&post).await.status, PostStatus::Scheduled);
    harness.live(later(5) + RETRY_WINDOW + TICK * 7).await;

    let message = failure(&harness, &post).await;
    assert!(
        message.starts_with("Not published within 24 hours of the scheduled time")
            && message.contains("Connect the account again."),
        "{message}"
    );
    assert_eq!(harness.fake.calls(), 1);
}

#[tokio::test]
async fn grant_lost_during_unknown_outcome_is_resolved_after_reconnection() {
    let harness = PublishingHarness::with(1, FakePlatform::default().with_faults([PublishFault::LostResponse])).await;
    let gone = Resolution::Unauthorized { reason: "revoked".to_owned() };
    harness.fake.resolutions.lock().unwrap().push_back(gone);
    let post = harness.schedule("Hello", noon()).await;

    harness.live(later(60)).await;
    assert!(harness.connection(0).await.connection.needs_reconnection);
    assert!(harness.delivery(&post).await.intent.is_some());
    harness.reconnect(0, PublishingHarness::credentials(None), None).await;
    harness.live(later(7200)).await;

    assert_published_once(&harness, &post, "Hello").await;
    assert_eq!(harness.fake.calls(), 1);
}

#[tokio::test]
async fn open_intent_survives_a_lost_grant() {
    let harness = PublishingHarness::with(1, FakePlatform::default().with_faults([PublishFault::LostResponse])).await;
    harness.fake.resolutions.lock().unwrap().extend([Resolution::Pending { reason: "revoked".to_owned() }]);
    let post = harness.schedule("Hello", noon()).await;
    harness.live(later(3)).await;
    let id = harness.connection(0).await.connection.connection_id;
    assert!(
        harness.store.mark_needs_reconnection(id, &harness.grant(0).await, storage::LostGrant::Grant).await.unwrap()
    );

    harness.live(later(600)).await;
    assert!(harness.delivery(&post).await.intent.is_some());
    harness.reconnect(0, PublishingHarness::credentials(None), None).await;
    harness.live(later(7200)).await;

    assert_published_once(&harness, &post, "Hello").await;
    assert_eq!(harness.fake.calls(), 1);
}
