//! The refresh and the end of grants.

use chrono::TimeDelta;
use domain::delivery::AttemptError;
use platforms::{Account, AccountDetails, RefreshError, RefreshPolicy};
use secrecy::ExposeSecret;

use super::troubles::WITHOUT_EFFECT;
use crate::conformance::adapter_harness::AdapterHarness;
use crate::conformance::fake_platform::{Call, StartFake};
use crate::conformance::samples::sample;

/// Credentials are refreshed several times, and the new ones work.
pub async fn expired_credentials_are_refreshed(start: StartFake) {
    let harness = AdapterHarness::start(start).await;
    let account = harness.connect().await;
    if !harness.can_refresh() || harness.publisher().refresh_policy() == RefreshPolicy::Updating {
        return;
    }
    if harness.is_extending() {
        return check_extension_before_expiry(&harness, &account).await;
    }
    for round in 0..3 {
        let mut post = harness.post(&account, "ended", vec![sample(harness.main_type(&account), 1)]);
        harness.prepare_all(&mut post, &mut Vec::new()).await.unwrap();
        harness.fake.end_access_tokens();
        if harness.fake.publish_call_has_secrets() {
            let ended = harness.publish(&post).await.unwrap_err();
            assert!(matches!(ended, AttemptError::Unauthorized { .. }), "{ended:?}");
        }

        let old = harness.credentials().await.unwrap();
        let new = harness.refresh().await.unwrap();
        assert_ne!(new.access_token.expose_secret(), old.access_token.expose_secret());
        let mut post = harness.post(&account, &format!("round {round}"), vec![sample(harness.main_type(&account), 1)]);
        harness.deliver(&mut post).await.unwrap();
        harness.clock.advance(TimeDelta::minutes(45));
    }
    assert_eq!(harness.fake.public_posts().len(), 3);
}

/// For tokens that are exchanged for ones that last longer: the exchange works again and again in
/// time, and an expired token is gone.
async fn check_extension_before_expiry(harness: &AdapterHarness, account: &Account) {
    for round in 0..3 {
        let old = harness.credentials().await.unwrap();
        harness.clock.skip_to(harness.publisher().refresh_policy().due_at(&old, harness.clock.now()));
        let new = harness.refresh().await.unwrap();
        assert!(old.expires_at < new.expires_at, "it lasts longer");
        let mut post = harness.post(account, &format!("round {round}"), vec![sample(harness.main_type(account), 1)]);
        harness.deliver(&mut post).await.unwrap();
    }
    assert_eq!(harness.fake.public_posts().len(), 3);

    let mut post = harness.post(account, "ended", vec![sample(harness.main_type(account), 1)]);
    harness.prepare_all(&mut post, &mut Vec::new()).await.unwrap();
    harness.fake.end_access_tokens();
    let ended = harness.publish(&post).await.unwrap_err();
    assert!(matches!(ended, AttemptError::Unauthorized { .. }), "{ended:?}");
    let error = harness.refresh().await.unwrap_err();
    assert!(matches!(error, RefreshError::Gone(_)), "{error:?}");
}

/// Account info stays as it was when the account was connected. For a revoked grant, the adapter
/// reports that, or nothing.
pub async fn account_info_stays_the_same(start: StartFake) {
    let harness = AdapterHarness::start(start).await;
    let account = harness.connect().await;
    let read_details =
        async || harness.connector().account_details(&account.profile, &account.credentials, harness.clock.now()).await;

    let expected = AccountDetails { profile: account.profile.clone(), rules: account.rules.clone() };
    assert_eq!(read_details().await.unwrap(), Some(expected));
    harness.fake.revoke();
    let after = read_details().await;
    assert!(matches!(after, Ok(_) | Err(AttemptError::Unauthorized { .. })), "{after:?}");
}

/// Only the platform itself can end a grant.
pub async fn temporary_error_does_not_end_a_grant(start: StartFake) {
    let harness = AdapterHarness::start(start).await;
    harness.connect().await;
    if harness.can_refresh() {
        check_temporary_refresh_errors(&harness).await;
    }
}

async fn check_temporary_refresh_errors(harness: &AdapterHarness) {
    if harness.is_extending() {
        // Some platforms do not extend young tokens.
        harness.clock.advance(TimeDelta::days(2));
    }
    for fault in WITHOUT_EFFECT.into_iter().filter(|it| harness.fake.can_fail(Call::Refresh, *it)) {
        harness.fake.inject_fault(Call::Refresh, fault, 1);
        let error = harness.refresh().await.unwrap_err();
        assert!(matches!(error, RefreshError::Unreachable(_)), "{fault:?}: {error:?}");
    }
    harness.refresh().await.unwrap();
}

/// Then the user can be asked to reconnect the account.
pub async fn revoked_grant_is_reported_as_ended(start: StartFake) {
    let harness = AdapterHarness::start(start).await;
    harness.connect().await;
    harness.fake.revoke();

    if harness.can_refresh() {
        let error = harness.refresh().await.unwrap_err();
        assert!(matches!(error, RefreshError::Gone(_)), "{error:?}");
    }
    assert_eq!(harness.fake.grant_count(), 0);
}

/// Disconnecting leaves no grant on the platform, and may be repeated.
pub async fn disconnecting_revokes_the_grant(start: StartFake) {
    let harness = AdapterHarness::start(start).await;
    let account = harness.connect().await;
    if !harness.fake.revokes_grants() {
        return;
    }
    let mut post = harness.post(&account, "gone", vec![sample(harness.main_type(&account), 1)]);
    harness.prepare_all(&mut post, &mut Vec::new()).await.unwrap();
    let now = harness.clock.now();

    let credentials = harness.latest_credentials(&account);
    harness.connector().revoke(&credentials, now).await.unwrap();
    assert_eq!(harness.fake.grant_count(), 0);
    let _ = harness.connector().revoke(&credentials, now).await;

    if !harness.fake.publish_call_has_secrets() {
        return;
    }
    let error = harness.publish(&post).await.unwrap_err();
    assert!(matches!(error, AttemptError::Unauthorized { .. }), "{error:?}");
    assert!(harness.fake.public_posts().is_empty());
}

/// Two users of a deployment connected one account, and the first disconnects it.
pub async fn grant_of_another_user_is_not_revoked(start: StartFake) {
    let harness = AdapterHarness::start(start).await;
    let (first, second) = (harness.connect().await, harness.connect().await);

    if !harness.fake.revokes_grants() {
        return;
    }
    harness.disconnect(&first, &[&second]).await;

    let mut post = harness.post(&second, "still here", vec![sample(harness.main_type(&second), 1)]);
    harness.deliver(&mut post).await.unwrap();
    assert_eq!(harness.fake.public_posts().len(), 1);
    let third = harness.connect().await;
    harness.disconnect(&second, &[&third]).await;
    harness.disconnect(&third, &[]).await;
    assert_eq!(harness.fake.grant_count(), 0);
    let fourth = harness.connect().await;
    let mut post = harness.post(&fourth, "here again", vec![sample(harness.main_type(&fourth), 1)]);
    harness.deliver(&mut post).await.unwrap();
}

/// Like the grant of a platform's page, though the calls may differ.
pub async fn grant_without_page_is_refreshed_and_revoked(start: StartFake) {
    let harness = AdapterHarness::start(start).await;
    if harness.connect_directly().await.is_none() || !harness.fake.revokes_direct_grants() {
        return;
    }
    if harness.can_refresh() {
        check_temporary_refresh_errors(&harness).await;
    }
    assert_eq!(harness.fake.grant_count(), 1);

    let credentials = harness.credentials().await.unwrap();
    harness.connector().revoke(&credentials, harness.clock.now()).await.unwrap();
    assert_eq!(harness.fake.grant_count(), 0);
}
