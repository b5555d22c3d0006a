//! The refresh and the end of grants.

use chrono::TimeDelta;
use domain::delivery::AttemptError;
use domain::media::MimeType;
use secrecy::ExposeSecret;

use crate::account::{Account, AccountDetails};
use crate::conformance::network::{Call, InjectedFault, Network};
use crate::conformance::samples::sample;
use crate::conformance::stage::Stage;
use crate::connect_flow::RefreshError;
use crate::refresh_policy::RefreshPolicy;

/// Credentials are refreshed several times, and the new ones work.
pub async fn expired_credentials_are_refreshed<N: Network>() {
    let stage = Stage::<N>::new().await;
    let account = stage.connect().await;
    if !stage.can_refresh() || stage.publisher().refresh_policy() == RefreshPolicy::Updating {
        return;
    }
    if stage.is_extending() {
        return check_extension_before_expiry(&stage, &account).await;
    }
    for round in 0..3 {
        let mut post = stage.post(&account, "ended", vec![sample(MimeType::Png, 1)]);
        stage.prepare_all(&mut post, &mut Vec::new()).await.unwrap();
        stage.fake.end_access_tokens();
        let ended = stage.publish(&post).await.unwrap_err();
        assert!(matches!(ended, AttemptError::Unauthorized { .. }), "{ended:?}");

        let old = stage.credentials().await.unwrap();
        let new = stage.refresh().await.unwrap();
        assert_ne!(new.access_token.expose_secret(), old.access_token.expose_secret());
        let mut post = stage.post(&account, &format!("round {round}"), vec![sample(MimeType::Png, 1)]);
        stage.deliver(&mut post).await.unwrap();
        stage.clock.advance(TimeDelta::minutes(45));
    }
    assert_eq!(stage.fake.public_posts().len(), 3);
}

/// For tokens that are exchanged for ones that last longer: the exchange works again and again in
/// time, and an expired token is gone.
async fn check_extension_before_expiry<N: Network>(stage: &Stage<N>, account: &Account) {
    for round in 0..3 {
        let old = stage.credentials().await.unwrap();
        stage.clock.skip_to(stage.publisher().refresh_policy().due_at(&old, stage.clock.now()));
        let new = stage.refresh().await.unwrap();
        assert!(old.expires_at < new.expires_at, "it lasts longer");
        let mut post = stage.post(account, &format!("round {round}"), vec![sample(MimeType::Png, 1)]);
        stage.deliver(&mut post).await.unwrap();
    }
    assert_eq!(stage.fake.public_posts().len(), 3);

    let mut post = stage.post(account, "ended", vec![sample(MimeType::Png, 1)]);
    stage.prepare_all(&mut post, &mut Vec::new()).await.unwrap();
    stage.fake.end_access_tokens();
    let ended = stage.publish(&post).await.unwrap_err();
    assert!(matches!(ended, AttemptError::Unauthorized { .. }), "{ended:?}");
    let error = stage.refresh().await.unwrap_err();
    assert!(matches!(error, RefreshError::Gone(_)), "{error:?}");
}

/// Account info stays as it was when the account was connected. For a revoked grant, the adapter
/// reports that, or nothing.
pub async fn account_info_stays_the_same<N: Network>() {
    let stage = Stage::<N>::new().await;
    let account = stage.connect().await;
    let read_details =
        async || stage.connector().about(&account.profile, &account.credentials, stage.clock.now()).await;

    let expected = AccountDetails { profile: account.profile.clone(), rules: account.rules.clone() };
    assert_eq!(read_details().await.unwrap(), Some(expected));
    stage.fake.revoke();
    let after = read_details().await;
    assert!(matches!(after, Ok(_) | Err(AttemptError::Unauthorized { .. })), "{after:?}");
}

/// Only the platform itself can end a grant.
pub async fn temporary_error_does_not_end_a_grant<N: Network>() {
    let stage = Stage::<N>::new().await;
    stage.connect().await;
    if stage.can_refresh() {
        check_temporary_refresh_errors(&stage).await;
    }
}

async fn check_temporary_refresh_errors<N: Network>(stage: &Stage<N>) {
    if stage.is_extending() {
        // Some platforms do not extend young tokens.
        stage.clock.advance(TimeDelta::days(2));
    }
    let limited = InjectedFault::RateLimited { retry_after: TimeDelta::seconds(30) };
    for fault in [
        InjectedFault::CutBefore,
        InjectedFault::ServerError,
        InjectedFault::Unavailable,
        InjectedFault::HtmlPage,
        limited,
    ] {
        if !stage.fake.can_fail(Call::Refresh, fault) {
            continue;
        }
        stage.fake.inject_fault(Call::Refresh, fault, 1);
        let error = stage.refresh().await.unwrap_err();
        assert!(matches!(error, RefreshError::Unreachable(_)), "{fault:?}: {error:?}");
    }
    stage.refresh().await.unwrap();
}

/// Then the user can be asked to reconnect the account.
pub async fn revoked_grant_is_reported_as_ended<N: Network>() {
    let stage = Stage::<N>::new().await;
    stage.connect().await;
    stage.fake.revoke();

    if stage.can_refresh() {
        let error = stage.refresh().await.unwrap_err();
        assert!(matches!(error, RefreshError::Gone(_)), "{error:?}");
    }
    assert_eq!(stage.fake.grant_count(), 0);
}

/// Disconnecting leaves no grant on the platform, and may be repeated.
pub async fn disconnecting_revokes_the_grant<N: Network>() {
    let stage = Stage::<N>::new().await;
    let account = stage.connect().await;
    if !stage.fake.revokes_grants() {
        return;
    }
    let mut post = stage.post(&account, "gone", vec![sample(MimeType::Png, 1)]);
    stage.prepare_all(&mut post, &mut Vec::new()).await.unwrap();
    let now = stage.clock.now();

    let credentials = stage.latest_credentials(&account);
    stage.connector().revoke(&credentials, now).await.unwrap();
    assert_eq!(stage.fake.grant_count(), 0);
    let _ = stage.connector().revoke(&credentials, now).await;

    let error = stage.publish(&post).await.unwrap_err();
    assert!(matches!(error, AttemptError::Unauthorized { .. }), "{error:?}");
    assert!(stage.fake.public_posts().is_empty());
}

/// Two users of a deployment connected one account, and the first disconnects it.
pub async fn grant_of_another_user_is_not_revoked<N: Network>() {
    let stage = Stage::<N>::new().await;
    let (first, second) = (stage.connect().await, stage.connect().await);

    if !stage.fake.revokes_grants() {
        return;
    }
    stage.disconnect(&first, &[&second]).await;

    let mut post = stage.post(&second, "still here", vec![sample(MimeType::Png, 1)]);
    stage.deliver(&mut post).await.unwrap();
    assert_eq!(stage.fake.public_posts().len(), 1);
    let third = stage.connect().await;
    stage.disconnect(&second, &[&third]).await;
    stage.disconnect(&third, &[]).await;
    assert_eq!(stage.fake.grant_count(), 0);
    let fourth = stage.connect().await;
    let mut post = stage.post(&fourth, "here again", vec![sample(MimeType::Png, 1)]);
    stage.deliver(&mut post).await.unwrap();
}

/// Like the grant of a platform's page, though the calls may differ.
pub async fn grant_without_page_is_refreshed_and_revoked<N: Network>() {
    let stage = Stage::<N>::new().await;
    if stage.connect_directly().await.is_none() || !stage.fake.revokes_direct_grants() {
        return;
    }
    if stage.can_refresh() {
        check_temporary_refresh_errors(&stage).await;
    }
    assert_eq!(stage.fake.grant_count(), 1);

    let credentials = stage.credentials().await.unwrap();
    stage.connector().revoke(&credentials, stage.clock.now()).await.unwrap();
    assert_eq!(stage.fake.grant_count(), 0);
}
