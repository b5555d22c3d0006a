//! Grants: `DPoP` proofs, refresh, and the end of a grant.

use chrono::TimeDelta;
use domain::delivery::AttemptError;
use fakes::bluesky::Bluesky;
use platforms::conformance::adapter_harness::AdapterHarness;
use platforms::conformance::fake_platform::{Call, FakePlatform, InjectedFault};
use platforms::{Account, AuthorizeStep, RefreshError};
use secrecy::ExposeSecret;

use crate::connected;

async fn with_app_password() -> (AdapterHarness<Bluesky>, Account) {
    let harness = AdapterHarness::<Bluesky>::new().await;
    let responses = harness.fake.direct_form_values().unwrap();
    let (step, _) = harness.authorize(&responses).await.unwrap();
    let AuthorizeStep::Accounts(mut accounts) = step else { panic!("{step:?}") };
    let account = accounts.remove(0);
    harness.store_credentials(&account.credentials);
    (harness, account)
}

#[tokio::test]
async fn a_nonce_that_has_passed_costs_a_call_and_nothing_else() {
    let (harness, account) = connected().await;
    for text in ["one", "two", "three"] {
        let post = harness.due(&account, text, Vec::new()).await;
        harness.clock.advance(TimeDelta::minutes(4));
        harness.publish(&post).await.unwrap();
    }
    assert_eq!(harness.fake.public_posts().len(), 3);
    assert_eq!(harness.fake.call_count(Call::Publish), 3, "a denied call does not count");
}

#[tokio::test]
async fn reused_refresh_token_ends_the_grant_with_an_error() {
    let (harness, account) = connected().await;
    let renewed = harness.refresh().await.unwrap();
    assert_eq!(
        renewed.extra.map(|it| it.expose_secret().to_owned()),
        account.credentials.extra.as_ref().map(|it| it.expose_secret().to_owned())
    );

    let replayed = harness.publisher().refresh(&account.credentials, harness.clock.now()).await.unwrap_err();

    assert!(matches!(replayed, RefreshError::Gone(_)), "{replayed:?}");
    assert_eq!(harness.fake.grant_count(), 0);
}

#[tokio::test]
async fn lost_refresh_response_does_not_end_the_grant() {
    let (harness, _) = connected().await;
    harness.fake.inject_fault(Call::Refresh, InjectedFault::LoseResponse, 1);
    assert!(matches!(harness.refresh().await.unwrap_err(), RefreshError::Unreachable(_)));
    assert!(matches!(harness.refresh().await.unwrap_err(), RefreshError::Gone(_)), "it was spent");
}

#[tokio::test]
async fn a_session_with_an_app_password_is_renewed_and_ended() {
    let (harness, account) = with_app_password().await;
    let ends = account.credentials.expires_at.unwrap() - harness.clock.now();
    assert_eq!(ends, TimeDelta::hours(2));
    harness.clock.advance(TimeDelta::hours(3));
    let mut post = harness.post(&account, "later", Vec::new());
    harness.deliver(&mut post).await.unwrap();

    let credentials = harness.credentials().await.unwrap();
    harness.connector().revoke(&credentials, harness.clock.now()).await.unwrap();
    assert!(matches!(harness.refresh().await.unwrap_err(), RefreshError::Gone(_)));
}

#[tokio::test]
async fn an_app_password_that_was_taken_away_is_known_as_gone() {
    let (harness, _) = with_app_password().await;
    harness.fake.revoke();
    assert!(matches!(harness.refresh().await.unwrap_err(), RefreshError::Gone(_)));
}

#[tokio::test]
async fn an_account_that_is_not_active_any_more_wants_its_person() {
    let (harness, account) = connected().await;
    let post = harness.due(&account, "too late", Vec::new()).await;
    harness.fake.change(|it| it.status = Some("deactivated"));
    let error = harness.publish(&post).await.unwrap_err();
    assert!(matches!(error, AttemptError::Unauthorized { .. }), "{error:?}");

    harness.fake.change(|it| it.status = None);
    harness.publish(&post).await.unwrap();

    harness.fake.change(|it| it.status = Some("takendown"));
    let error = harness.publish(&post).await.unwrap_err();
    assert!(matches!(error, AttemptError::Unauthorized { .. }), "{error:?}");
}

#[tokio::test]
async fn moved_account_gets_an_error() {
    let (harness, other) = AdapterHarness::<Bluesky>::with_second_fake().await;
    harness.connect().await;
    harness.fake.change(|it| it.moved_to = Some(other.pds()));
    let refusal = harness.refresh().await.unwrap_err();
    assert!(matches!(&refusal, RefreshError::Gone(words) if words.contains("moved to the server")), "{refusal:?}");

    let (harness, _) = with_app_password().await;
    harness.fake.change(|it| it.moved_to = Some("https://new-home.example".to_owned()));
    let refusal = harness.refresh().await.unwrap_err();
    let words = "the account moved to the server new-home.example".to_owned();
    assert_eq!(refusal, RefreshError::Gone(words));
}

#[tokio::test]
async fn an_account_whose_new_server_cannot_be_asked_is_renewed_as_before() {
    let (harness, _) = connected().await;
    harness.fake.change(|it| it.moved_to = Some("https://127.0.0.1:1".to_owned()));
    harness.refresh().await.unwrap();
}
