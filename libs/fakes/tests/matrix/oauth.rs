//! Sign-in with OAuth 2.0.

use std::collections::BTreeMap;

use fakes::matrix::{Matrix, USER};
use platforms::conformance::adapter_harness::{AdapterHarness, ORIGIN};
use platforms::conformance::fake_platform::{Call, Decision, FakePlatform, InjectedFault};
use platforms::{AuthorizeStep, ConnectError, FieldValues, RefreshError};
use secrecy::ExposeSecret;
use serde_json::json;
use url::Url;

type Homeserver = Matrix<true>;

async fn page(harness: &AdapterHarness<Homeserver>) -> Url {
    let (step, _) = harness.authorize(&harness.fake.form_values()).await.unwrap();
    let AuthorizeStep::Redirect { url, .. } = step else { panic!("{step:?}") };
    url.parse().unwrap()
}

fn parameters(page: &Url) -> BTreeMap<String, String> {
    page.query_pairs().into_owned().collect()
}

#[tokio::test]
async fn this_service_is_registered_for_one_homeserver_and_each_account_is_a_device() {
    let harness = AdapterHarness::<Homeserver>::new().await;
    let (first, second) = (parameters(&page(&harness).await), parameters(&page(&harness).await));

    let redirect_uri = &first["redirect_uri"];
    assert!(redirect_uri.starts_with(&format!("{ORIGIN}/connect/callback/matrix/")), "{redirect_uri}");
    let registered = json!({
        "client_name": "Social Publishing", "client_uri": ORIGIN, "redirect_uris": [redirect_uri],
        "token_endpoint_auth_method": "none", "response_types": ["code"],
        "grant_types": ["authorization_code", "refresh_token"], "application_type": "web",
    });
    assert_eq!(harness.fake.clients(), [registered], "the same for both");
    assert_eq!(first["client_id"], second["client_id"]);
    assert_eq!((first["response_mode"].as_str(), first["code_challenge_method"].as_str()), ("query", "S256"));
    let device = |of: &BTreeMap<String, String>| {
        of["scope"].strip_prefix("urn:matrix:client:api:* urn:matrix:client:device:").map(str::to_owned).unwrap()
    };
    assert_ne!(device(&first), device(&second));
    let account = harness.connect().await;
    assert_eq!(
        (account.profile.account_id.as_str(), &account.scopes[..]),
        (USER, &["urn:matrix:client:api:*".to_owned()][..])
    );
}

#[tokio::test]
async fn an_answer_of_another_issuer_connects_nothing() {
    for promises in [false, true] {
        let harness = AdapterHarness::<Homeserver>::new().await;
        if promises {
            harness.fake.names_itself();
        }
        let own = format!("{}/", harness.fake.base_url());
        for (iss, is_taken) in [(None, !promises), (Some("https://honest.example/"), false), (Some(own.as_str()), true)]
        {
            let mut callback = harness.callback_after(Decision::Allow).await;
            let before = harness.fake.call_count(Call::Exchange);
            callback.query.remove("iss");
            callback.query.extend(iss.map(|it| ("iss".to_owned(), it.to_owned())));

            let connected = harness.complete(&callback).await;

            assert_eq!(connected.is_ok(), is_taken, "promises: {promises}, {iss:?}: {connected:?}");
            assert_eq!(harness.fake.call_count(Call::Exchange) - before, usize::from(is_taken), "{iss:?}");
        }
    }
}

#[tokio::test]
async fn a_user_of_another_domain_is_not_connected() {
    let harness = AdapterHarness::<Homeserver>::new().await;
    let typed = [("user", "@captain:harbour.example"), ("homeserver", &harness.fake.base_url())];
    let values: FieldValues = typed.map(|(name, it)| (name.to_owned(), it.into())).into();
    let (step, callback) = harness.authorize(&values).await.unwrap();
    let AuthorizeStep::Redirect { url, .. } = step else { panic!("{step:?}") };
    let back = harness.fake.redirect_url(&url, Decision::Allow).await;

    let refusal =
        harness.complete(&platforms::conformance::adapter_harness::callback_at(callback, &back)).await.unwrap_err();

    assert!(matches!(refusal, ConnectError::Refused(_)), "{refusal:?}");
    assert_eq!(harness.fake.grant_count(), 0, "its tokens are revoked");
}

#[tokio::test]
async fn a_renewal_whose_answer_is_lost_is_repeated() {
    let harness = AdapterHarness::<Homeserver>::new().await;
    let account = harness.connect().await;
    harness.fake.inject_fault(Call::Refresh, InjectedFault::LoseResponse, 1);
    let lost = harness.refresh().await.map(|_| ()).unwrap_err();
    assert!(matches!(lost, RefreshError::Unreachable(_)), "{lost:?}");

    let renewed = harness.refresh().await.unwrap();

    let mut post = harness.post(&account, "by the tokens of the second answer", Vec::new());
    harness.deliver(&mut post).await.unwrap();
    assert_ne!(
        renewed.refresh_token.unwrap().expose_secret(),
        account.credentials.refresh_token.as_ref().unwrap().expose_secret()
    );
    let spent = harness.publisher().refresh(&account.credentials, harness.clock.now()).await.map(|_| ()).unwrap_err();
    assert!(matches!(spent, RefreshError::Gone(_)), "{spent:?}");
}

/// Homeservers delete only clients without a session.
#[tokio::test]
async fn a_homeserver_that_forgot_this_service_has_ended_its_sessions() {
    let harness = AdapterHarness::<Homeserver>::new().await;
    harness.connect().await;
    harness.fake.forget_clients();

    let refusal = harness.refresh().await.map(|_| ()).unwrap_err();

    assert!(matches!(refusal, RefreshError::Gone(_)), "{refusal:?}");
    harness.connect().await;
}

#[tokio::test]
async fn a_homeserver_that_does_not_register_this_service_asks_for_a_token() {
    let harness = AdapterHarness::<Homeserver>::new().await;
    harness.fake.registers_nobody();

    let refusal = harness.authorize(&harness.fake.form_values()).await.map(|it| it.0).unwrap_err();

    let ConnectError::Field { name: "password", message } = refusal else { panic!("{refusal:?}") };
    assert!(message.ends_with("Paste an access token."), "{message}");
    let mut values = harness.fake.form_values();
    values.insert("password".to_owned(), harness.fake.own_token().into());
    let (step, _) = harness.authorize(&values).await.unwrap();
    assert!(matches!(step, AuthorizeStep::Accounts(_)), "{step:?}");
}

#[tokio::test]
async fn a_password_is_not_taken_where_the_page_does() {
    let harness = AdapterHarness::<Homeserver>::new().await;
    let mut values = harness.fake.form_values();
    values.insert("password".to_owned(), "a password".into());

    let refusal = harness.authorize(&values).await.map(|it| it.0).unwrap_err();

    let ConnectError::Field { name: "password", message } = refusal else { panic!("{refusal:?}") };
    assert!(message.contains("Leave this field empty"), "{message}");
}
