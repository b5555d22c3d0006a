//! Grants: proofs, renewal, and their end.

use chrono::TimeDelta;
use domain::delivery::AttemptError;
use networks::bluesky::Bluesky;
use platforms::conformance::network::{Call, InjectedFault, Network};
use platforms::conformance::stage::Stage;
use platforms::{Account, AuthorizeStep, RefreshError};
use secrecy::ExposeSecret;

use crate::connected;

async fn with_app_password() -> (Stage<Bluesky>, Account) {
    let stage = Stage::<Bluesky>::new().await;
    let answers = stage.fake.direct_form_values().unwrap();
    let (step, _) = stage.authorize(&answers).await.unwrap();
    let AuthorizeStep::Accounts(mut accounts) = step else { panic!("{step:?}") };
    let account = accounts.remove(0);
    stage.store_credentials(&account.credentials);
    (stage, account)
}

#[tokio::test]
async fn a_nonce_that_has_passed_costs_a_call_and_nothing_else() {
    let (stage, account) = connected().await;
    for text in ["one", "two", "three"] {
        let post = stage.due(&account, text, Vec::new()).await;
        stage.clock.advance(TimeDelta::minutes(4));
        stage.publish(&post).await.unwrap();
    }
    assert_eq!(stage.fake.public_posts().len(), 3);
    assert_eq!(stage.fake.call_count(Call::Publish), 3, "a denied call does not count");
}

#[tokio::test]
async fn reused_refresh_token_ends_the_grant_with_an_error() {
    let (stage, account) = connected().await;
    let renewed = stage.refresh().await.unwrap();
    assert_eq!(
        renewed.extra.map(|it| it.expose_secret().to_owned()),
        account.credentials.extra.as_ref().map(|it| it.expose_secret().to_owned())
    );

    let replayed = stage.publisher().refresh(&account.credentials, stage.clock.now()).await.unwrap_err();

    assert!(matches!(replayed, RefreshError::Gone(_)), "{replayed:?}");
    assert_eq!(stage.fake.grant_count(), 0);
}

#[tokio::test]
async fn lost_refresh_response_does_not_end_the_grant() {
    let (stage, _) = connected().await;
    stage.fake.inject_fault(Call::Refresh, InjectedFault::LoseResponse, 1);
    assert!(matches!(stage.refresh().await.unwrap_err(), RefreshError::Unreachable(_)));
    assert!(matches!(stage.refresh().await.unwrap_err(), RefreshError::Gone(_)), "it was spent");
}

#[tokio::test]
async fn a_session_with_an_app_password_is_renewed_and_ended() {
    let (stage, account) = with_app_password().await;
    let ends = account.credentials.expires_at.unwrap() - stage.clock.now();
    assert_eq!(ends, TimeDelta::hours(2));
    stage.clock.advance(TimeDelta::hours(3));
    let mut post = stage.post(&account, "later", Vec::new());
    stage.deliver(&mut post).await.unwrap();

    let credentials = stage.credentials().await.unwrap();
    stage.connector().revoke(&credentials, stage.clock.now()).await.unwrap();
    assert!(matches!(stage.refresh().await.unwrap_err(), RefreshError::Gone(_)));
}

#[tokio::test]
async fn an_app_password_that_was_taken_away_is_known_as_gone() {
    let (stage, _) = with_app_password().await;
    stage.fake.revoke();
    assert!(matches!(stage.refresh().await.unwrap_err(), RefreshError::Gone(_)));
}

#[tokio::test]
async fn an_account_that_is_not_active_any_more_wants_its_person() {
    let (stage, account) = connected().await;
    let post = stage.due(&account, "too late", Vec::new()).await;
    stage.fake.deactivate();
    let error = stage.publish(&post).await.unwrap_err();
    assert!(matches!(error, AttemptError::Unauthorized { .. }), "{error:?}");

    stage.fake.reactivate();
    stage.publish(&post).await.unwrap();

    stage.fake.take_down();
    let error = stage.publish(&post).await.unwrap_err();
    assert!(matches!(error, AttemptError::Unauthorized { .. }), "{error:?}");
}

#[tokio::test]
async fn moved_account_gets_an_error() {
    let (stage, other) = Stage::<Bluesky>::with_second_fake().await;
    stage.connect().await;
    stage.fake.move_to(other.pds());
    let refusal = stage.refresh().await.unwrap_err();
    assert!(matches!(&refusal, RefreshError::Gone(words) if words.contains("moved to the server")), "{refusal:?}");

    let (stage, _) = with_app_password().await;
    stage.fake.move_to("https://new-home.example");
    let refusal = stage.refresh().await.unwrap_err();
    let words = "the account moved to the server new-home.example".to_owned();
    assert_eq!(refusal, RefreshError::Gone(words));
}

#[tokio::test]
async fn an_account_whose_new_server_cannot_be_asked_is_renewed_as_before() {
    let (stage, _) = connected().await;
    stage.fake.move_to("https://127.0.0.1:1");
    stage.refresh().await.unwrap();
}
