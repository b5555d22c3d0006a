//! Connecting accounts, and their grants.

use domain::token::{Pkce, random_token};
use fakes::bluesky::Bluesky;
use platforms::{AuthorizationRequest, CallbackUrls};
use secrecy::{ExposeSecret, SecretString};

use crate::prelude::*;

const PUBLIC: &str = "https://app.sps-loopback.dev";

fn typed(harness: &AdapterHarness<Bluesky>, handle: &str) -> FieldValues {
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
async fn account_is_found_by_all_its_names_and_its_server() {
    let harness = AdapterHarness::<Bluesky>::new().await;
    let (pds, issuer) = (harness.fake.pds(), harness.fake.issuer());
    for name in [Bluesky::HANDLE, Bluesky::DID, "@Alice.test", pds.as_str(), issuer.as_str()] {
        let (url, callback) = page_for(&harness, &typed(&harness, name)).await;
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
        assert_eq!(field_error(&harness, &typed(&harness, name)).await.0, "handle", "{name}");
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

    assert_matches!(&refusal, ConnectError::Refused(words) if words.contains("another account"));
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
        let (name, message) = field_error(&harness, &values).await;
        assert!(name == "app_password" && message.contains("App passwords"), "{name}: {message}");
        assert_eq!(harness.fake.grant_count(), 0);
    }
}

#[tokio::test]
async fn inactive_account_is_not_connected() {
    let harness = AdapterHarness::<Bluesky>::new().await;
    harness.fake.change(|it| it.status = Some("deactivated"));
    let values = harness.fake.direct_form_values().unwrap();
    assert_matches!(harness.authorize(&values).await.map(|(it, _)| it), Err(ConnectError::Refused(words))
        if words.contains("not active"));
}

/// The authorization request of a deployment at a public URL, and its PKCE verifier.
fn public_request() -> (AuthorizationRequest, SecretString) {
    let pkce = Pkce::random();
    let urls = CallbackUrls::new(PUBLIC, "bluesky");
    (AuthorizationRequest { state: random_token(), urls, challenge: pkce.challenge }, pkce.verifier)
}

/// Lets the server read the client document of these scopes.
async fn serve_document(harness: &AdapterHarness<Bluesky>, urls: &CallbackUrls, query: &str) -> Value {
    let url = format!("{}{query}", urls.client_document);
    let there = CallbackUrls { client_document: url.clone(), ..urls.clone() };
    let document = harness.connector().client_document(&there).await.unwrap().unwrap();
    harness.fake.add_client_document(&url, document.clone());
    document
}

#[tokio::test]
async fn public_deployment_has_a_client_document_and_a_key() {
    let harness = AdapterHarness::<Bluesky>::new().await;
    let platform = harness.connector();
    assert_eq!(platform.client_document(&harness.callback_urls()).await.unwrap(), None, "at loopback there is none");
    let (request, verifier) = public_request();
    let urls = request.urls.clone();
    let document = serve_document(&harness, &urls, "").await;
    assert_eq!(document["client_id"], urls.client_document);
    assert_eq!(platform.client_document(&urls).await.unwrap().unwrap(), document, "the key stays the same");
    assert_eq!(document["jwks"]["keys"][0]["d"], json!(null));

    let step = platform.authorize(&harness.fake.form_values(), &request, harness.clock.now()).await.unwrap();
    let AuthorizeStep::Redirect { url, memory } = step else { panic!("{step:?}") };
    let query = harness.fake.redirect_query(&url, Decision::Allow).await;
    let arrived_at = urls.redirect_uri.clone();
    let callback = Callback { query, arrived_at, verifier, urls, adapter_state: memory };
    let account = harness.complete(&callback).await.unwrap().remove(0);

    harness.store_credentials(&account.credentials);
    let credentials = harness.refresh().await.unwrap();
    harness.deliver(&mut harness.post(&account, "by a confidential client", Vec::new())).await.unwrap();
    platform.revoke(&credentials, harness.clock.now()).await.unwrap();
    assert_eq!(harness.fake.grant_count(), 0);
}

#[tokio::test]
async fn server_without_narrow_scopes_gets_a_request_for_broad_ones() {
    let harness = AdapterHarness::<Bluesky>::new().await;
    harness.fake.change(|it| it.is_old = true);

    let account = harness.connect().await;

    assert_eq!(account.scopes, ["atproto", "transition:generic"]);
    harness.deliver(&mut harness.post(&account, "by an old server", vec![sample(MimeType::Mp4, 1)])).await.unwrap();
    assert_eq!(harness.fake.public_posts().len(), 1);
    harness.refresh().await.unwrap();
}

#[tokio::test]
async fn server_without_narrow_scopes_reads_a_document_of_its_own() {
    let harness = AdapterHarness::<Bluesky>::new().await;
    harness.fake.change(|it| it.is_old = true);
    let (request, _) = public_request();
    for query in ["", "?scope=everything"] {
        serve_document(&harness, &request.urls, query).await;
    }

    let step = harness.connector().authorize(&harness.fake.form_values(), &request, harness.clock.now()).await.unwrap();

    let AuthorizeStep::Redirect { url, .. } = step else { panic!("{step:?}") };
    assert!(url.contains("%2Fconnect%2Fclient%2Fbluesky%3Fscope%3Deverything"), "{url}");
}

#[tokio::test]
async fn unreadable_document_is_no_reason_to_request_more() {
    let harness = AdapterHarness::<Bluesky>::new().await;
    let (request, _) = public_request();
    serve_document(&harness, &request.urls, "?scope=everything").await;

    let step = harness.connector().authorize(&harness.fake.form_values(), &request, harness.clock.now()).await;

    assert_matches!(&step, Err(ConnectError::Refused(message)) if message.contains("Unable to obtain client metadata"));
}

#[tokio::test]
async fn moved_account_gets_an_error() {
    let (harness, other) = AdapterHarness::<Bluesky>::with_second_fake().await;
    harness.connect().await;
    harness.fake.change(|it| it.moved_to = Some(other.pds()));
    assert_matches!(harness.refresh().await, Err(RefreshError::Gone(words)) if words.contains("moved to the server"));

    let harness = AdapterHarness::<Bluesky>::new().await;
    harness.connect_directly().await.unwrap();
    harness.fake.change(|it| it.moved_to = Some("https://new-home.example".to_owned()));
    let refusal = harness.refresh().await.unwrap_err();
    let words = "the account moved to the server new-home.example".to_owned();
    assert_eq!(refusal, RefreshError::Gone(words));
}

#[tokio::test]
async fn account_with_an_unreachable_new_server_is_refreshed_as_before() {
    let (harness, _) = connected::<Bluesky>().await;
    harness.fake.change(|it| it.moved_to = Some("https://127.0.0.1:1".to_owned()));
    harness.refresh().await.unwrap();
}
