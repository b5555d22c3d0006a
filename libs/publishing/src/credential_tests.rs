//! Credentials as deliveries and the round of upkeep use them. The code is in `libs/connecting`.

mod account_info;
mod due;
mod grant_gone;
mod several;
mod storing;

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use cloud::queue::DeliveryMessage;
use connecting::{CallCredentials, ConnectingError};
use domain::delivery::AttemptError;
use domain::post::PostStatus;
use domain::testing::noon;
use platforms::{Credentials, RefreshPolicy as Model};
use secrecy::ExposeSecret;
use storage::ConnectionRecord;

use crate::testing::{FakePlatform, PublishFault, PublishingHarness, RefreshFault, later};

/// The credentials expire in half a minute and can be refreshed.
async fn harness(refresh_faults: impl IntoIterator<Item = RefreshFault>) -> PublishingHarness {
    ending(later(30), refresh_faults).await
}

async fn ending(ends_at: DateTime<Utc>, refresh_faults: impl IntoIterator<Item = RefreshFault>) -> PublishingHarness {
    let platform = FakePlatform { refresh_policy: Model::Rotating, ..FakePlatform::default() };
    platform.refresh_faults.lock().unwrap().extend(refresh_faults);
    let harness = PublishingHarness::with(1, platform).await;
    harness.reconnect(0, PublishingHarness::credentials(Some(ends_at)), Some(noon())).await;
    harness
}

fn refreshes(harness: &PublishingHarness) -> u32 {
    *harness.fake.refreshes.lock().unwrap()
}

async fn given(harness: &PublishingHarness, record: &ConnectionRecord) -> Result<Credentials, AttemptError> {
    let platform = harness.refreshable.get("sandbox").unwrap();
    let opened = harness.publishing.credentials.credentials(platform, record, harness.clock.now()).await.unwrap();
    match opened {
        CallCredentials::Open(opened) => Ok(opened.credentials),
        CallCredentials::Unavailable(error) => Err(error),
    }
}

fn token(credentials: &Credentials) -> &str {
    credentials.access_token.expose_secret()
}

async fn crash_during_refresh(harness: &PublishingHarness) {
    let claim = harness.store.claim_refresh(&harness.grant(0).await, harness.clock.now()).await.unwrap();
    assert_eq!(claim, storage::RefreshClaim::Ours);
}

async fn goes_out(harness: &PublishingHarness, post: &domain::post::Post, until: DateTime<Utc>) {
    harness.live(until).await;
    assert_eq!(harness.fake.texts(), ["Hello"]);
    assert_eq!(harness.post(post).await.status, PostStatus::Published);
}

#[tokio::test]
async fn expiring_credentials_are_refreshed_before_the_call() {
    let harness = harness([RefreshFault::Rotated]).await;
    harness.schedule("Hello", noon()).await;

    harness.live(noon()).await;

    assert_eq!(harness.fake.public.lock().unwrap()[0].token, "token1");
    let stored = harness.stored_credentials(0).await;
    assert_eq!(token(&stored), "token1");
    assert_eq!(stored.refresh_token.unwrap().expose_secret(), "refresh1");
    let connection = harness.connection(0).await.connection;
    assert_eq!((connection.token_expires_at, connection.refreshed_at), (None, Some(noon())));
}

#[tokio::test]
async fn valid_credentials_are_used_without_refresh() {
    let harness = ending(later(90), []).await;
    harness.schedule("Hello", noon()).await;

    harness.live(noon()).await;

    assert_eq!((refreshes(&harness), harness.fake.public.lock().unwrap()[0].token.as_str()), (0, "first"));
}

#[tokio::test]
async fn old_refresh_token_is_kept_if_the_response_has_none() {
    let harness = harness([RefreshFault::Extended]).await;

    assert_eq!(harness.publishing.credentials.refresh_due(&harness.refreshable).await.unwrap(), 1);

    let stored = harness.stored_credentials(0).await;
    assert_eq!(token(&stored), "token1");
    assert_eq!(stored.refresh_token.unwrap().expose_secret(), "refresh");
}

#[tokio::test]
async fn access_token_is_extended_without_a_refresh_token() {
    let harness =
        PublishingHarness::with(1, FakePlatform { refresh_policy: Model::Extending, ..FakePlatform::default() }).await;
    let credentials = Credentials { refresh_token: None, ..PublishingHarness::credentials(Some(later(30))) };
    harness.reconnect(0, credentials, None).await;

    let record = harness.connection(0).await;
    let new = given(&harness, &record).await.unwrap();

    assert_eq!((token(&new), refreshes(&harness)), ("token1", 1));
    assert!(harness.stored_credentials(0).await.refresh_token.is_none());
}

#[tokio::test]
async fn unrefreshable_credentials_are_used_until_expiry() {
    for refresh_policy in [Model::Never, Model::Rotating] {
        let harness = PublishingHarness::with(1, FakePlatform { refresh_policy, ..FakePlatform::default() }).await;
        let credentials = Credentials { refresh_token: None, ..PublishingHarness::credentials(Some(later(30))) };
        harness.reconnect(0, credentials, None).await;
        harness.schedule("Hello", later(29)).await;
        let post = harness.schedule("Too late", later(31)).await;

        harness.live(later(60)).await;

        assert_eq!((harness.fake.texts(), refreshes(&harness)), (vec!["Hello".to_owned()], 0));
        assert!(harness.connection(0).await.connection.needs_reconnection);
        assert!(harness.events.types().contains(&"connection.needs_reconnection"));
        harness.reconnect(0, PublishingHarness::credentials(None), None).await;
        harness.live(later(600)).await;
        assert_eq!(harness.post(&post).await.status, PostStatus::Published);
    }
}

#[tokio::test]
async fn concurrent_refreshes_make_one_call() {
    let harness = harness([RefreshFault::Rotated]).await;
    let record = harness.connection(0).await;

    let ends = futures::future::join_all((0..8).map(|_| given(&harness, &record))).await;

    assert_eq!(refreshes(&harness), 1);
    let fresh = ends.iter().filter(|it| it.as_ref().is_ok_and(|it| token(it) == "token1")).count();
    assert!(0 < fresh, "{ends:?}");
    for end in ends {
        match end {
            // A worker that waited in vain uses the old credentials while they are valid.
            Ok(credentials) => assert!(["token1", "first"].contains(&token(&credentials))),
            Err(AttemptError::RetryLater { .. }) => {}
            Err(other) => panic!("{other:?}"),
        }
    }
    assert!(!harness.connection(0).await.connection.needs_reconnection);
}

#[tokio::test]
async fn worker_during_a_refresh_gets_its_result() {
    let harness = harness([RefreshFault::Rotated]).await;
    let record = harness.connection(0).await;
    given(&harness, &record).await.unwrap();

    // With the record as read before the refresh.
    let late = given(&harness, &record).await.unwrap();

    assert_eq!((token(&late), refreshes(&harness)), ("token1", 1));
}

#[tokio::test]
async fn dead_refresher_does_not_delay_a_post_while_token_is_valid() {
    let harness = harness([]).await;
    crash_during_refresh(&harness).await;
    let post = harness.schedule("Hello", noon()).await;

    goes_out(&harness, &post, later(10)).await;

    assert_eq!((refreshes(&harness), harness.fake.public.lock().unwrap()[0].token.as_str()), (0, "first"));
}

#[tokio::test]
async fn post_waits_at_most_for_the_lease_of_a_dead_refresher() {
    let harness = ending(noon(), []).await;
    crash_during_refresh(&harness).await;
    let post = harness.schedule("Hello", noon()).await;

    goes_out(&harness, &post, later(80)).await;

    assert_eq!((refreshes(&harness), harness.fake.calls()), (1, 1));
    assert!(later(60) <= harness.fake.calls.lock().unwrap()[0], "the one that died may have spent its token");
}

#[tokio::test]
async fn unreachable_refresh_does_not_delay_a_post_while_token_is_valid() {
    let harness = harness([RefreshFault::Unreachable]).await;
    let post = harness.schedule("Hello", noon()).await;

    goes_out(&harness, &post, noon()).await;

    assert_eq!((refreshes(&harness), harness.fake.public.lock().unwrap()[0].token.as_str()), (1, "first"));
}

#[tokio::test]
async fn unreachable_platform_does_not_lose_the_grant() {
    let harness = ending(noon(), [RefreshFault::Unreachable, RefreshFault::Unreachable]).await;
    let post = harness.schedule("Hello", noon()).await;

    harness.live(later(3)).await;
    assert!(!harness.connection(0).await.connection.needs_reconnection);
    assert_eq!(harness.fake.calls(), 0);
    goes_out(&harness, &post, later(120)).await;

    assert_eq!(refreshes(&harness), 3);
    assert_eq!(harness.stored_credentials(0).await.refresh_token.unwrap().expose_secret(), "refresh");
}

#[tokio::test]
async fn unreachable_platform_is_tried_less_often_over_time() {
    let harness = ending(noon(), vec![RefreshFault::Unreachable; 2000]).await;
    harness.schedule("Hello", noon()).await;

    harness.live(later(3600)).await;

    assert!(20 < refreshes(&harness) && refreshes(&harness) < 80, "{}", refreshes(&harness));
}

#[tokio::test]
async fn temporarily_failed_refresh_is_due_again_soon() {
    let harness = harness([RefreshFault::Unreachable]).await;

    assert_eq!(harness.publishing.credentials.refresh_due(&harness.refreshable).await.unwrap(), 0);
    assert_eq!(harness.publishing.credentials.refresh_due(&harness.refreshable).await.unwrap(), 0);
    assert_eq!(refreshes(&harness), 1, "not at once");
    harness.clock.advance(TimeDelta::hours(1));
    assert_eq!(harness.publishing.credentials.refresh_due(&harness.refreshable).await.unwrap(), 1);

    assert_eq!(
        harness.publishing.credentials.refresh_due(&harness.refreshable).await.unwrap(),
        0,
        "and then not before it ends again"
    );
}

#[tokio::test]
async fn expired_token_is_refreshed_before_the_due_second() {
    let mut harness = harness([]).await;
    let clock = harness.clock.clone();
    let on_refresh = Some(Box::new(move || clock.advance(TimeDelta::milliseconds(700))) as _);
    harness.be(FakePlatform { refresh_policy: Model::Rotating, on_refresh, ..FakePlatform::default() });
    let due = later(3600);
    let post = harness.schedule("Hello", due).await;
    let message = DeliveryMessage::for_delivery(&harness.delivery(&post).await);
    harness.clock.skip_to(due - TimeDelta::seconds(1));

    harness.deliver(message, 1).await;

    assert_eq!((refreshes(&harness), harness.fake.calls.lock().unwrap().clone()), (1, vec![due]));
}

#[tokio::test]
async fn refresh_for_a_call_keeps_the_time_of_the_weekly_check() {
    for fault in [RefreshFault::Rotated, RefreshFault::Unreachable] {
        let harness = harness([fault]).await;
        let next_step_at = noon() + TimeDelta::days(2);
        harness.store.postpone_refresh(&harness.grant(0).await, Some(next_step_at)).await.unwrap();

        let _ = given(&harness, &harness.connection(0).await).await;

        assert_eq!((refreshes(&harness), harness.grant(0).await.state.refresh_at), (1, Some(next_step_at)));
    }
}
