//! Server discovery, and connecting with a password or a token.

use chrono::TimeDelta;
use domain::delivery::AttemptError;
use domain::testing::{a_connection, a_user};
use fakes::fake::wire::browser;
use fakes::matrix::{MAX_FILE_BYTES, Matrix, PASSWORD, ROOM, USER};
use http::Method;
use platforms::conformance::adapter_harness::{AdapterHarness, callback_at};
use platforms::conformance::fake_platform::{Call, FakePlatform};
use platforms::{Account, AuthorizeStep, Callback, ChoicesRequest, ConnectError, FieldValues, RefreshError};
use secrecy::ExposeSecret;
use serde_json::json;

fn typed(user: &str, password: &str, homeserver: &str) -> FieldValues {
    [("user", user), ("password", password), ("homeserver", homeserver)]
        .map(|(name, it)| (name.to_owned(), it.into()))
        .into()
}

async fn connect_with(harness: &AdapterHarness<Matrix>, values: &FieldValues) -> Account {
    let (step, _) = harness.authorize(values).await.unwrap();
    let AuthorizeStep::Accounts(mut accounts) = step else { panic!("{step:?}") };
    accounts.remove(0)
}

async fn connect_error(harness: &AdapterHarness<Matrix>, values: &FieldValues) -> (&'static str, String) {
    let refusal = harness.authorize(values).await.map(|it| it.0).unwrap_err();
    let ConnectError::Field { name, message } = refusal else { panic!("{refusal:?}") };
    (name, message)
}

#[tokio::test]
async fn an_account_is_a_device_of_its_own_and_the_password_is_forgotten() {
    let harness = AdapterHarness::<Matrix>::new().await;

    let account = harness.connect().await;

    assert_eq!(account.profile.account_id, USER);
    assert_eq!(account.profile.username.as_deref(), Some("keeper:lighthouse.example"));
    assert_eq!(account.profile.display_name.as_deref(), Some("The keeper"));
    assert_eq!(account.profile.profile_url.as_deref(), Some("https://matrix.to/#/@keeper:lighthouse.example"));
    assert_eq!(harness.fake.device_names(), ["Social Publishing"]);
    assert!(!account.credentials.to_bytes().expose_secret().contains(PASSWORD));
    assert!(account.credentials.refresh_token.is_some());
    assert!(serde_json::to_string(&account.rules).unwrap().contains(&format!("{MAX_FILE_BYTES}")));
}

#[tokio::test]
async fn a_homeserver_is_where_its_domain_says() {
    for moves in [false, true] {
        let (harness, domain) = AdapterHarness::<Matrix>::with_second_fake().await;
        domain.set_well_known(json!({ "m.homeserver": { "base_url": format!("{}/", harness.fake.base_url()) } }));
        if moves {
            domain.redirect_well_known("/elsewhere");
        }

        let account = connect_with(&harness, &typed(USER, PASSWORD, &domain.base_url())).await;

        assert_eq!((harness.fake.grant_count(), domain.grant_count()), (1, 0), "moves: {moves}");
        let mut post = harness.post(&account, "hello", Vec::new());
        harness.store_credentials(&account.credentials);
        harness.deliver(&mut post).await.unwrap();
        assert_eq!(harness.fake.public_posts().len(), 1);
    }
}

#[tokio::test]
async fn whatever_a_domain_says_leads_to_no_address_that_only_we_can_reach() {
    let harness = AdapterHarness::<Matrix>::new().await;
    let here = harness.fake.base_url();
    for inside in ["http://169.254.169.254", "http://127.0.0.1:1", "https://localhost", "http://example.com"] {
        harness.fake.set_well_known(json!({ "m.homeserver": { "base_url": inside } }));

        let (name, message) = connect_error(&harness, &typed(USER, PASSWORD, &here)).await;

        assert_eq!(name, "homeserver", "{inside}: {message}");
    }
    harness.fake.redirect_well_known("http://169.254.169.254/.well-known/matrix/client");
    // Without a usable discovery document, the server name itself is the homeserver.
    connect_with(&harness, &typed(USER, PASSWORD, &here)).await;
    harness.fake.redirect_well_known("/.well-known/matrix/client");
    connect_with(&harness, &typed(USER, PASSWORD, &here)).await;
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
        ("@captain:lighthouse.example", PASSWORD, here.as_str(), "password"),
        (USER, "wrong", here.as_str(), "password"),
        (USER, " ", here.as_str(), "password"),
        (USER, "a-token-that-nobody-has-ever-seen", here.as_str(), "password"),
        (USER, PASSWORD, "not an address", "homeserver"),
        (USER, PASSWORD, "http://127.0.0.1:1", "homeserver"),
    ] {
        let (name, message) = connect_error(&harness, &typed(user, password, homeserver)).await;
        assert_eq!(name, field, "{user} {homeserver}: {message}");
        assert!(!message.contains(password) || password == " ", "{message}");
    }
    harness.fake.takes_no_passwords();
    let (name, message) = connect_error(&harness, &typed(USER, PASSWORD, &here)).await;
    assert!(name == "password" && message.contains("access token"), "{message}");
}

/// A homeserver may support only OAuth 2.0: then the calls of the older login do not exist, or list
/// no flow.
#[tokio::test]
async fn homeserver_that_signs_in_by_its_own_page_alone_asks_for_an_access_token() {
    for has_calls in [true, false] {
        let harness = AdapterHarness::<Matrix>::new().await;
        harness.fake.takes_no_passwords();
        if !has_calls {
            harness.fake.has_no_older_sign_in();
        }
        for password in ["", PASSWORD] {
            let (name, message) = connect_error(&harness, &typed(USER, password, &harness.fake.base_url())).await;

            assert_eq!(name, "password", "{message}");
            for part in ["own page", "Paste an access token"] {
                assert!(message.contains(part), "{has_calls} {password}: {message}");
            }
        }
        let account = connect_with(&harness, &typed(USER, &harness.fake.own_token(), &harness.fake.base_url())).await;
        assert_eq!(account.profile.account_id, USER);
    }
}

#[tokio::test]
async fn a_device_whose_token_was_pasted_stays_its_owners() {
    let harness = AdapterHarness::<Matrix>::new().await;
    harness.fake.takes_no_passwords();
    let token = harness.fake.own_token();
    let account = connect_with(&harness, &typed(USER, &format!(" {token} "), &harness.fake.base_url())).await;
    harness.store_credentials(&account.credentials);
    let mut post = harness.post(&account, "by a token", Vec::new());
    harness.deliver(&mut post).await.unwrap();

    harness.disconnect(&account, &[]).await;

    assert_eq!((harness.fake.grant_count(), harness.fake.call_count(Call::Revoke)), (1, 0));
}

#[tokio::test]
async fn a_device_is_ended_though_its_access_token_has_ended() {
    let harness = AdapterHarness::<Matrix>::new().await;
    let account = harness.connect().await;
    harness.clock.advance(TimeDelta::days(3));

    harness.disconnect(&account, &[]).await;

    assert_eq!(harness.fake.grant_count(), 0);
}

/// The user opens the page, signs in, and is redirected to the callback.
async fn sign_in(harness: &AdapterHarness<Matrix>) -> Callback {
    let (step, callback) = harness.authorize(&typed(USER, "", &harness.fake.base_url())).await.unwrap();
    let AuthorizeStep::Redirect { url, .. } = step else { panic!("{step:?}") };
    let page = browser().get(url).send().await.unwrap();
    let back = page.headers()["location"].to_str().unwrap().parse().unwrap();
    callback_at(callback, &back)
}

/// A homeserver with the legacy sign-in page, which the operator enabled.
async fn named() -> AdapterHarness<Matrix> {
    let harness = AdapterHarness::<Matrix>::with_settings(|it| json!({ "sso_homeservers": [it.base_url()] })).await;
    harness.fake.enable_page();
    harness
}

#[tokio::test]
async fn old_page_is_used_only_where_the_operator_names_the_homeserver() {
    for sso_homeservers in [json!([]), json!(["https://matrix.example.org", "lighthouse.example"])] {
        let harness = AdapterHarness::<Matrix>::with_settings(|_| json!({ "sso_homeservers": sso_homeservers })).await;
        harness.fake.enable_page();
        let (name, message) = connect_error(&harness, &typed(USER, "", &harness.fake.base_url())).await;
        assert_eq!((name, message.as_str()), ("password", "Type your password, or an access token."));

        harness.fake.takes_no_passwords();
        let (name, message) = connect_error(&harness, &typed(USER, "", &harness.fake.base_url())).await;
        assert!(name == "password" && message.ends_with("Paste an access token."), "{message}");
    }
}

#[tokio::test]
async fn a_person_may_sign_in_on_the_page_of_a_homeserver_that_the_operator_names() {
    let harness = named().await;
    harness.fake.takes_no_passwords();

    let callback = sign_in(&harness).await;
    let account = harness.complete(&callback).await.unwrap().remove(0);

    assert!(callback.query.contains_key("state"), "it identifies the flow");
    assert_eq!(account.profile.account_id, USER);
    harness.store_credentials(&account.credentials);
    let mut post = harness.post(&account, "from the page", Vec::new());
    harness.deliver(&mut post).await.unwrap();
    harness.disconnect(&account, &[]).await;
    assert_eq!(harness.fake.grant_count(), 0, "it was a device of our own");
}

#[tokio::test]
async fn what_a_page_gives_is_taken_once_and_where_it_was_asked_for() {
    let harness = named().await;
    let callback = sign_in(&harness).await;
    let arrived_at = format!("{}/elsewhere", callback.arrived_at);
    let elsewhere = harness.complete(&Callback { arrived_at, ..callback.clone() }).await.unwrap_err();
    assert!(matches!(elsewhere, ConnectError::Refused(_)), "{elsewhere:?}");
    assert_eq!(harness.fake.call_count(Call::Exchange), 0, "the token was sent");

    harness.complete(&callback).await.unwrap();
    let again = harness.complete(&callback).await.unwrap_err();
    assert!(matches!(again, ConnectError::Refused(_)), "{again:?}");
    let without = Callback { query: std::collections::BTreeMap::new(), ..callback };
    let denied = harness.complete(&without).await.unwrap_err();
    assert!(matches!(denied, ConnectError::Denied), "{denied:?}");
    let late = sign_in(&harness).await;
    harness.clock.advance(TimeDelta::hours(1));
    assert!(harness.complete(&late).await.is_err());
    assert_eq!(harness.fake.grant_count(), 1);
}

#[tokio::test]
async fn rooms_in_which_the_account_may_post_are_listed() {
    let harness = AdapterHarness::<Matrix>::new().await;
    let account = harness.connect().await;

    let choices = rooms(&harness, &account).await.unwrap();

    assert_eq!(choices, [(ROOM.to_owned(), "Harbour (#harbour:lighthouse.example)".to_owned())]);
}

async fn rooms(harness: &AdapterHarness<Matrix>, account: &Account) -> Result<Vec<(String, String)>, AttemptError> {
    let connection = a_connection(&a_user());
    let asked =
        ChoicesRequest { option: "room", query: None, connection: &connection, credentials: &account.credentials };
    let choices = harness.connector().choices(&asked, harness.clock.now()).await?;
    Ok(choices.into_iter().map(|it| (it.value, it.label)).collect())
}

/// A homeserver needs longer to list that many rooms in one response than its proxy waits.
#[tokio::test]
async fn rooms_of_an_account_in_hundreds_are_listed_by_a_limited_number_of_calls() {
    let harness = AdapterHarness::<Matrix>::new().await;
    let account = harness.connect().await;
    harness.fake.join_rooms(500);

    let choices = rooms(&harness, &account).await.unwrap();

    assert!(choices.iter().any(|(id, _)| id == ROOM), "{choices:?}");
    assert!((90..=110).contains(&choices.len()), "every other one is encrypted: {}", choices.len());
    assert!(harness.fake.asked_of_rooms() <= 1_200, "{} calls", harness.fake.asked_of_rooms());
}

#[tokio::test]
async fn a_homeserver_that_names_old_versions_and_has_the_calls_does_as_well() {
    let harness = AdapterHarness::<Matrix>::new().await;
    harness.fake.state_old_versions();

    connect_with(&harness, &typed(USER, PASSWORD, &harness.fake.base_url())).await;

    harness.fake.intermediary().block(Method::GET, "/v3/login", 404, 1);
    let (name, message) = connect_error(&harness, &typed(USER, PASSWORD, &harness.fake.base_url())).await;
    assert!(name == "homeserver" && message.contains("is not a Matrix homeserver"), "{message}");
}

/// An administrator can unlock the account, and its tokens are valid again.
#[tokio::test]
async fn locked_account_delays_the_post() {
    let harness = AdapterHarness::<Matrix>::new().await;
    let by_password = harness.connect().await;
    let by_token = connect_with(&harness, &typed(USER, &harness.fake.own_token(), &harness.fake.base_url())).await;
    for account in [by_password, by_token] {
        harness.store_credentials(&account.credentials);
        harness.fake.locks(true);
        let about =
            harness.publisher().account_details(&account.profile, &account.credentials, harness.clock.now()).await;
        assert!(matches!(about, Err(AttemptError::RetryLater { .. })), "{about:?}");
        if harness.can_refresh() {
            let renewed = harness.refresh().await.map(|_| ()).unwrap_err();
            assert!(matches!(renewed, RefreshError::Unreachable(_)), "{renewed:?}");
        }
        harness.fake.locks(false);
        let mut post = harness.due(&account, "while it is locked", Vec::new()).await;
        harness.fake.locks(true);
        let locked = harness.publish(&post).await.unwrap_err();
        assert!(matches!(locked, AttemptError::RetryLater { .. }), "{locked:?}");
        harness.fake.locks(false);
        harness.deliver(&mut post).await.unwrap();
    }
    assert_eq!(harness.fake.public_posts().len(), 2);
}

#[tokio::test]
async fn a_page_of_an_intermediary_ends_no_grant() {
    let harness = AdapterHarness::<Matrix>::new().await;
    let account = harness.connect().await;
    for status in [400, 401, 403, 404, 408, 413] {
        let block = |method, path| harness.fake.intermediary().block(method, path, status, 1);
        block(Method::GET, "/profile/");
        let about =
            harness.publisher().account_details(&account.profile, &account.credentials, harness.clock.now()).await;
        assert!(matches!(about, Err(AttemptError::RetryLater { .. })), "{status}: {about:?}");
        block(Method::GET, "/joined_rooms");
        let listed = rooms(&harness, &account).await;
        assert!(matches!(listed, Err(AttemptError::RetryLater { .. })), "{status}: {listed:?}");
        block(Method::POST, "/refresh");
        let renewed = harness.refresh().await.map(|_| ()).unwrap_err();
        assert!(matches!(renewed, RefreshError::Unreachable(_)), "{status}: {renewed:?}");
        assert_eq!(harness.fake.intermediary().left(), 0);
    }
}
