//! Sign-in with OAuth 2.0.

use std::collections::BTreeMap;

use fakes::conformance::adapter_harness::ORIGIN;
use fakes::matrix::{Matrix, USER};
use url::Url;

use super::typed;
use crate::prelude::*;

type Homeserver = Matrix<true>;

/// The parameters of the page to which the user is redirected.
async fn page(harness: &AdapterHarness<Homeserver>) -> BTreeMap<String, String> {
    let (url, _) = page_for(harness, &harness.fake.form_values()).await;
    Url::parse(&url).unwrap().query_pairs().into_owned().collect()
}

#[tokio::test]
async fn client_is_registered_once_per_homeserver_and_has_a_device_per_account() {
    let harness = AdapterHarness::<Homeserver>::new().await;
    let (first, second) = (page(&harness).await, page(&harness).await);

    let redirect_uri = &first["redirect_uri"];
    assert!(redirect_uri.starts_with(&format!("{ORIGIN}/connect/callback/matrix/")), "{redirect_uri}");
    let registered = json!({
        "client_name": "Social Publishing", "client_uri": ORIGIN, "redirect_uris": [redirect_uri],
        "token_endpoint_auth_method": "none", "response_types": ["code"],
        "grant_types": ["authorization_code", "refresh_token"], "application_type": "web",
    });
    assert_eq!(harness.fake.clients(), [registered], "the same for both");
    assert_eq!(first["client_id"], second["client_id"]);
    assert_ne!(first["scope"], second["scope"], "each is a device");
    let account = harness.connect().await;
    assert_eq!((account.profile.account_id.as_str(), account.scopes.len()), (USER, 1));
}

#[tokio::test]
async fn callback_of_another_issuer_connects_nothing() {
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
    let values: FieldValues = typed("@captain:harbour.example", "", &harness.fake.base_url());
    let (url, callback) = page_for(&harness, &values).await;
    let back = harness.fake.redirect_url(&url, Decision::Allow).await;

    assert_matches!(harness.complete(&callback_at(callback, &back)).await, Err(ConnectError::Refused(_)));
    assert_eq!(harness.fake.grant_count(), 0, "its tokens are revoked");
}

/// Homeservers delete only clients without a session.
#[tokio::test]
async fn homeserver_without_our_client_has_ended_its_sessions() {
    let harness = AdapterHarness::<Homeserver>::new().await;
    harness.connect().await;
    harness.fake.faults().respond_with(Method::POST, "/oauth2/token", 401, json!({ "error": "invalid_client" }), 1);

    assert_matches!(harness.refresh().await.map(|_| ()).unwrap_err(), RefreshError::Gone(_));
}

#[tokio::test]
async fn homeserver_without_registration_needs_a_token() {
    let harness = AdapterHarness::<Homeserver>::new().await;
    let refused = json!({ "error": "invalid_client_metadata", "error_description": "Requester isn't allowed" });
    harness.fake.faults().respond_with(Method::POST, "/oauth2/registration", 400, refused, 1);

    let (name, message) = field_error(&harness, &harness.fake.form_values()).await;

    assert!(name == "password" && message.ends_with("Paste an access token."), "{message}");
    account_for(&harness, &typed(USER, &harness.fake.own_token(), &harness.fake.base_url())).await;
}

#[tokio::test]
async fn password_is_refused_where_there_is_a_page() {
    let harness = AdapterHarness::<Homeserver>::new().await;

    let (name, message) = field_error(&harness, &typed(USER, "a password", &harness.fake.base_url())).await;

    assert!(name == "password" && message.contains("Leave this field empty"), "{message}");
}
