//! Connecting accounts, and their grants.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use domain::media::MimeType;
use domain::token::{Pkce, random_token};
use fakes::bluesky::Bluesky;
use platforms::conformance::adapter_harness::{AdapterHarness, callback_at};
use platforms::conformance::fake_platform::{Call, Decision, FakePlatform};
use platforms::conformance::samples::sample;
use platforms::{AuthorizationRequest, AuthorizeStep, Callback, CallbackUrls, ConnectError, RefreshError};
use secrecy::ExposeSecret;
use serde_json::json;

use crate::connected;

/// The public URL of a deployment.
const PUBLIC: &str = "https://app.sps-loopback.dev";

fn typed(harness: &AdapterHarness<Bluesky>, handle: &str) -> platforms::FieldValues {
    let mut values = harness.fake.form_values();
    values.insert("handle".to_owned(), handle.into());
    values
}

#[tokio::test]
async fn without_an_appview_the_account_is_the_same() {
    let harness = AdapterHarness::<Bluesky>::new().await;
    harness.fake.change(|it| it.has_app_view = false);
    let account = harness.connect().await;
    assert_eq!(account.profile.username.as_deref(), Some(Bluesky::HANDLE));
}

#[tokio::test]
async fn every_name_of_an_account_and_its_server_lead_to_it() {
    let harness = AdapterHarness::<Bluesky>::new().await;
    let (pds, issuer) = (harness.fake.pds(), harness.fake.issuer());
    for name in [Bluesky::HANDLE, Bluesky::DID, "@Alice.test", pds.as_str(), issuer.as_str()] {
        let (step, callback) = harness.authorize(&typed(&harness, name)).await.unwrap();
        let AuthorizeStep::Redirect { url, .. } = step else { panic!("{step:?}") };
        let back = harness.fake.redirect_url(&url, Decision::Allow).await;

        let account = harness.complete(&callback_at(callback, &back)).await.unwrap().remove(0);

        let profile = &account.profile;
        assert_eq!(profile.account_id, Bluesky::DID, "{name}");
        assert_eq!(profile.username.as_deref(), Some(Bluesky::HANDLE), "{name}");
        assert_eq!(profile.profile_url, Some(format!("https://bsky.app/profile/{}", Bluesky::DID)));
        assert!(account.scopes.iter().any(|it| it == "repo:app.bsky.feed.post"), "{:?}", account.scopes);
    }
}

#[tokio::test]
async fn unknown_handle_gets_a_hint() {
    let harness = AdapterHarness::<Bluesky>::new().await;
    for name in ["nobody.test", "alice", "did:plc:aaaaaaaaaaaaaaaaaaaaaaaa"] {
        let refusal = harness.authorize(&typed(&harness, name)).await.map(|(it, _)| it).unwrap_err();
        assert!(matches!(refusal, ConnectError::Field { name: "handle", .. }), "{name}: {refusal:?}");
    }
}

#[tokio::test]
async fn tokens_of_another_account_are_revoked() {
    let harness = AdapterHarness::<Bluesky>::new().await;
    let callback = harness.callback_after(Decision::Allow).await;
    let memory = callback.adapter_state.clone().unwrap();
    let of_another = memory.expose_secret().replace(Bluesky::DID, Bluesky::OTHER_DID);
    assert_ne!(memory.expose_secret(), of_another);

    let refusal = harness.complete(&Callback { adapter_state: Some(of_another.into()), ..callback }).await.unwrap_err();

    assert!(matches!(&refusal, ConnectError::Refused(words) if words.contains("another account")), "{refusal:?}");
    assert_eq!(harness.fake.call_count(Call::Exchange), 1);
    assert_eq!(harness.fake.grant_count(), 0, "they were revoked");
}

#[tokio::test]
async fn main_password_is_refused() {
    let harness = AdapterHarness::<Bluesky>::new().await;
    let mut values = harness.fake.form_values();
    values.insert("app_password".to_owned(), Bluesky::MAIN_PASSWORD.into());
    for second_factor in [false, true] {
        harness.fake.change(|it| it.needs_second_factor = second_factor);
        let refusal = harness.authorize(&values).await.map(|(it, _)| it).unwrap_err();
        let ConnectError::Field { name: "app_password", message } = refusal else { panic!("{refusal:?}") };
        assert!(message.contains("App passwords"), "{message}");
        assert_eq!(harness.fake.grant_count(), 0);
    }
}

#[tokio::test]
async fn an_account_that_is_not_active_is_not_connected() {
    let harness = AdapterHarness::<Bluesky>::new().await;
    harness.fake.change(|it| it.status = Some("deactivated"));
    let values = harness.fake.direct_form_values().unwrap();
    let refusal = harness.authorize(&values).await.map(|(it, _)| it).unwrap_err();
    assert!(matches!(&refusal, ConnectError::Refused(words) if words.contains("not active")), "{refusal:?}");
}

#[tokio::test]
async fn a_deployment_that_everybody_can_reach_has_a_document_and_a_key() {
    let harness = AdapterHarness::<Bluesky>::new().await;
    let platform = harness.connector();
    assert_eq!(platform.client_document(&harness.callback_urls()).await.unwrap(), None, "at loopback there is none");
    let here = CallbackUrls::new(PUBLIC, "bluesky");
    let document = platform.client_document(&here).await.unwrap().unwrap();
    assert_eq!(document["client_id"], here.client_document);
    assert_eq!(platform.client_document(&here).await.unwrap().unwrap(), document, "the key stays the same");
    assert_eq!(document["jwks"]["keys"][0]["d"], json!(null));
    harness.fake.add_client_document(&here.client_document, document);

    let pkce = Pkce::random();
    let request = AuthorizationRequest { state: random_token(), urls: here.clone(), challenge: pkce.challenge.clone() };
    let step = platform.authorize(&harness.fake.form_values(), &request, harness.clock.now()).await.unwrap();
    let AuthorizeStep::Redirect { url, memory } = step else { panic!("{step:?}") };
    let query: BTreeMap<String, String> = harness.fake.redirect_query(&url, Decision::Allow).await;
    let arrived_at = here.redirect_uri.clone();
    let callback = Callback { query, arrived_at, verifier: pkce.verifier, urls: here, adapter_state: memory };
    let account = harness.complete(&callback).await.unwrap().remove(0);

    harness.store_credentials(&account.credentials);
    harness.refresh().await.unwrap();
    let mut post = harness.post(&account, "by a confidential client", Vec::new());
    harness.deliver(&mut post).await.unwrap();
    assert_eq!(harness.fake.public_posts().len(), 1);
    let credentials = harness.credentials().await.unwrap();
    platform.revoke(&credentials, harness.clock.now()).await.unwrap();
    assert_eq!(harness.fake.grant_count(), 0);
}

#[tokio::test]
async fn a_server_without_narrow_scopes_is_asked_for_what_it_knows() {
    let harness = AdapterHarness::<Bluesky>::new().await;
    harness.fake.change(|it| it.is_old = true);

    let account = harness.connect().await;

    assert_eq!(account.scopes, ["atproto", "transition:generic"]);
    let mut post = harness.post(&account, "by an old server", vec![sample(MimeType::Mp4, 1)]);
    harness.deliver(&mut post).await.unwrap();
    assert_eq!(harness.fake.public_posts().len(), 1);
    harness.refresh().await.unwrap();
}

#[tokio::test]
async fn a_server_without_narrow_scopes_reads_a_document_of_its_own() {
    let harness = AdapterHarness::<Bluesky>::new().await;
    harness.fake.change(|it| it.is_old = true);
    let platform = harness.connector();
    let here = CallbackUrls::new(PUBLIC, "bluesky");
    for query in ["", "?scope=everything"] {
        let client_document = format!("{}{query}", here.client_document);
        let there = CallbackUrls { client_document: client_document.clone(), ..here.clone() };
        harness.fake.add_client_document(&client_document, platform.client_document(&there).await.unwrap().unwrap());
    }
    let challenge = Pkce::random().challenge;
    let request = AuthorizationRequest { state: random_token(), urls: here, challenge };

    let step = platform.authorize(&harness.fake.form_values(), &request, harness.clock.now()).await.unwrap();

    let AuthorizeStep::Redirect { url, .. } = step else { panic!("{step:?}") };
    assert!(
        url.contains("client_id=https%3A%2F%2Fapp.sps-loopback.dev%2Fconnect%2Fclient%2Fbluesky%3Fscope%3Deverything"),
        "{url}"
    );
}

#[tokio::test]
async fn a_document_that_a_server_cannot_read_is_no_reason_to_ask_for_more() {
    let harness = AdapterHarness::<Bluesky>::new().await;
    let platform = harness.connector();
    let here = CallbackUrls::new(PUBLIC, "bluesky");
    // The server could read this document.
    let wide = CallbackUrls { client_document: format!("{}?scope=everything", here.client_document), ..here.clone() };
    let document = platform.client_document(&wide).await.unwrap().unwrap();
    harness.fake.add_client_document(&wide.client_document, document);
    let challenge = Pkce::random().challenge;
    let request = AuthorizationRequest { state: random_token(), urls: here, challenge };

    let step = platform.authorize(&harness.fake.form_values(), &request, harness.clock.now()).await;

    let Err(ConnectError::Refused(words)) = step else { panic!("{step:?}") };
    assert!(words.contains("Unable to obtain client metadata"), "{words}");
}

#[tokio::test]
async fn a_session_with_an_app_password_is_renewed_and_ended() {
    let harness = AdapterHarness::<Bluesky>::new().await;
    let account = harness.connect_directly().await.unwrap();
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
async fn moved_account_gets_an_error() {
    let (harness, other) = AdapterHarness::<Bluesky>::with_second_fake().await;
    harness.connect().await;
    harness.fake.change(|it| it.moved_to = Some(other.pds()));
    let refusal = harness.refresh().await.unwrap_err();
    assert!(matches!(&refusal, RefreshError::Gone(words) if words.contains("moved to the server")), "{refusal:?}");

    let harness = AdapterHarness::<Bluesky>::new().await;
    harness.connect_directly().await.unwrap();
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
