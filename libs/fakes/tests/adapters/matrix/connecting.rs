//! Server discovery, connecting with a password or a token, and the rooms of an account.

use fakes::matrix::{ENCRYPTED, FURTHER_ROOMS, MAX_FILE_BYTES, Matrix, PASSWORD, ROOM, USER};
use secrecy::ExposeSecret;

use super::typed;
use crate::prelude::*;

const WELL_KNOWN: &str = "/.well-known/matrix/client";

const LOGIN: &str = "/client/v3/login";

#[tokio::test]
async fn account_has_its_info_and_the_password_is_not_stored() {
    let (_, account) = connected::<Matrix>().await;

    assert_eq!(account.profile.account_id, USER);
    // Any server can claim this account, so the grant is of the server that has the password.
    assert!(account.grant_name().starts_with(&format!("{USER} at http")), "{}", account.grant_name());
    assert_eq!(account.profile.username.as_deref(), Some("keeper:lighthouse.example"));
    assert_eq!(account.profile.display_name.as_deref(), Some("The keeper"));
    assert_eq!(account.profile.profile_url.as_deref(), Some("https://matrix.to/#/@keeper:lighthouse.example"));
    assert!(!account.credentials.to_bytes().expose_secret().contains(PASSWORD));
    assert!(serde_json::to_string(&account.rules).unwrap().contains(&format!("{MAX_FILE_BYTES}")));
}

#[tokio::test]
async fn homeserver_is_found_by_its_domain() {
    for moves in [false, true] {
        let (harness, domain) = AdapterHarness::<Matrix>::with_second_fake().await;
        let document = json!({ "m.homeserver": { "base_url": format!("{}/", harness.fake.base_url()) } });
        if moves {
            domain.faults().respond_with(Method::GET, WELL_KNOWN, 301, "/elsewhere".into(), 1);
        }
        domain.faults().respond_with(Method::GET, if moves { "/elsewhere" } else { WELL_KNOWN }, 200, document, 1);

        let account = account_for(&harness, &typed(USER, PASSWORD, &domain.base_url())).await;

        assert_eq!((harness.fake.grant_count(), domain.grant_count()), (1, 0), "moves: {moves}");
        harness.store_credentials(&account.credentials);
        harness.deliver(&mut harness.post(&account, "hello", Vec::new())).await.unwrap();
        assert_eq!(harness.fake.public_posts().len(), 1);
    }
}

#[tokio::test]
async fn domain_leads_to_no_private_address() {
    let harness = AdapterHarness::<Matrix>::new().await;
    let here = harness.fake.base_url();
    for inside in ["http://169.254.169.254", "http://127.0.0.1:1", "https://localhost", "http://example.com"] {
        let document = json!({ "m.homeserver": { "base_url": inside } });
        harness.fake.faults().respond_with(Method::GET, WELL_KNOWN, 200, document, 1);

        let (name, message) = field_error(&harness, &typed(USER, PASSWORD, &here)).await;

        assert_eq!(name, "homeserver", "{inside}: {message}");
    }
    for (target, calls) in [(&*format!("http://169.254.169.254{WELL_KNOWN}"), 1), (WELL_KNOWN, 4)] {
        harness.fake.faults().respond_with(Method::GET, WELL_KNOWN, 301, target.into(), calls);
        // Without a usable discovery document, the server name itself is the homeserver.
        account_for(&harness, &typed(USER, PASSWORD, &here)).await;
        assert_eq!(harness.fake.faults().left(), 0, "{target}");
    }
}

#[tokio::test]
async fn invalid_input_is_an_error_of_its_field() {
    let harness = AdapterHarness::<Matrix>::new().await;
    let here = harness.fake.base_url();
    let token = harness.fake.own_token();
    for (user, password, homeserver, field) in [
        ("keeper", PASSWORD, here.as_str(), "user"),
        ("@keeper:lighthouse.invalid", PASSWORD, "", "user"),
        ("@captain:lighthouse.example", &token, here.as_str(), "user"),
        (USER, "wrong", here.as_str(), "password"),
        (USER, " ", here.as_str(), "password"),
        (USER, "a-token-that-nobody-has-ever-seen", here.as_str(), "password"),
        (USER, PASSWORD, "not an address", "homeserver"),
        (USER, PASSWORD, "http://127.0.0.1:1", "homeserver"),
    ] {
        let (name, message) = field_error(&harness, &typed(user, password, homeserver)).await;
        assert_eq!(name, field, "{user} {homeserver}: {message}");
        assert!(!message.contains(password) || password == " ", "{message}");
    }
}

/// A homeserver may support only OAuth 2.0: then the calls of the older login do not exist, or list
/// no flow.
#[tokio::test]
async fn homeserver_with_sign_in_by_page_only_needs_an_access_token() {
    let missing = json!({ "errcode": "M_UNRECOGNIZED", "error": "Unrecognized request" });
    for (status, flows) in [(200, json!({ "flows": [] })), (404, missing.clone())] {
        let harness = AdapterHarness::<Matrix>::new().await;
        harness.fake.faults().respond_with(Method::GET, LOGIN, status, flows, 1);
        harness.fake.faults().respond_with(Method::POST, LOGIN, 404, missing.clone(), 1);
        for password in ["", PASSWORD] {
            let (name, message) = field_error(&harness, &typed(USER, password, &harness.fake.base_url())).await;

            assert_eq!(name, "password", "{message}");
            for part in ["own page", "Paste an access token"] {
                assert!(message.contains(part), "{status} {password}: {message}");
            }
        }
    }
}

#[tokio::test]
async fn device_of_a_pasted_token_is_not_logged_out() {
    let harness = AdapterHarness::<Matrix>::new().await;
    let token = format!(" {} ", harness.fake.own_token());
    let account = account_for(&harness, &typed(USER, &token, &harness.fake.base_url())).await;
    harness.store_credentials(&account.credentials);
    harness.deliver(&mut harness.post(&account, "by a token", Vec::new())).await.unwrap();

    harness.disconnect(&account, &[]).await;

    assert_eq!((harness.fake.grant_count(), harness.fake.call_count(Call::Revoke)), (1, 0));
}

#[tokio::test]
async fn device_is_logged_out_after_its_access_token_expired() {
    let (harness, account) = connected::<Matrix>().await;
    harness.clock.advance(TimeDelta::days(3));

    harness.disconnect(&account, &[]).await;

    assert_eq!(harness.fake.grant_count(), 0);
}

/// The user opens the old page, signs in, and is redirected to the callback.
async fn sign_in(harness: &AdapterHarness<Matrix>) -> Callback {
    let (url, callback) = page_for(harness, &typed(USER, "", &harness.fake.base_url())).await;
    callback_at(callback, &harness.fake.redirect_url(&url, Decision::Allow).await)
}

#[tokio::test]
async fn legacy_page_is_used_only_for_configured_homeservers() {
    for sso_homeservers in [json!([]), json!(["https://matrix.example.org", "lighthouse.example"])] {
        let harness = AdapterHarness::<Matrix>::with_settings(|_| json!({ "sso_homeservers": sso_homeservers })).await;
        harness.fake.enable_page();
        let only_page = json!({ "flows": [{ "type": "m.login.sso" }] });
        for expected in ["Type your password, or an access token.", "Paste an access token."] {
            let (name, message) = field_error(&harness, &typed(USER, "", &harness.fake.base_url())).await;
            assert!(name == "password" && message.ends_with(expected), "{message}");
            harness.fake.faults().respond_with(Method::GET, LOGIN, 200, only_page.clone(), 1);
        }
    }
}

/// The token of the page is accepted once, and only from the callback that the flow requested.
#[tokio::test]
async fn user_signs_in_on_the_page_of_a_configured_homeserver() {
    let harness = AdapterHarness::<Matrix>::with_settings(|it| json!({ "sso_homeservers": [it.base_url()] })).await;
    harness.fake.enable_page();
    let callback = sign_in(&harness).await;
    assert!(callback.query.contains_key("state"), "it identifies the flow");
    let arrived_at = format!("{}/elsewhere", callback.arrived_at);
    let elsewhere = Callback { arrived_at, ..callback.clone() };
    assert_matches!(harness.complete(&elsewhere).await, Err(ConnectError::Refused(_)));
    assert_eq!(harness.fake.call_count(Call::Exchange), 0, "the token was sent");

    let account = harness.complete(&callback).await.unwrap().remove(0);

    assert_matches!(harness.complete(&callback).await, Err(ConnectError::Refused(_)));
    let without = Callback { query: std::collections::BTreeMap::new(), ..callback };
    assert_matches!(harness.complete(&without).await, Err(ConnectError::Denied));
    assert_eq!(account.profile.account_id, USER);
    harness.store_credentials(&account.credentials);
    harness.deliver(&mut harness.post(&account, "from the page", Vec::new())).await.unwrap();
    harness.disconnect(&account, &[]).await;
    assert_eq!(harness.fake.grant_count(), 0, "it was a device of our own");
}

/// A homeserver needs longer to list that many rooms in one response than its proxy waits.
#[tokio::test]
async fn hundreds_of_rooms_are_listed_by_a_limited_number_of_calls() {
    let (harness, account) = connected::<Matrix>().await;
    let crowd = (0..500).map(|number| format!("{FURTHER_ROOMS}{number}"));
    let joined: Vec<_> = [ROOM, ENCRYPTED].map(str::to_owned).into_iter().chain(crowd).collect();
    harness.fake.faults().respond_with(Method::GET, "/joined_rooms", 200, json!({ "joined_rooms": joined }), 1);

    let choices = harness.choices(&account, "room").await.unwrap();

    let label = choices.iter().find(|(room, _)| room == ROOM).map(|(_, label)| label.as_str());
    assert_eq!(label, Some("Harbour (#harbour:lighthouse.example)"));
    assert!((90..=110).contains(&choices.len()), "every other one is encrypted: {}", choices.len());
    let calls = harness.fake.request_log().all().into_iter().filter(|it| it.request_line.contains("/state/")).count();
    assert!(calls <= 1_200, "{calls} calls");
}

#[tokio::test]
async fn homeserver_with_old_versions_is_accepted_if_it_has_the_calls() {
    let harness = AdapterHarness::<Matrix>::new().await;
    let old = json!({ "versions": ["r0.5.0", "r0.6.1"] });
    harness.fake.faults().respond_with(Method::GET, "/client/versions", 200, old, 2);

    account_for(&harness, &typed(USER, PASSWORD, &harness.fake.base_url())).await;

    harness.fake.faults().block(Method::GET, "/v3/login", 404, 1);
    let (name, message) = field_error(&harness, &typed(USER, PASSWORD, &harness.fake.base_url())).await;
    assert!(name == "homeserver" && message.contains("is not a Matrix homeserver"), "{message}");
}
