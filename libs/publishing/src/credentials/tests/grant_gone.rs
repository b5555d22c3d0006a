//! Grants that are gone, or seem to be, and how their user is notified.

use std::sync::atomic::{AtomicU32, Ordering};

use super::*;

#[tokio::test]
async fn refresh_token_used_by_a_lost_response_needs_reconnection() {
    let rig = ending(noon(), [RefreshFault::Unreachable, RefreshFault::Gone]).await;
    let post = rig.schedule("Hello", noon()).await;

    rig.live(later(120)).await;
    assert_eq!((renewed(&rig), rig.network.calls()), (2, 0));
    assert_eq!(rig.events.types(), ["post.scheduled", "connection.needs_reconnection"]);

    rig.reconnect(0, Rig::credentials(None), None).await;
    goes_out(&rig, &post, later(600)).await;
}

#[tokio::test]
async fn refused_refresh_needs_reconnection_and_is_not_retried() {
    let rig = rig([RefreshFault::Gone]).await;
    let post = rig.schedule("Hello", noon()).await;

    rig.live(later(600)).await;
    assert_eq!(rig.publishing.credential_service().refresh_due(&rig.renewable).await.unwrap(), 0);

    assert!(rig.connection(0).await.connection.needs_reconnection);
    assert_eq!((renewed(&rig), rig.network.calls()), (1, 0));
    assert_eq!(rig.events.types(), ["post.scheduled", "connection.needs_reconnection"]);
    let waiting = rig.post(&post).await;
    assert_eq!(waiting.status, PostStatus::Scheduled, "nothing was begun");
    assert!(waiting.targets[0].error_message.is_some());

    rig.reconnect(0, Rig::credentials(None), None).await;
    goes_out(&rig, &post, later(1200)).await;
}

#[tokio::test]
async fn rejected_token_is_refreshed_and_the_post_published() {
    let rig = ending(later(3000), [RefreshFault::Rotated]).await;
    rig.network.faults.lock().unwrap().push_back(PublishFault::Gone);
    rig.schedule("Hello", noon()).await;

    rig.live(later(60)).await;

    let public = rig.network.public.lock().unwrap().clone();
    assert_eq!((public.len(), public[0].token.as_str(), renewed(&rig)), (1, "token1", 1));
    assert!(!rig.connection(0).await.connection.needs_reconnection);
}

#[tokio::test]
async fn token_rejected_after_its_refresh_needs_reconnection() {
    let rig = ending(later(3000), [RefreshFault::Rotated, RefreshFault::Rotated]).await;
    rig.network.faults.lock().unwrap().extend([PublishFault::Gone, PublishFault::Gone]);
    let post = rig.schedule("Hello", noon()).await;

    rig.live(later(60)).await;
    assert!(rig.connection(0).await.connection.needs_reconnection);
    assert_eq!((renewed(&rig), rig.network.calls()), (1, 2), "once more with the new one, and no more");
    assert_eq!(rig.events.types(), ["post.scheduled", "connection.needs_reconnection"]);
    assert!(rig.post(&post).await.targets[0].error_message.as_ref().unwrap().contains("Connect the account again"));

    rig.reconnect(0, Rig::credentials(None), None).await;
    goes_out(&rig, &post, later(600)).await;
}

#[tokio::test]
async fn rejected_older_token_is_refreshed() {
    let rig = rig([RefreshFault::Rotated, RefreshFault::Rotated]).await;
    assert_eq!(rig.publishing.credential_service().refresh_due(&rig.renewable).await.unwrap(), 1);
    rig.live(noon() + ON_PROBATION).await;
    rig.network.faults.lock().unwrap().push_back(PublishFault::Gone);
    let post = rig.schedule("Hello", noon() + ON_PROBATION).await;

    goes_out(&rig, &post, noon() + ON_PROBATION * 2).await;

    assert_eq!((renewed(&rig), rig.network.public.lock().unwrap()[0].token.as_str()), (2, "token2"));
}

#[tokio::test]
async fn rejected_call_has_known_outcome_even_if_the_event_bus_fails() {
    let rig = Rig::with(1, Network::default().with_faults([PublishFault::Gone])).await;
    let post = rig.schedule("Hello", later(60)).await;
    rig.events.down.store(true, Ordering::SeqCst);

    rig.live(later(61)).await;
    let delivery = rig.delivery(&post).await;
    assert_eq!((delivery.attempts, delivery.intent), (1, None));
    assert!(!rig.connection(0).await.connection.needs_reconnection, "it is said first");

    rig.events.down.store(false, Ordering::SeqCst);
    goes_out(&rig, &post, later(300)).await;
    assert_eq!(*rig.network.looks.lock().unwrap(), 0, "the outcome was known");
}

#[tokio::test]
async fn lost_grant_emits_its_event_before_the_write_and_retries() {
    let rig = rig([RefreshFault::Gone, RefreshFault::Gone]).await;
    rig.events.down.store(true, Ordering::SeqCst);

    assert_eq!(rig.publishing.credential_service().refresh_due(&rig.renewable).await.unwrap(), 0);
    assert!(!rig.connection(0).await.connection.needs_reconnection, "no event was emitted");
    rig.events.down.store(false, Ordering::SeqCst);
    rig.clock.advance(TimeDelta::seconds(60));
    assert_eq!(rig.publishing.credential_service().refresh_due(&rig.renewable).await.unwrap(), 0);

    let connection = rig.connection(0).await.connection;
    assert!(connection.needs_reconnection);
    let events = rig.events.all();
    let id = format!("connection.needs_reconnection:{}:{}", connection.connection_id, connection.generation);
    assert_eq!((events.len(), events[0].detail["id"].as_str()), (1, Some(id.as_str())));
}

#[tokio::test]
async fn failed_write_of_lost_grant_repeats_event_with_same_id() {
    let mut rig = ending(noon(), []).await;
    let losses = Arc::new(AtomicU32::new(1));
    rig.publishing.store = storage::testing::store_losing_updates(&rig.store, Arc::clone(&losses));
    let lost = rig.grant(0).await;

    rig.publishing.credential_service().lose(&lost).await.unwrap_err();
    assert!(rig.publishing.credential_service().lose(&lost).await.unwrap());

    let ids: Vec<_> = rig.events.all().iter().map(|it| it.detail["id"].clone()).collect();
    assert_eq!(ids.len(), 2);
    assert_eq!(ids[0], ids[1]);
    assert!(rig.publishing.credential_service().lose(&lost).await.unwrap(), "it is lost");
    assert_eq!(rig.events.all().len(), 2, "and everybody knows");
}
