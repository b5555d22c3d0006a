//! Grants that are gone, or seem to be, and how their user is notified.

use std::sync::atomic::{AtomicU32, Ordering};

use super::*;

/// How soon after a refresh a rejection means that another refresh does not help.
const PROBATION: TimeDelta = TimeDelta::minutes(10);

#[tokio::test]
async fn refresh_token_used_by_a_lost_response_needs_reconnection() {
    let harness = ending(noon(), [RefreshFault::Unreachable, RefreshFault::Gone]).await;
    let post = harness.schedule("Hello", noon()).await;

    harness.live(later(120)).await;
    assert_eq!((refreshes(&harness), harness.fake.calls()), (2, 0));
    assert_eq!(harness.events.types(), ["post.scheduled", "connection.needs_reconnection"]);

    harness.reconnect(0, PublishingHarness::credentials(None), None).await;
    goes_out(&harness, &post, later(600)).await;
}

#[tokio::test]
async fn refused_refresh_needs_reconnection_and_is_not_retried() {
    let harness = harness([RefreshFault::Gone]).await;
    let post = harness.schedule("Hello", noon()).await;

    harness.live(later(600)).await;
    assert_eq!(harness.publishing.credentials.refresh_due(&harness.refreshable).await.unwrap(), 0);

    assert!(harness.connection(0).await.connection.needs_reconnection);
    assert_eq!((refreshes(&harness), harness.fake.calls()), (1, 0));
    assert_eq!(harness.events.types(), ["post.scheduled", "connection.needs_reconnection"]);
    let waiting = harness.post(&post).await;
    assert_eq!(waiting.status, PostStatus::Scheduled, "nothing was begun");
    assert!(waiting.targets[0].error_message.is_some());

    harness.reconnect(0, PublishingHarness::credentials(None), None).await;
    goes_out(&harness, &post, later(1200)).await;
}

#[tokio::test]
async fn rejected_token_is_refreshed_and_the_post_published() {
    let harness = ending(later(3000), [RefreshFault::Rotated]).await;
    harness.fake.faults.lock().unwrap().push_back(PublishFault::Gone);
    harness.schedule("Hello", noon()).await;

    harness.live(later(60)).await;

    let public = harness.fake.public.lock().unwrap().clone();
    assert_eq!((public.len(), public[0].token.as_str(), refreshes(&harness)), (1, "token1", 1));
    assert!(!harness.connection(0).await.connection.needs_reconnection);
}

#[tokio::test]
async fn token_rejected_after_its_refresh_needs_reconnection() {
    let harness = ending(later(3000), [RefreshFault::Rotated, RefreshFault::Rotated]).await;
    harness.fake.faults.lock().unwrap().extend([PublishFault::Gone, PublishFault::Gone]);
    let post = harness.schedule("Hello", noon()).await;

    harness.live(later(60)).await;
    assert!(harness.connection(0).await.connection.needs_reconnection);
    assert_eq!((refreshes(&harness), harness.fake.calls()), (1, 2), "once more with the new one, and no more");
    assert_eq!(harness.events.types(), ["post.scheduled", "connection.needs_reconnection"]);
    assert!(harness.post(&post).await.targets[0].error_message.as_ref().unwrap().contains("Connect the account again"));

    harness.reconnect(0, PublishingHarness::credentials(None), None).await;
    goes_out(&harness, &post, later(600)).await;
}

#[tokio::test]
async fn rejected_older_token_is_refreshed() {
    let harness = harness([RefreshFault::Rotated, RefreshFault::Rotated]).await;
    assert_eq!(harness.publishing.credentials.refresh_due(&harness.refreshable).await.unwrap(), 1);
    harness.live(noon() + PROBATION).await;
    harness.fake.faults.lock().unwrap().push_back(PublishFault::Gone);
    let post = harness.schedule("Hello", noon() + PROBATION).await;

    goes_out(&harness, &post, noon() + PROBATION * 2).await;

    assert_eq!((refreshes(&harness), harness.fake.public.lock().unwrap()[0].token.as_str()), (2, "token2"));
}

#[tokio::test]
async fn rejected_call_has_known_outcome_even_if_the_event_bus_fails() {
    let harness = PublishingHarness::with(1, FakePlatform::default().with_faults([PublishFault::Gone])).await;
    let post = harness.schedule("Hello", later(60)).await;
    harness.events.down.store(true, Ordering::SeqCst);

    harness.live(later(61)).await;
    let delivery = harness.delivery(&post).await;
    assert_eq!((delivery.attempts, delivery.intent), (1, None));
    assert!(!harness.connection(0).await.connection.needs_reconnection, "it is said first");

    harness.events.down.store(false, Ordering::SeqCst);
    goes_out(&harness, &post, later(300)).await;
    assert_eq!(*harness.fake.looks.lock().unwrap(), 0, "the outcome was known");
}

#[tokio::test]
async fn lost_grant_emits_its_event_before_the_write_and_retries() {
    let harness = harness([RefreshFault::Gone, RefreshFault::Gone]).await;
    harness.events.down.store(true, Ordering::SeqCst);

    assert_eq!(harness.publishing.credentials.refresh_due(&harness.refreshable).await.unwrap(), 0);
    assert!(!harness.connection(0).await.connection.needs_reconnection, "no event was emitted");
    harness.events.down.store(false, Ordering::SeqCst);
    harness.clock.advance(TimeDelta::seconds(60));
    assert_eq!(harness.publishing.credentials.refresh_due(&harness.refreshable).await.unwrap(), 0);

    let connection = harness.connection(0).await.connection;
    assert!(connection.needs_reconnection);
    let events = harness.events.all();
    let id = format!("connection.needs_reconnection:{}:{}", connection.connection_id, connection.generation);
    assert_eq!((events.len(), events[0].detail["id"].as_str()), (1, Some(id.as_str())));
}

#[tokio::test]
async fn failed_write_of_lost_grant_repeats_event_with_same_id() {
    let mut harness = ending(noon(), []).await;
    let losses = Arc::new(AtomicU32::new(1));
    harness.publishing.credentials.store = storage::testing::store_losing_updates(&harness.store, Arc::clone(&losses));
    let lost = harness.grant(0).await;

    let service = harness.publishing.credentials;
    let report_end = || service.ended_there(&lost.grant_name, harness.clock.now());
    report_end().await.unwrap_err();
    assert_eq!(report_end().await.unwrap().len(), 1);

    let ids: Vec<_> = harness.events.all().iter().map(|it| it.detail["id"].clone()).collect();
    assert_eq!(ids.len(), 2);
    assert_eq!(ids[0], ids[1]);
    assert_eq!(report_end().await.unwrap().len(), 1, "it is lost");
    assert_eq!(harness.events.all().len(), 2, "and everybody knows");
}
