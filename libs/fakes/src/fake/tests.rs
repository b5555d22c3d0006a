//! A fake that only follows the shared rules refuses everything that the documents refuse. A plain
//! client calls it.

use std::sync::Arc;

use chrono::TimeDelta;
use domain::clock::Clock;
use domain::testing::noon;
use domain::token;
use http::{Method, StatusCode};
use serde_json::Value;
use url::Url;

use super::front::FaultInjection;
use super::limits::{Limit, Limits, WindowStart};
use super::oauth::{App, Authorizes, Client, Pkce, Rules, decide, routes};
use super::request_log;
use super::server::FakeServer;
use super::wire::browser;
use crate::conformance::fake_platform::{Call, Decision, InjectedFault};

const CALLBACK: &str = "https://us.example/callback";
const VERIFIER: &str = "a-verifier-of-more-than-forty-three-characters";
const RULES: Rules = Rules {
    scopes: &["read", "write"],
    separator: ',',
    clients: &[Client::Basic],
    page: &[("duration", "permanent")],
    ..Rules::STANDARD
};

type PlainServer = FakeServer<()>;

impl Authorizes for PlainServer {
    fn accounts(&self) -> &'static [&'static str] {
        &["keeper", "second"]
    }
}

impl FaultInjection for PlainServer {
    const TRANSLATED: &'static [&'static str] = &["/error_description"];

    fn call(&self, head: &http::request::Parts, _: &[u8]) -> Option<Call> {
        (head.uri.path() == "/token").then_some(Call::Exchange)
    }

    fn respond(&self, _: Call, fault: InjectedFault) -> axum::response::Response {
        let mut response = axum::response::Response::default();
        *response.status_mut() = match fault {
            InjectedFault::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            InjectedFault::Refused => StatusCode::BAD_REQUEST,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        response
    }
}

struct Harness {
    plain: Arc<PlainServer>,
    url: String,
    app: App,
}

impl Harness {
    async fn with(rules: Rules) -> Self {
        let routes = routes("/authorize", "/token", Some("/revoke"));
        let plain = PlainServer::serve("plain", Clock::manual(noon()), rules, (), routes).await;
        plain.oauth().permit(CALLBACK);
        Self { url: plain.base_url(), app: plain.app.clone(), plain }
    }

    fn page(&self, changes: &[(&str, &str)]) -> String {
        let challenge = token::hash(VERIFIER);
        let mut query = std::collections::BTreeMap::from([
            ("response_type", "code"),
            ("client_id", &self.app.client_id),
            ("redirect_uri", CALLBACK),
            ("scope", "read,write"),
            ("state", "a state"),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
            ("duration", "permanent"),
        ]);
        query.extend(changes.iter().copied());
        let query = query.into_iter().filter(|(_, value)| !value.is_empty());
        Url::parse_with_params(&format!("{}/authorize", self.url), query).unwrap().into()
    }

    async fn open_page(&self, change: &[(&str, &str)]) -> u16 {
        browser().get(self.page(change)).send().await.unwrap().status().as_u16()
    }

    async fn code(&self, account: &str) -> String {
        let back = decide(&self.page(&[]), account, Decision::Allow).await;
        let query: Vec<_> = back.query_pairs().into_owned().collect();
        assert_eq!(query[1], ("state".to_owned(), "a state".to_owned()));
        query[0].1.clone()
    }

    async fn token(&self, form: &[(&str, &str)]) -> (u16, Value) {
        let asked = browser().post(format!("{}/token", self.url)).form(form);
        let answer = asked.basic_auth(&self.app.client_id, Some(&self.app.client_secret)).send().await.unwrap();
        (answer.status().as_u16(), answer.json().await.unwrap_or_default())
    }

    async fn exchange(&self, code: &str, change: &[(&str, &str)]) -> (u16, Value) {
        let mut form = std::collections::BTreeMap::from([
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", CALLBACK),
            ("code_verifier", VERIFIER),
        ]);
        form.extend(change.iter().copied());
        self.token(&form.into_iter().collect::<Vec<_>>()).await
    }

    async fn refresh(&self, token: &Value) -> (u16, Value) {
        self.token(&[("grant_type", "refresh_token"), ("refresh_token", token.as_str().unwrap())]).await
    }
}

#[tokio::test]
async fn authorization_page_refuses_invalid_requests() {
    let harness = Harness::with(RULES).await;
    assert_eq!(harness.open_page(&[]).await, 200);
    for (name, value, status) in [
        ("client_id", "another", 401),
        ("redirect_uri", "https://us.example/callback/", 400),
        ("redirect_uri", "", 400),
        ("response_type", "token", 400),
        ("scope", "read write", 400),
        ("scope", "", 400),
        ("code_challenge", "", 400),
        ("code_challenge_method", "plain", 400),
        ("code_challenge_method", "", 400),
        ("duration", "", 400),
    ] {
        assert_eq!(harness.open_page(&[(name, value)]).await, status, "{name}={value}");
    }
    let denied = decide(&harness.page(&[]), "keeper", Decision::Deny).await;
    assert!(denied.as_str().starts_with("https://us.example/callback?error=access_denied&"), "{denied}");
    let without = Harness::with(Rules { pkce: Pkce::Unknown, ..RULES }).await;
    assert_eq!(without.open_page(&[]).await, 400, "its documents know no challenge");
    assert_eq!(without.open_page(&[("code_challenge", ""), ("code_challenge_method", "")]).await, 200);
}

#[tokio::test]
async fn code_is_redeemed_once_by_its_client() {
    let harness = Harness::with(RULES).await;
    let code = harness.code("second").await;
    for (name, value) in [
        ("redirect_uri", "https://us.example/other"),
        ("code_verifier", "another"),
        ("code_verifier", ""),
        ("code", "another"),
    ] {
        assert_eq!(harness.exchange(&code, &[(name, value)]).await.1["error"], "invalid_grant", "{name}={value}");
    }
    let in_body = [("client_id", harness.app.client_id.as_str()), ("client_secret", &harness.app.client_secret)];
    let in_body = browser().post(format!("{}/token", harness.url)).form(&in_body).send().await.unwrap();
    assert_eq!(in_body.status(), 401, "only the header will do");

    let (status, tokens) = harness.exchange(&code, &[]).await;
    assert_eq!((status, &tokens["scope"], &tokens["expires_in"]), (200, &"read,write".into(), &3600.into()));
    assert_eq!(harness.plain.oauth().grants[0].account, "second");
    assert_eq!(harness.exchange(&code, &[]).await.1["error"], "invalid_grant");
    assert_eq!(harness.plain.oauth().usable(), 0, "who brings a code again ends what it gave");

    let late = harness.code("keeper").await;
    harness.plain.clock.advance(TimeDelta::minutes(10));
    assert_eq!(harness.exchange(&late, &[]).await.1["error"], "invalid_grant");
}

#[tokio::test]
async fn refresh_token_works_once_and_never_after_revocation() {
    let harness = Harness::with(RULES).await;
    let (_, first) = harness.exchange(&harness.code("keeper").await, &[]).await;

    let (_, second) = harness.refresh(&first["refresh_token"]).await;
    assert_ne!(second["access_token"], first["access_token"]);
    assert_eq!(harness.refresh(&first["refresh_token"]).await.0, 400);
    assert_eq!(harness.refresh(&second["refresh_token"]).await.0, 400, "the whole grant has ended");

    let (_, third) = harness.exchange(&harness.code("keeper").await, &[]).await;
    let revoke = browser().post(format!("{}/revoke", harness.url)).form(&[("token", third["access_token"].as_str())]);
    let revoked = revoke.basic_auth(&harness.app.client_id, Some(&harness.app.client_secret)).send().await.unwrap();
    assert_eq!((revoked.status().as_u16(), harness.plain.oauth().usable()), (200, 0));
    assert_eq!(harness.refresh(&third["refresh_token"]).await.1["error"], "invalid_grant");
}

#[tokio::test]
async fn refresh_token_expires() {
    let harness = Harness::with(Rules { refresh_lives: Some(TimeDelta::days(60)), ..RULES }).await;
    let (_, first) = harness.exchange(&harness.code("keeper").await, &[]).await;
    harness.plain.clock.advance(TimeDelta::days(59));
    let (_, second) = harness.refresh(&first["refresh_token"]).await;
    assert_eq!(second["refresh_token_expires_in"], 5_184_000, "each refresh token has its own time");

    harness.plain.clock.advance(TimeDelta::days(60));

    assert_eq!(harness.refresh(&second["refresh_token"]).await.1["error"], "invalid_grant");
}

#[tokio::test]
async fn intermediary_blocks_the_requested_number_of_calls() {
    let harness = Harness::with(RULES).await;
    let code = harness.code("keeper").await;
    harness.plain.injected_faults().block(Method::POST, "/tok", 403, 1);
    assert_eq!(harness.open_page(&[]).await, 200, "another call");

    let (status, page) = harness.exchange(&code, &[]).await;

    assert_eq!((status, page), (403, Value::Null));
    assert_eq!(harness.plain.injected_faults().left(), 0);
    assert_eq!(harness.plain.injected_faults().calls(Call::Exchange), 0);
    assert_eq!(harness.exchange(&code, &[]).await.0, 200);
}

#[tokio::test]
async fn faults_are_injected_in_order_and_requests_are_logged() {
    let harness = Harness::with(RULES).await;
    let order = |fault| harness.plain.injected_faults().order(Call::Exchange, fault, 1);
    let code = harness.code("keeper").await;

    order(InjectedFault::Unavailable);
    assert_eq!(harness.exchange(&code, &[]).await.0, 503);
    order(InjectedFault::ServerErrorAfter);
    assert_eq!(harness.exchange(&code, &[]).await.0, 500);
    assert_eq!(harness.plain.oauth().usable(), 1, "it was carried out");
    order(InjectedFault::CutBefore);
    let cut = browser().post(format!("{}/token", harness.url)).body("<b>").send().await;
    assert!(cut.is_err());

    let latest = harness.plain.request_log.latest("POST /token").unwrap();
    assert_eq!((latest.body.as_str(), latest.size_bytes, latest.status), ("<b>", 3, None));
    let page =
        browser().get(format!("{}{}", harness.url, request_log::PAGE)).send().await.unwrap().text().await.unwrap();
    assert!(page.contains("&lt;b&gt;") && page.contains("code_verifier="), "{page}");
    assert!(!page.contains(&harness.app.client_secret), "{page}");
    assert_eq!(harness.plain.injected_faults().calls(Call::Exchange), 3);
}

#[test]
fn limit_window_starts_by_clock_or_first_request() {
    let at = |minute| noon() + TimeDelta::minutes(minute);
    for (begins, again) in [(WindowStart::Clock, 5), (WindowStart::FirstRequest, 8)] {
        let mut limits = Limits::default();
        let limit = Limit { name: "posts", max: 2, period: TimeDelta::minutes(5), window_start: begins };
        let mut count = |minute| limits.count(limit, "us", 1, at(minute));

        assert_eq!(count(3).remaining, 1);
        assert!(!count(4).is_exceeded);
        let third = count(4);
        assert_eq!((third.is_exceeded, third.resets_at), (true, at(again)));
        assert!(count(again - 1).is_exceeded);
        assert!(!count(again).is_exceeded);
        assert!(!limits.count(limit, "others", 1, at(4)).is_exceeded);
    }
}

#[tokio::test]
async fn intermediary_and_cut_body_faults_run_the_call_or_not() {
    let grants = |harness: &Harness| harness.plain.oauth().grants.len();
    let walls =
        [(InjectedFault::Intermediary { status: 403 }, 0), (InjectedFault::IntermediaryAfter { status: 403 }, 1)];
    for (fault, made) in walls.into_iter().chain([(InjectedFault::EmptyBody, 1), (InjectedFault::CutBody, 1)]) {
        let harness = Harness::with(RULES).await;
        let code = harness.code("keeper").await;
        harness.plain.injected_faults().order(Call::Exchange, fault, 1);

        let form = [
            ("grant_type", "authorization_code"),
            ("code", &code),
            ("redirect_uri", CALLBACK),
            ("code_verifier", VERIFIER),
        ];
        let asked = browser().post(format!("{}/token", harness.url)).form(&form);
        let response = asked.basic_auth(&harness.app.client_id, Some(&harness.app.client_secret)).send().await.unwrap();
        let status = response.status().as_u16();
        let body = response.text().await;

        assert_eq!(grants(&harness), made, "{fault:?}");
        match fault {
            InjectedFault::EmptyBody => assert_eq!((status, body.unwrap().as_str()), (200, "")),
            InjectedFault::CutBody => assert!(status == 200 && body.is_err(), "{status}: {body:?}"),
            _ => assert!(status == 403 && body.as_ref().unwrap().starts_with("<html>"), "{status}: {body:?}"),
        }
    }
}

#[tokio::test]
async fn translated_refusals_keep_their_status_and_code() {
    let harness = Harness::with(RULES).await;
    let (status, before) = harness.exchange("forged", &[]).await;
    harness.plain.injected_faults().translate();

    let (translated, after) = harness.exchange("forged", &[]).await;

    assert_eq!((translated, &after["error"]), (status, &before["error"]));
    assert_ne!(after["error_description"], before["error_description"]);
}
