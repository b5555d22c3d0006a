//! The Pages that are connected, their tokens, and the end of grants.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::TimeDelta;
use domain::delivery::AttemptError;
use domain::media::MimeType;
use domain::text::PostText;
use fakes::facebook::{Facebook, PAGE, PERSON_ID};
use platforms::conformance::adapter_harness::AdapterHarness;
use platforms::conformance::fake_platform::{Call, Decision, FakePlatform, InjectedFault};
use platforms::conformance::samples::sample;
use platforms::{Account, AuthorizeStep, ConnectError, DeauthorizationCallback, InvalidCallback, RefreshPolicy};
use ring::hmac;
use secrecy::ExposeSecret;
use serde_json::json;

use crate::{harness, options};

async fn connected(harness: &AdapterHarness<Facebook>) -> Result<Vec<Account>, ConnectError> {
    let callback = harness.callback_after(Decision::Allow).await;
    harness.complete(&callback).await
}

fn names(accounts: &[Account]) -> Vec<&str> {
    accounts.iter().filter_map(|it| it.profile.display_name.as_deref()).collect()
}

#[tokio::test]
async fn every_page_that_its_person_may_post_on_can_be_chosen() {
    let harness = AdapterHarness::<Facebook>::new().await;
    harness.fake.has_page("200", "Tide Tables", &["PROFILE_PLUS_CREATE_CONTENT"]);
    harness.fake.has_page("201", "Fog Horn", &["ANALYZE", "ADVERTISE"]);
    harness.fake.has_page("202", "Old Pier", &["CREATE_CONTENT"]);
    harness.fake.add_portfolio_page("300", "Ferry Office", true);
    harness.fake.add_portfolio_page("301", "Ferry Archive", false);

    let accounts = connected(&harness).await.unwrap();

    assert_eq!(names(&accounts), ["Harbour Lights", "Tide Tables", "Old Pier", "Ferry Office"]);
    let mut own: Vec<_> =
        accounts.iter().map(|it| it.credentials.own_token.as_ref().unwrap().expose_secret()).collect();
    own.sort_unstable();
    own.dedup();
    assert_eq!(own.len(), 4, "each has a token of its own");
    for account in &accounts {
        assert_eq!(account.grant.as_deref(), Some(PERSON_ID), "one grant has all of them");
        assert_eq!((account.credentials.expires_at, account.credentials.refresh_token.is_none()), (None, true));
    }
    for (account, text) in accounts.iter().zip(["a", "b", "c", "d"]) {
        harness.store_credentials(&account.credentials);
        let mut post = harness.post(account, text, Vec::new());
        let published = harness.deliver(&mut post).await.unwrap().published;
        assert!(published.platform_post_id.starts_with(&format!("{}_", account.profile.account_id)));
    }
}

#[tokio::test]
async fn a_page_is_known_by_the_name_in_its_address_or_by_its_own() {
    let harness = AdapterHarness::<Facebook>::new().await;
    harness.fake.has_page("200", "Tide Tables", &["CREATE_CONTENT"]);

    let accounts = connected(&harness).await.unwrap();

    let expected = |at: usize| {
        let profile = &accounts[at].profile;
        (profile.account_id.clone(), profile.username.clone().unwrap(), profile.profile_url.clone().unwrap())
    };
    let of = |id: &str, name: &str, address: &str| (id.to_owned(), name.to_owned(), address.to_owned());
    assert_eq!(expected(0), of(PAGE, "harbourlights", "https://www.facebook.com/harbourlights"));
    assert_eq!(expected(1), of("200", "Tide Tables", "https://www.facebook.com/200"));
    assert!(accounts[0].profile.avatar.is_some());
}

#[tokio::test]
async fn where_there_is_no_page_to_post_on_the_reason_is_said() {
    let harness = AdapterHarness::<Facebook>::new().await;
    harness.fake.remove_pages();
    let refusal = connected(&harness).await.unwrap_err();
    assert!(refusal.to_string().contains("you have no Facebook Page, or selected none"), "{refusal}");

    harness.fake.has_page("201", "Fog Horn", &["ANALYZE"]);
    let refusal = connected(&harness).await.unwrap_err();
    assert!(refusal.to_string().contains("you may not create content on Fog Horn: ask an admin"), "{refusal}");
}

#[tokio::test]
async fn permissions_that_were_declined_are_named() {
    let harness = AdapterHarness::<Facebook>::new().await;
    harness.fake.declines(&["pages_manage_posts", "pages_show_list"]);
    let refusal = connected(&harness).await.unwrap_err();
    let said = "not granted: pages_show_list, pages_manage_posts. Connect again";
    assert!(matches!(&refusal, ConnectError::Refused(it) if it.contains(said)), "{refusal:?}");

    harness.fake.declines(&[]);
    assert_eq!(connected(&harness).await.unwrap().len(), 1);
}

#[tokio::test]
async fn without_portfolios_the_others_are_there() {
    let harness = AdapterHarness::<Facebook>::new().await;
    harness.fake.add_portfolio_page("300", "Ferry Office", true);
    harness.fake.declines(&["business_management"]);
    assert_eq!(names(&connected(&harness).await.unwrap()), ["Harbour Lights"]);
}

#[tokio::test]
async fn missing_comment_permission_is_a_validation_error() {
    let harness = AdapterHarness::<Facebook>::new().await;
    harness.fake.declines(&["pages_manage_engagement"]);
    let account = connected(&harness).await.unwrap().remove(0);
    let text = PostText::parse("hello").unwrap();

    let errors = account.rules.breaches(&text, &[], &options(&[("first_comment", "first!")]));

    assert_eq!(errors.len(), 1);
    assert!(!account.scopes.contains(&"pages_manage_engagement".to_owned()), "{:?}", account.scopes);
    let now = harness.clock.now();
    let about =
        harness.connector().account_details(&account.profile, &account.credentials, now).await.unwrap().unwrap();
    assert_eq!(about.rules, account.rules, "it is remembered");
}

#[tokio::test]
async fn what_was_declined_is_asked_again_and_a_configuration_takes_the_place_of_scopes() {
    let pairs = |step: AuthorizeStep| {
        let AuthorizeStep::Redirect { url, .. } = step else { panic!("{step:?}") };
        let url = url::Url::parse(&url).unwrap();
        let pairs: std::collections::BTreeMap<_, _> = url.query_pairs().into_owned().collect();
        (url.path().to_owned(), pairs)
    };
    let harness = AdapterHarness::<Facebook>::new().await;
    let (path, asked) = pairs(harness.authorize(&harness.fake.form_values()).await.unwrap().0);
    assert_eq!(path, "/v26.0/dialog/oauth");
    assert_eq!(asked["auth_type"], "rerequest");
    assert!(asked["scope"].split(',').any(|it| it == "pages_manage_posts"), "{asked:?}");
    assert!(!asked.contains_key("code_challenge"));

    let business = AdapterHarness::<Facebook<true>>::new().await;
    let (_, asked) = pairs(business.authorize(&business.fake.form_values()).await.unwrap().0);
    assert_eq!((asked["config_id"].as_str(), asked["response_type"].as_str()), ("1234509876", "code"));
    assert!(!asked.contains_key("scope"));
}

#[tokio::test]
async fn a_page_is_posted_on_long_after_the_token_of_its_person_has_ended() {
    let (harness, account) = harness().await;
    assert_eq!(harness.connector().refresh_policy(), RefreshPolicy::Never);
    harness.clock.advance(TimeDelta::days(300));
    let mut post = harness.post(&account, "a year on", Vec::new());

    harness.deliver(&mut post).await.unwrap();

    let about = harness.connector().account_details(&account.profile, &account.credentials, harness.clock.now()).await;
    assert!(about.unwrap().is_some());
}

#[tokio::test]
async fn what_ends_with_all_of_the_persons_pages_is_known() {
    let (harness, account) = harness().await;
    assert!(harness.connector().revokes_all());
    harness.fake.inject_fault(Call::Revoke, InjectedFault::ServerError, 1);
    let now = harness.clock.now();
    assert!(harness.connector().revoke(&account.credentials, now).await.is_err());
    harness.connector().revoke(&account.credentials, now).await.unwrap();
    assert_eq!(harness.fake.grant_count(), 0);
    // The user's token may have expired before.
    harness.connector().revoke(&account.credentials, now).await.unwrap();
}

#[tokio::test]
async fn a_page_that_is_not_to_be_seen_needs_reconnection() {
    let (harness, account) = harness().await;
    let post = harness.due(&account, "prepared", Vec::new()).await;
    let missing = json!({ "message": "No.", "type": "GraphMethodException", "code": 100, "error_subcode": 33 });
    harness.fake.refuses("POST /feed", 400, json!({ "error": missing }));
    let setback = harness.publish(&post).await.unwrap_err();
    assert!(matches!(setback, AttemptError::RetryLater { .. }), "once it is a fault that passes: {setback:?}");

    harness.fake.hide_pages();
    let setback = harness.publish(&post).await.unwrap_err();
    assert!(matches!(setback, AttemptError::Unauthorized { .. }), "{setback:?}");
    for mime_type in [MimeType::Png, MimeType::Mp4] {
        let mut other = harness.post(&account, "another", vec![sample(mime_type, 1)]);
        let setback = harness.prepare_all(&mut other, &mut Vec::new()).await.unwrap_err();
        assert!(matches!(setback, AttemptError::Unauthorized { .. }), "{setback:?}");
    }
}

#[tokio::test]
async fn a_person_who_removes_the_app_is_known_by_the_name_of_their_grant() {
    let (harness, account) = harness().await;
    let now = harness.clock.now();
    let payload = json!({ "algorithm": "HMAC-SHA256", "user_id": PERSON_ID, "issued_at": now.timestamp() });
    let payload = URL_SAFE_NO_PAD.encode(payload.to_string());
    let signed = |secret: &str| {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        format!("{}.{payload}", URL_SAFE_NO_PAD.encode(hmac::sign(&key, payload.as_bytes())))
    };
    let asked = async |message: String| harness.connector().read_deauthorization(&message, now).await;

    let notice = asked(signed(harness.fake.app_secret())).await;

    assert_eq!(notice, Ok(DeauthorizationCallback { grant: account.grant_name().to_owned(), at: now }));
    assert_eq!(asked(signed("another")).await, Err(InvalidCallback::Forged));
}
