//! A platform that does nothing in its own way, asked by a plain client: everything
//! that the documents refuse is refused.

use std::sync::Arc;

use bytes::Bytes;
use chrono::TimeDelta;
use domain::clock::Clock;
use domain::testing::noon;
use domain::token;
use http::{Method, StatusCode};
use platforms::conformance::network::{Call, Decision, InjectedFault};
use serde_json::Value;
use url::Url;

use super::front::Front;
use super::limits::{Begins, Limit, Limits};
use super::oauth::{App, Authorizes, Client, Pkce, Rules, decide, routes};
use super::request_log;
use super::server::FakeServer;
use super::uploads::{BadPart, Progress, Uploads};
use super::wire::browser;

const CALLBACK: &str = "https://us.example/callback";
const VERIFIER: &str = "a-verifier-of-more-than-forty-three-characters";
const RULES: Rules = Rules {
    scopes: &["read", "write"],
    separator: ',',
    clients: &[Client::Basic],
    page: &[("duration", "permanent")],
    ..Rules::STANDARD
};

type Plain = FakeServer<()>;

impl Authorizes for Plain {
    fn accounts(&self) -> &'static [&'static str] {
        &["keeper", "second"]
    }
}

impl Front for Plain {
    const TRANSLATED: &'static [&'static str] = &["/error_description"];

    fn call(&self, head: &http::request::Parts, _: &[u8]) -> Option<Call> {
        (head.uri.path() == "/token").then_some(Call::Exchange)
    }

    fn answer(&self, _: Call, trouble: InjectedFault) -> axum::response::Response {
        let mut response = axum::response::Response::default();
        *response.status_mut() = match trouble {
            InjectedFault::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            InjectedFault::Unwanted => StatusCode::BAD_REQUEST,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        response
    }
}

struct Visit {
    plain: Arc<Plain>,
    url: String,
    app: App,
}

impl Visit {
    async fn with(rules: Rules) -> Self {
        let routes = routes("/authorize", "/token", Some("/revoke"));
        let plain = Plain::serve("plain", Clock::manual(noon()), rules, (), routes).await;
        plain.oauth().permit(CALLBACK);
        Self { url: plain.base_url(), app: plain.app.clone(), plain }
    }

    fn page(&self, change: &[(&str, &str)]) -> String {
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
        query.extend(change.iter().copied());
        let query = query.into_iter().filter(|(_, value)| !value.is_empty());
        Url::parse_with_params(&format!("{}/authorize", self.url), query).unwrap().into()
    }

    async fn opens(&self, change: &[(&str, &str)]) -> u16 {
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
async fn the_page_refuses_what_the_documents_refuse() {
    let visit = Visit::with(RULES).await;
    assert_eq!(visit.opens(&[]).await, 200);
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
        assert_eq!(visit.opens(&[(name, value)]).await, status, "{name}={value}");
    }
    let denied = decide(&visit.page(&[]), "keeper", Decision::Deny).await;
    assert!(denied.as_str().starts_with("https://us.example/callback?error=access_denied&"), "{denied}");
    let without = Visit::with(Rules { pkce: Pkce::Unknown, ..RULES }).await;
    assert_eq!(without.opens(&[]).await, 400, "its documents know no challenge");
    assert_eq!(without.opens(&[("code_challenge", ""), ("code_challenge_method", "")]).await, 200);
}

#[tokio::test]
async fn a_code_is_good_once_for_whom_it_was_given() {
    let visit = Visit::with(RULES).await;
    let code = visit.code("second").await;
    for (name, value) in [
        ("redirect_uri", "https://us.example/other"),
        ("code_verifier", "another"),
        ("code_verifier", ""),
        ("code", "another"),
    ] {
        assert_eq!(visit.exchange(&code, &[(name, value)]).await.1["error"], "invalid_grant", "{name}={value}");
    }
    let in_body = [("client_id", visit.app.client_id.as_str()), ("client_secret", &visit.app.client_secret)];
    let in_body = browser().post(format!("{}/token", visit.url)).form(&in_body).send().await.unwrap();
    assert_eq!(in_body.status(), 401, "only the header will do");

    let (status, tokens) = visit.exchange(&code, &[]).await;
    assert_eq!((status, &tokens["scope"], &tokens["expires_in"]), (200, &"read,write".into(), &3600.into()));
    assert_eq!(visit.plain.oauth().grants[0].account, "second");
    assert_eq!(visit.exchange(&code, &[]).await.1["error"], "invalid_grant");
    assert_eq!(visit.plain.oauth().usable(), 0, "who brings a code again ends what it gave");

    let late = visit.code("keeper").await;
    visit.plain.clock.advance(TimeDelta::minutes(10));
    assert_eq!(visit.exchange(&late, &[]).await.1["error"], "invalid_grant");
}

#[tokio::test]
async fn a_refresh_token_is_good_once_and_a_revoked_one_never() {
    let visit = Visit::with(RULES).await;
    let (_, first) = visit.exchange(&visit.code("keeper").await, &[]).await;

    let (_, second) = visit.refresh(&first["refresh_token"]).await;
    assert_ne!(second["access_token"], first["access_token"]);
    assert_eq!(visit.refresh(&first["refresh_token"]).await.0, 400);
    assert_eq!(visit.refresh(&second["refresh_token"]).await.0, 400, "the whole grant has ended");

    let (_, third) = visit.exchange(&visit.code("keeper").await, &[]).await;
    let revoke = browser().post(format!("{}/revoke", visit.url)).form(&[("token", third["access_token"].as_str())]);
    let revoked = revoke.basic_auth(&visit.app.client_id, Some(&visit.app.client_secret)).send().await.unwrap();
    assert_eq!((revoked.status().as_u16(), visit.plain.oauth().usable()), (200, 0));
    assert_eq!(visit.refresh(&third["refresh_token"]).await.1["error"], "invalid_grant");
}

#[tokio::test]
async fn a_refresh_token_ends_with_its_time() {
    let visit = Visit::with(Rules { refresh_lives: Some(TimeDelta::days(60)), ..RULES }).await;
    let (_, first) = visit.exchange(&visit.code("keeper").await, &[]).await;
    visit.plain.clock.advance(TimeDelta::days(59));
    let (_, second) = visit.refresh(&first["refresh_token"]).await;
    assert_eq!(second["refresh_token_expires_in"], 5_184_000, "each refresh token has its own time");

    visit.plain.clock.advance(TimeDelta::days(60));

    assert_eq!(visit.refresh(&second["refresh_token"]).await.1["error"], "invalid_grant");
}

#[tokio::test]
async fn an_intermediary_blocks_as_many_calls_as_were_ordered() {
    let visit = Visit::with(RULES).await;
    let code = visit.code("keeper").await;
    visit.plain.troubles().block(Method::POST, "/tok", 403, 1);
    assert_eq!(visit.opens(&[]).await, 200, "another call");

    let (status, page) = visit.exchange(&code, &[]).await;

    assert_eq!((status, page), (403, Value::Null));
    assert_eq!(visit.plain.troubles().left(), 0);
    assert_eq!(visit.plain.troubles().calls(Call::Exchange), 0);
    assert_eq!(visit.exchange(&code, &[]).await.0, 200);
}

#[tokio::test]
async fn trouble_comes_as_it_was_ordered_and_what_arrived_can_be_looked_at() {
    let visit = Visit::with(RULES).await;
    let order = |trouble| visit.plain.troubles().order(Call::Exchange, trouble, 1);
    let code = visit.code("keeper").await;

    order(InjectedFault::Unavailable);
    assert_eq!(visit.exchange(&code, &[]).await.0, 503);
    order(InjectedFault::BrokenAfter);
    assert_eq!(visit.exchange(&code, &[]).await.0, 500);
    assert_eq!(visit.plain.oauth().usable(), 1, "it was carried out");
    order(InjectedFault::CutBefore);
    let cut = browser().post(format!("{}/token", visit.url)).body("<b>").send().await;
    assert!(cut.is_err());

    let latest = visit.plain.request_log.latest("POST /token").unwrap();
    assert_eq!((latest.body.as_str(), latest.size, latest.status), ("<b>", 3, None));
    let page = browser().get(format!("{}{}", visit.url, request_log::PAGE)).send().await.unwrap().text().await.unwrap();
    assert!(page.contains("&lt;b&gt;") && page.contains("code_verifier="), "{page}");
    assert!(!page.contains(&visit.app.client_secret), "{page}");
    assert_eq!(visit.plain.troubles().calls(Call::Exchange), 3);
}

#[test]
fn a_file_arrives_in_order_is_worked_on_and_is_shown_once() {
    let mut uploads = Uploads::taking(TimeDelta::minutes(2));
    let part = |text: &'static str| Bytes::from_static(text.as_bytes());
    let id = uploads.begin("keeper", "video/mp4", 6);

    assert_eq!(uploads.append("second", &id, 0, &part("abc")), Err(BadPart::Unknown));
    assert_eq!(uploads.append("keeper", &id, 3, &part("def")), Err(BadPart::OutOfOrder));
    uploads.append("keeper", &id, 0, &part("abc")).unwrap();
    uploads.append("keeper", &id, 0, &part("abc")).unwrap();
    assert_eq!(uploads.finish("keeper", &id, noon()), Err(BadPart::Incomplete));
    assert_eq!(uploads.append("keeper", &id, 3, &part("defg")), Err(BadPart::TooLong));
    uploads.append("keeper", &id, 3, &part("def")).unwrap();
    uploads.finish("keeper", &id, noon()).unwrap();
    assert_eq!(uploads.append("keeper", &id, 3, &part("def")), Err(BadPart::Ended));

    assert_eq!(uploads.progress("keeper", &id, noon()), Some(Progress::Processing));
    assert!(uploads.attach("keeper", &id, noon()).is_none());
    let later = noon() + TimeDelta::minutes(2);
    assert_eq!(uploads.attach("keeper", &id, later).unwrap().bytes, b"abcdef");
    assert!(uploads.attach("keeper", &id, later).is_none());

    let whole = uploads.whole("keeper", "image/png", &part("png"), noon());
    uploads.fail("keeper", &whole);
    assert_eq!(uploads.progress("keeper", &whole, later), Some(Progress::Failed));
    assert_eq!(uploads.get(&whole).unwrap().mime_type, "image/png");
}

#[test]
fn a_limit_begins_anew_by_the_clock_or_after_its_first_request() {
    let at = |minute| noon() + TimeDelta::minutes(minute);
    for (begins, again) in [(Begins::ByTheClock, 5), (Begins::WithTheFirst, 8)] {
        let mut limits = Limits::default();
        let limit = Limit { name: "posts", most: 2, period: TimeDelta::minutes(5), begins };
        let mut count = |minute| limits.count(limit, "us", 1, at(minute));

        assert_eq!(count(3).remaining, 1);
        assert!(!count(4).exceeded);
        let third = count(4);
        assert_eq!((third.exceeded, third.reset), (true, at(again)));
        assert!(count(again - 1).exceeded);
        assert!(!count(again).exceeded);
        assert!(!limits.count(limit, "others", 1, at(4)).exceeded);
    }
}

#[tokio::test]
async fn intermediaries_and_cut_bodies_spare_or_carry_out_the_call() {
    let grants = |visit: &Visit| visit.plain.oauth().grants.len();
    let walls =
        [(InjectedFault::Intermediary { status: 403 }, 0), (InjectedFault::IntermediaryAfter { status: 403 }, 1)];
    for (trouble, made) in walls.into_iter().chain([(InjectedFault::EmptyBody, 1), (InjectedFault::CutBody, 1)]) {
        let visit = Visit::with(RULES).await;
        let code = visit.code("keeper").await;
        visit.plain.troubles().order(Call::Exchange, trouble, 1);

        let form = [
            ("grant_type", "authorization_code"),
            ("code", &code),
            ("redirect_uri", CALLBACK),
            ("code_verifier", VERIFIER),
        ];
        let asked = browser().post(format!("{}/token", visit.url)).form(&form);
        let response = asked.basic_auth(&visit.app.client_id, Some(&visit.app.client_secret)).send().await.unwrap();
        let status = response.status().as_u16();
        let body = response.text().await;

        assert_eq!(grants(&visit), made, "{trouble:?}");
        match trouble {
            InjectedFault::EmptyBody => assert_eq!((status, body.unwrap().as_str()), (200, "")),
            InjectedFault::CutBody => assert!(status == 200 && body.is_err(), "{status}: {body:?}"),
            _ => assert!(status == 403 && body.as_ref().unwrap().starts_with("<html>"), "{status}: {body:?}"),
        }
    }
}

#[tokio::test]
async fn translated_refusals_keep_their_status_and_code() {
    let visit = Visit::with(RULES).await;
    let (status, before) = visit.exchange("forged", &[]).await;
    visit.plain.troubles().translate();

    let (translated, after) = visit.exchange("forged", &[]).await;

    assert_eq!((translated, &after["error"]), (status, &before["error"]));
    assert_ne!(after["error_description"], before["error_description"]);
}
