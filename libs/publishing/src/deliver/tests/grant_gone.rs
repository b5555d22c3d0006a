//! Accounts whose grant is gone until their user connects them again.

use domain::delivery::RETRY_WINDOW;
use domain::post::Authority;

use super::*;

#[tokio::test]
async fn post_with_revoked_grant_is_published_after_reconnection() {
    let rig = Rig::with(1, Network::default().with_faults([PublishFault::Gone])).await;
    let post = rig.schedule("Hello", later(5)).await;

    rig.live(later(3600)).await;
    assert!(rig.connection(0).await.connection.needs_reconnection);
    assert_eq!(rig.events.types(), ["post.scheduled", "connection.needs_reconnection"]);
    let waiting = rig.post(&post).await;
    assert_eq!((waiting.status, rig.pending(0).await), (PostStatus::Scheduled, 1));
    let message = waiting.targets[0].error_message.clone().unwrap();
    assert_eq!(
        message,
        "Sandbox no longer accepts this connection: revoked. Connect the account again. We will try again, for up to \
         24 hours after the scheduled time.",
        "the platform's own words stay"
    );
    assert_eq!(rig.network.calls(), 1, "nothing is tried with a grant that is gone");

    rig.reconnect(0, Rig::credentials(None), None).await;
    rig.live(later(3600 + 330)).await;

    assert_published_once(&rig, &post, "Hello").await;
    assert_eq!(rig.network.calls(), 2);
}

#[tokio::test]
async fn post_waiting_for_reconnection_can_be_unscheduled_or_deleted() {
    let rig = Rig::with(1, Network::default().with_faults([PublishFault::Gone])).await;
    let (one, other) = (rig.schedule("Hello", later(5)).await, rig.schedule("Again", later(5)).await);
    rig.live(later(600)).await;
    assert_eq!(rig.pending(0).await, 2);

    let unscheduled = rig.reschedule(&one, None).await;
    let deleted = rig.publishing.delete_post(rig.post(&other).await, Authority::Posts, None).await.unwrap();

    assert!(matches!((unscheduled, deleted), (Changed::Done(_), Changed::Done(_))));
    assert_eq!((rig.pending(0).await, rig.due().await), (0, Vec::new()));
    rig.reconnect(0, Rig::credentials(None), None).await;
    rig.live(later(7200)).await;
    assert_eq!(rig.network.texts().len(), 0);
}

#[tokio::test]
async fn post_fails_a_day_after_its_grant_was_lost() {
    let rig = Rig::with(1, Network::default().with_faults([PublishFault::Gone])).await;
    let post = rig.schedule("Hello", later(5)).await;

    rig.live(later(1800)).await;
    rig.clock.skip_to(later(5) + RETRY_WINDOW - TimeDelta::seconds(60));
    rig.live(later(5) + RETRY_WINDOW - TimeDelta::seconds(5)).await;
    assert_eq!(rig.post(&post).await.status, PostStatus::Scheduled);
    rig.live(later(5) + RETRY_WINDOW + TICK * 7).await;

    let message = failure(&rig, &post).await;
    assert!(
        message.starts_with("Not published within 24 hours of the scheduled time")
            && message.contains("Connect the account again."),
        "{message}"
    );
    assert_eq!(rig.network.calls(), 1);
}

#[tokio::test]
async fn grant_lost_during_unknown_outcome_is_resolved_after_reconnection() {
    let rig = Rig::with(1, Network::default().with_faults([PublishFault::LostAnswer])).await;
    let gone = Resolution::Unauthorized { reason: "revoked".to_owned() };
    rig.network.resolutions.lock().unwrap().push_back(gone);
    let post = rig.schedule("Hello", noon()).await;

    rig.live(later(60)).await;
    assert!(rig.connection(0).await.connection.needs_reconnection);
    assert!(rig.delivery(&post).await.intent.is_some());
    rig.reconnect(0, Rig::credentials(None), None).await;
    rig.live(later(7200)).await;

    assert_published_once(&rig, &post, "Hello").await;
    assert_eq!(rig.network.calls(), 1);
}

#[tokio::test]
async fn open_intent_survives_a_lost_grant() {
    let rig = Rig::with(1, Network::default().with_faults([PublishFault::LostAnswer])).await;
    rig.network.resolutions.lock().unwrap().extend([Resolution::Pending { reason: "revoked".to_owned() }]);
    let post = rig.schedule("Hello", noon()).await;
    rig.live(later(3)).await;
    let id = rig.connection(0).await.connection.connection_id;
    assert!(rig.store.mark_needs_reconnection(id, &rig.grant(0).await, storage::LostGrant::Grant).await.unwrap());

    rig.live(later(600)).await;
    assert!(rig.delivery(&post).await.intent.is_some());
    rig.reconnect(0, Rig::credentials(None), None).await;
    rig.live(later(7200)).await;

    assert_published_once(&rig, &post, "Hello").await;
    assert_eq!(rig.network.calls(), 1);
}
