//! Tests of the whole sandbox with a browser and a client.

use url::{Url, form_urlencoded};

use super::super::testing::SandboxHarness;
use super::*;

const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

fn query(change: impl FnOnce(&mut Vec<(&'static str, &'static str)>)) -> String {
    let mut pairs = vec![
        ("response_type", "code"),
        ("client_id", CLIENT_ID),
        ("redirect_uri", "http://client.test/back?from=sandbox"),
        ("state", "s&1"),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
    ];
    change(&mut pairs);
    form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

fn without(name: &'static str) -> String {
    query(|pairs| pairs.retain(|(it, _)| *it != name))
}

fn with(name: &'static str, value: &'static str) -> String {
    query(|pairs| {
        pairs.retain(|(it, _)| *it != name);
        pairs.push((name, value));
    })
}

#[tokio::test]
async fn the_consent_page_offers_accounts_and_both_answers() {
    let harness = SandboxHarness::new();

    let page = harness.get(&format!("/sandbox/oauth/authorize?{}", query(|_| {}))).await;

    assert_eq!(page.status, 200);
    assert!(page.text().matches("type=\"radio\"").count() >= 3, "{}", page.text());
    assert!(page.text().contains(">Allow</button>"));
    assert!(page.text().contains(">Deny</button>"));
    assert!(page.header("content-security-policy").contains("form-action 'self' http://client.test"));
}

#[tokio::test]
async fn deny_redirects_with_the_state() {
    let harness = SandboxHarness::new();
    let query = query(|_| {});

    let response = harness.form("/sandbox/oauth/authorize", &[("request", &query), ("answer", "deny")]).await;

    assert_eq!(response.status, 303);
    let back = Url::parse(response.header("location")).unwrap();
    let pairs: Vec<_> = back.query_pairs().map(|(k, v)| format!("{k}={v}")).collect();
    assert_eq!(back.host_str(), Some("client.test"));
    assert_eq!(pairs[..2], ["from=sandbox", "error=access_denied"]);
    assert_eq!(pairs.last().map(String::as_str), Some("state=s&1"));
}

#[tokio::test]
async fn an_untrusted_client_is_an_error_page() {
    let harness = SandboxHarness::new();
    for query in [
        without("client_id"),
        with("client_id", "someone-else"),
        without("redirect_uri"),
        with("redirect_uri", "/relative"),
        with("redirect_uri", "javascript:alert(1)"),
        with("redirect_uri", "http://user@client.test/"),
        query(|pairs| pairs.push(("client_id", CLIENT_ID))),
    ] {
        let page = harness.get(&format!("/sandbox/oauth/authorize?{query}")).await;
        assert_eq!(page.status, 400, "{query}");
    }
}

#[tokio::test]
async fn other_errors_are_redirected_to_the_client() {
    let harness = SandboxHarness::new();
    for (query, error) in [
        (without("code_challenge"), "invalid_request"),
        (with("code_challenge", "short"), "invalid_request"),
        (with("code_challenge_method", "plain"), "invalid_request"),
        (with("response_type", "token"), "unsupported_response_type"),
        (with("scope", "everything"), "invalid_scope"),
    ] {
        let response = harness.get(&format!("/sandbox/oauth/authorize?{query}")).await;
        assert_eq!(response.status, 303, "{query}");
        assert!(response.header("location").contains(&format!("error={error}&")), "{query}");
        assert!(response.header("location").ends_with("state=s%261"), "{query}");
    }
}

#[tokio::test]
async fn allow_needs_an_account_that_exists() {
    let harness = SandboxHarness::new();
    let query = query(|_| {});

    let response = harness
        .form("/sandbox/oauth/authorize", &[("request", &query), ("answer", "allow"), ("account", "nobody")])
        .await;

    assert_eq!(response.status, 400);
}
