mod grant_gone;
mod several;
mod storing;

use std::sync::Arc;

use cloud::queue::DeliveryMessage;
use domain::post::PostStatus;
use domain::testing::noon;
use platforms::RefreshPolicy as Model;

use super::*;
use crate::testing::{Network, PublishFault, RefreshFault, Rig, later};

/// Credentials that expire in half a minute and can be refreshed.
async fn rig(renewals: impl IntoIterator<Item = RefreshFault>) -> Rig {
    ending(later(30), renewals).await
}

/// Credentials that expire at that time and can be refreshed.
async fn ending(ends_at: DateTime<Utc>, renewals: impl IntoIterator<Item = RefreshFault>) -> Rig {
    let platform = Network { renewal: Model::Rotating, ..Network::default() };
    platform.renewals.lock().unwrap().extend(renewals);
    let rig = Rig::with(1, platform).await;
    rig.reconnect(0, Rig::credentials(Some(ends_at)), Some(noon())).await;
    rig
}

fn renewed(rig: &Rig) -> u32 {
    *rig.network.renewed.lock().unwrap()
}

/// The credentials that a delivery gets for its call.
async fn given(rig: &Rig, record: &ConnectionRecord) -> Result<Credentials, AttemptError> {
    let platform = rig.renewable.get("sandbox").unwrap();
    let opened = rig.publishing.credential_service().credentials(platform, record, rig.clock.now()).await.unwrap();
    opened.map(|it| it.credentials)
}

fn token(credentials: &Credentials) -> &str {
    credentials.access_token.expose_secret()
}

/// A worker claims the refresh and dies.
async fn crash_during_refresh(rig: &Rig) {
    let claim = rig.store.claim_refresh(&rig.grant(0).await, rig.clock.now()).await.unwrap();
    assert_eq!(claim, storage::RefreshClaim::Ours);
}

/// Waits until `until` and asserts that the post is published.
async fn goes_out(rig: &Rig, post: &domain::post::Post, until: DateTime<Utc>) {
    rig.live(until).await;
    assert_eq!(rig.network.texts(), ["Hello"]);
    assert_eq!(rig.post(post).await.status, PostStatus::Published);
}

#[tokio::test]
async fn expiring_credentials_are_refreshed_before_the_call() {
    let rig = rig([RefreshFault::Rotated]).await;
    rig.schedule("Hello", noon()).await;

    rig.live(noon()).await;

    assert_eq!(rig.network.public.lock().unwrap()[0].token, "token1");
    let stored = rig.stored_credentials(0).await;
    assert_eq!(token(&stored), "token1");
    assert_eq!(stored.refresh_token.unwrap().expose_secret(), "renew1");
    let connection = rig.connection(0).await.connection;
    assert_eq!((connection.token_expires_at, connection.renewed_at), (None, Some(noon())));
}

#[tokio::test]
async fn valid_credentials_are_used_without_refresh() {
    let rig = ending(later(90), []).await;
    rig.schedule("Hello", noon()).await;

    rig.live(noon()).await;

    assert_eq!((renewed(&rig), rig.network.public.lock().unwrap()[0].token.as_str()), (0, "first"));
}

#[tokio::test]
async fn old_refresh_token_is_kept_if_the_response_has_none() {
    let rig = rig([RefreshFault::Extended]).await;

    assert_eq!(rig.publishing.credential_service().refresh_due(&rig.renewable).await.unwrap(), 1);

    let stored = rig.stored_credentials(0).await;
    assert_eq!(token(&stored), "token1");
    assert_eq!(stored.refresh_token.unwrap().expose_secret(), "renew");
}

#[tokio::test]
async fn access_token_is_extended_without_a_refresh_token() {
    let rig = Rig::with(1, Network { renewal: Model::Extending, ..Network::default() }).await;
    let credentials = Credentials { refresh_token: None, ..Rig::credentials(Some(later(30))) };
    rig.reconnect(0, credentials, None).await;

    let record = rig.connection(0).await;
    let new = given(&rig, &record).await.unwrap();

    assert_eq!((token(&new), renewed(&rig)), ("token1", 1));
    assert!(rig.stored_credentials(0).await.refresh_token.is_none());
}

#[tokio::test]
async fn unrefreshable_credentials_are_used_until_expiry() {
    for renewal in [Model::Never, Model::Rotating] {
        let rig = Rig::with(1, Network { renewal, ..Network::default() }).await;
        let credentials = Credentials { refresh_token: None, ..Rig::credentials(Some(later(30))) };
        rig.reconnect(0, credentials, None).await;
        rig.schedule("Hello", later(29)).await;
        let post = rig.schedule("Too late", later(31)).await;

        rig.live(later(60)).await;

        assert_eq!((rig.network.texts(), renewed(&rig)), (vec!["Hello".to_owned()], 0));
        assert!(rig.connection(0).await.connection.needs_reconnection);
        assert!(rig.events.types().contains(&"connection.needs_reconnection"));
        rig.reconnect(0, Rig::credentials(None), None).await;
        rig.live(later(600)).await;
        assert_eq!(rig.post(&post).await.status, PostStatus::Published);
    }
}

#[tokio::test]
async fn concurrent_refreshes_make_one_call() {
    let rig = rig([RefreshFault::Rotated]).await;
    let record = rig.connection(0).await;

    let ends = futures::future::join_all((0..8).map(|_| given(&rig, &record))).await;

    assert_eq!(renewed(&rig), 1);
    let fresh = ends.iter().filter(|it| it.as_ref().is_ok_and(|it| token(it) == "token1")).count();
    assert!(0 < fresh, "{ends:?}");
    for end in ends {
        match end {
            // A worker that waited in vain uses the old credentials while they are valid.
            Ok(credentials) => assert!(["token1", "first"].contains(&token(&credentials))),
            // Or tries again later.
            Err(AttemptError::RetryLater { .. }) => {}
            Err(other) => panic!("{other:?}"),
        }
    }
    assert!(!rig.connection(0).await.connection.needs_reconnection);
}

#[tokio::test]
async fn worker_during_a_refresh_gets_its_result() {
    let rig = rig([RefreshFault::Rotated]).await;
    let record = rig.connection(0).await;
    given(&rig, &record).await.unwrap();

    // With the record as read before the refresh.
    let late = given(&rig, &record).await.unwrap();

    assert_eq!((token(&late), renewed(&rig)), ("token1", 1));
}

#[tokio::test]
async fn dead_refresher_does_not_delay_a_post_while_token_is_valid() {
    let rig = rig([]).await;
    crash_during_refresh(&rig).await;
    let post = rig.schedule("Hello", noon()).await;

    goes_out(&rig, &post, later(10)).await;

    assert_eq!((renewed(&rig), rig.network.public.lock().unwrap()[0].token.as_str()), (0, "first"));
}

#[tokio::test]
async fn post_waits_at_most_for_the_lease_of_a_dead_refresher() {
    let rig = ending(noon(), []).await;
    crash_during_refresh(&rig).await;
    let post = rig.schedule("Hello", noon()).await;

    goes_out(&rig, &post, later(80)).await;

    assert_eq!((renewed(&rig), rig.network.calls()), (1, 1));
    assert!(later(60) <= rig.network.calls.lock().unwrap()[0], "the one that died may have spent its token");
}

#[tokio::test]
async fn unreachable_refresh_does_not_delay_a_post_while_token_is_valid() {
    let rig = rig([RefreshFault::Unreachable]).await;
    let post = rig.schedule("Hello", noon()).await;

    goes_out(&rig, &post, noon()).await;

    assert_eq!((renewed(&rig), rig.network.public.lock().unwrap()[0].token.as_str()), (1, "first"));
}

#[tokio::test]
async fn unreachable_platform_does_not_lose_the_grant() {
    let rig = ending(noon(), [RefreshFault::Unreachable, RefreshFault::Unreachable]).await;
    let post = rig.schedule("Hello", noon()).await;

    rig.live(later(3)).await;
    assert!(!rig.connection(0).await.connection.needs_reconnection);
    assert_eq!(rig.network.calls(), 0);
    goes_out(&rig, &post, later(120)).await;

    assert_eq!(renewed(&rig), 3);
    assert_eq!(rig.stored_credentials(0).await.refresh_token.unwrap().expose_secret(), "renew");
}

#[tokio::test]
async fn unreachable_platform_is_tried_less_often_over_time() {
    let rig = ending(noon(), vec![RefreshFault::Unreachable; 2000]).await;
    rig.schedule("Hello", noon()).await;

    rig.live(later(3600)).await;

    assert!(20 < renewed(&rig) && renewed(&rig) < 80, "{}", renewed(&rig));
}

#[tokio::test]
async fn temporarily_failed_refresh_is_due_again_soon() {
    let rig = rig([RefreshFault::Unreachable]).await;

    assert_eq!(rig.publishing.credential_service().refresh_due(&rig.renewable).await.unwrap(), 0);
    assert_eq!(rig.publishing.credential_service().refresh_due(&rig.renewable).await.unwrap(), 0);
    assert_eq!(renewed(&rig), 1, "not at once");
    rig.clock.advance(TimeDelta::hours(1));
    assert_eq!(rig.publishing.credential_service().refresh_due(&rig.renewable).await.unwrap(), 1);

    assert_eq!(
        rig.publishing.credential_service().refresh_due(&rig.renewable).await.unwrap(),
        0,
        "and then not before it ends again"
    );
}

#[tokio::test]
async fn expired_token_is_refreshed_before_the_due_second() {
    let mut rig = rig([]).await;
    let clock = rig.clock.clone();
    // The duration of a refresh.
    let on_renewal = Some(Box::new(move || clock.advance(TimeDelta::milliseconds(700))) as _);
    rig.be(Network { renewal: Model::Rotating, on_renewal, ..Network::default() });
    let due = later(3600);
    let post = rig.schedule("Hello", due).await;
    let message = DeliveryMessage::about(&rig.delivery(&post).await);
    rig.clock.skip_to(due - TimeDelta::seconds(1));

    rig.deliver(message, 1).await;

    assert_eq!((renewed(&rig), rig.network.calls.lock().unwrap().clone()), (1, vec![due]));
}

#[tokio::test]
async fn refresh_for_a_call_keeps_the_time_of_the_weekly_check() {
    for renewal in [RefreshFault::Rotated, RefreshFault::Unreachable] {
        let rig = rig([renewal]).await;
        let next_step_at = noon() + TimeDelta::days(2);
        rig.store.postpone_refresh(&rig.grant(0).await, Some(next_step_at)).await.unwrap();

        let _ = given(&rig, &rig.connection(0).await).await;

        assert_eq!((renewed(&rig), rig.grant(0).await.refresh_at), (1, Some(next_step_at)));
    }
}
