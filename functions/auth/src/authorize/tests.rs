use api::TrustedProxy;
use axum::body::Body;
use axum::extract::Request;
use chrono::TimeDelta;
use domain::token::Pkce;
use reqwest::Url;
use secrecy::ExposeSecret;
use serde_json::json;
use storage::LimitSubject;

use crate::testing::{Service, TestResponse, service};

const BACK: &str = "http://127.0.0.1:33418/back";

/// A program that wants access, with what it keeps until it has the code.
struct TestClient {
    program: String,
    pkce: Pkce,
}

impl TestClient {
    fn new(service: &Service) -> Self {
        Self { program: service.program.clone(), pkce: Pkce::random() }
    }

    /// The address that it opens, with these parameters in place of its own.
    fn address(&self, overrides: &[(&str, &str)]) -> String {
        let defaults = [
            ("response_type", "code"),
            ("client_id", &self.program),
            ("redirect_uri", BACK),
            ("code_challenge", &self.pkce.challenge),
            ("code_challenge_method", "S256"),
            ("state", "s t"),
            ("resource", "https://social.example/"),
        ];
        let defaults = defaults.into_iter().filter(|it| overrides.iter().all(|other| other.0 != it.0));
        let given = overrides.iter().copied().filter(|it| !it.1.is_empty());
        let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(defaults.chain(given)).finish();
        format!("/oauth/authorize?{query}")
    }

    /// Exchanges a code, with these fields in place of its own.
    async fn exchange(&self, service: &Service, code: &str, overrides: &[(&str, &str)]) -> TestResponse {
        let defaults = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("client_id", &self.program),
            ("redirect_uri", BACK),
            ("code_verifier", self.pkce.verifier.expose_secret()),
        ];
        let defaults = defaults.into_iter().filter(|it| overrides.iter().all(|other| other.0 != it.0));
        let form: Vec<_> = defaults.chain(overrides.iter().copied()).collect();
        service.submit("/api/v1/oauth/token", "", &form).await
    }
}

fn request_token(page: &TestResponse) -> String {
    let after = page.text.split("name=\"request\" value=\"").nth(1);
    after.unwrap_or_else(|| panic!("{}", page.text)).split('"').next().unwrap().to_owned()
}

/// Opens the page as the person of this session, and decides.
async fn decide(service: &Service, asking: &TestClient, session: &str, decision: &str) -> Url {
    decide_at(service, &asking.address(&[]), session, decision).await
}

async fn decide_at(service: &Service, address: &str, session: &str, decision: &str) -> Url {
    let done = decision_page(service, address, session, decision).await;
    Url::parse(done.header("refresh").strip_prefix("0; url=").unwrap()).unwrap()
}

async fn decision_page(service: &Service, address: &str, session: &str, decision: &str) -> TestResponse {
    let page = service.page(address, session).await;
    assert_eq!(page.status, 200, "{}", page.text);
    let (csrf, request) = (service.csrf(session).await, request_token(&page));
    let form = [("csrf", csrf.as_str()), ("request", request.as_str()), ("decision", decision)];
    let done = service.submit("/oauth/authorize", session, &form).await;
    assert_eq!(done.status, 200, "{}", done.text);
    done
}

fn parameter(url: &Url, name: &str) -> Option<String> {
    url.query_pairs().find(|it| it.0 == name).map(|it| it.1.into_owned())
}

#[tokio::test]
async fn app_gets_the_approved_scopes_until_they_are_revoked() {
    let service = service().await;
    let asking = TestClient::new(&service);
    let session = service.sign_in("one@example.com", "/account").await.session();
    let page = service.page(&asking.address(&[("scope", "user:read posts:write openid")]), &session).await;
    for shown in
        ["Planner &#60;b&#62;", "127.0.0.1", "Read your name", "schedule and delete", "your computer (127.0.0.1;"]
    {
        assert!(page.text.contains(shown), "{shown}: {}", page.text);
    }
    assert!(!page.text.contains("Upload images"), "{}", page.text);

    let back = decide(&service, &asking, &session, "approve").await;
    assert!(back.as_str().starts_with(BACK), "{back}");
    assert_eq!(parameter(&back, "state").as_deref(), Some("s t"));
    assert_eq!(parameter(&back, "iss").as_deref(), Some("https://social.example"));
    let answer = asking.exchange(&service, &parameter(&back, "code").unwrap(), &[]).await;

    assert_eq!((answer.status, answer.header("cache-control")), (200, "no-store"), "{}", answer.text);
    assert_eq!(answer.body["scope"], "connections:read posts:read posts:write media:write");
    assert_eq!((&answer.body["token_type"], &answer.body["expires_in"]), (&json!("Bearer"), &json!(7_776_000)));
    let token = answer.body["access_token"].as_str().unwrap();
    assert_eq!(service.send("GET", "/api/v1/user", Some(token), "").await.status, 403);
    let account = service.page("/account", &session).await.text;
    assert!(account.contains("Planner &#60;b&#62;") && account.contains("127.0.0.1"), "{account}");
    let grant = account.split("name=\"grant\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let csrf = service.csrf(&session).await;
    service.submit("/account/revoke", &session, &[("csrf", &csrf), ("grant", grant)]).await;
    assert_eq!(service.send("GET", "/api/v1/user", Some(token), "").await.status, 401);
}

#[tokio::test]
async fn user_can_limit_an_app_to_drafts_or_deny_it() {
    let service = service().await;
    let asking = TestClient::new(&service);
    let session = service.sign_in("one@example.com", "/account").await.session();

    let drafts = decide(&service, &asking, &session, "approve_drafts").await;
    let answer = asking.exchange(&service, &parameter(&drafts, "code").unwrap(), &[]).await;
    assert_eq!(answer.body["scope"], "connections:read posts:read posts:draft media:write");

    let denied = decide(&service, &asking, &session, "deny").await;
    assert_eq!(parameter(&denied, "error").as_deref(), Some("access_denied"));
    assert_eq!((parameter(&denied, "code"), parameter(&denied, "state").as_deref()), (None, Some("s t")));
    for (decision, title) in [("approve", "Access approved"), ("deny", "Access denied")] {
        let page = decision_page(&service, &asking.address(&[]), &session, decision).await;
        assert!(page.text.contains(&format!("<title>{title}")), "{}", page.text);
    }
}

#[tokio::test]
async fn user_can_limit_an_app_to_one_profile() {
    let service = service().await;
    let asking = TestClient::new(&service);
    let session = service.sign_in("one@example.com", "/account").await.session();
    let profile = service.profile(&session, "The Harbor").await.to_string();
    let page = service.page(&asking.address(&[]), &session).await;
    assert!(page.text.contains(&format!("<option value=\"{profile}\">The Harbor</option>")), "{}", page.text);
    let (csrf, request) = (service.csrf(&session).await, request_token(&page));
    let decide = async |session: &str, csrf: &str, profile: &str| {
        let form =
            [("csrf", csrf), ("request", request.as_str()), ("decision", "approve_drafts"), ("profile", profile)];
        service.submit("/oauth/authorize", session, &form).await
    };

    let unknown = decide(&session, &csrf, "7").await;
    assert_eq!((unknown.status, unknown.header("refresh")), (422, ""), "{}", unknown.text);
    assert!(unknown.text.contains("You have no such profile"), "{}", unknown.text);
    assert_eq!(request_token(&unknown), request);
    let other = service.sign_in("two@example.com", "/account").await.session();
    let theirs = decide(&other, &service.csrf(&other).await, "7").await;
    assert_eq!(theirs.status, 410, "another user does not see the request: {}", theirs.text);
    let done = decide(&session, &csrf, &profile).await;
    let back = Url::parse(done.header("refresh").strip_prefix("0; url=").unwrap()).unwrap();
    let answer = asking.exchange(&service, &parameter(&back, "code").unwrap(), &[]).await;

    assert_eq!(answer.status, 200, "{}", answer.text);
    let user = service.session_user(&session).await;
    let grants = service.store.grants_of(user).await.unwrap();
    assert_eq!(grants.tokens[0].1.profile_id.map(|it| it.to_string()), Some(profile));
    assert!(service.page("/account", &session).await.text.contains("Limited to the profile <bdi>The Harbor</bdi>"));
}

#[tokio::test]
async fn code_works_once_and_only_for_its_app() {
    let service = service().await;
    let asking = TestClient::new(&service);
    let session = service.sign_in("one@example.com", "/account").await.session();
    let code = parameter(&decide(&service, &asking, &session, "approve").await, "code").unwrap();
    let other = Pkce::random();
    let error = async |instead: &[(&str, &str)]| {
        let answer = asking.exchange(&service, &code, instead).await;
        (answer.status, answer.body["error"].as_str().unwrap_or_default().to_owned())
    };
    let refused = |error: &str| (400, error.to_owned());

    assert_eq!(error(&[("client_id", "https://app.example/other.json")]).await, refused("invalid_grant"));
    assert_eq!(error(&[("redirect_uri", "http://127.0.0.1:1/back")]).await, refused("invalid_grant"));
    assert_eq!(error(&[("code_verifier", other.verifier.expose_secret())]).await, refused("invalid_grant"));
    assert_eq!(error(&[("code_verifier", "")]).await, refused("invalid_request"));
    assert_eq!(error(&[("resource", "https://other.example/mcp")]).await, refused("invalid_target"));
    assert_eq!(error(&[("grant_type", "refresh_token")]).await, refused("unsupported_grant_type"));
    assert_eq!(error(&[("code", "x")]).await, refused("invalid_grant"));
    assert_eq!(error(&[("code", &format!("{code}x"))]).await, refused("invalid_grant"));
    assert_eq!(error(&[("client_id", "a"), ("client_id", "b")]).await, refused("invalid_request"));

    let token = asking.exchange(&service, &code, &[]).await.body["access_token"].as_str().unwrap().to_owned();
    assert_eq!(service.send("GET", "/api/v1/user", Some(&token), "").await.status, 403, "it is good");
    // A repeated code may be stolen, so its token is revoked.
    assert_eq!(error(&[]).await, refused("invalid_grant"));
    assert_eq!(service.send("GET", "/api/v1/user", Some(&token), "").await.status, 401);
}

#[tokio::test]
async fn token_is_valid_for_the_authorized_resource_or_a_part() {
    const ALL: &str = "https://social.example";
    const API: &str = "https://social.example/api/v1/";
    const MCP: &str = "https://social.example/mcp";
    let service = service().await;
    let asking = TestClient::new(&service);
    let session = service.sign_in("one@example.com", "/account").await.session();
    let status = async |token: &str, proof: &TrustedProxy| {
        let mut request = Request::get("/api/v1/user").header("authorization", format!("Bearer {token}"));
        request.headers_mut().unwrap().extend(proof.forwarding_headers([198, 51, 100, 7].into()).unwrap());
        service.send_request(request.body(Body::empty()).unwrap()).await.status
    };

    // 403: the token is good, and lacks the scope.
    for (authorized, narrowed, directly, by_tools) in [
        ("", None, 403, 403),
        (ALL, None, 403, 403),
        (ALL, Some(ALL), 403, 403),
        (ALL, Some(API), 403, 401),
        (ALL, Some(MCP), 401, 403),
        (API, None, 403, 401),
        (API, Some("https://social.example/api/v1"), 403, 401),
        (MCP, None, 401, 403),
        (MCP, Some(""), 401, 403),
        (MCP, Some("https://social.example/mcp/"), 401, 403),
    ] {
        let address = asking.address(&[("resource", authorized)]);
        let code = parameter(&decide_at(&service, &address, &session, "approve").await, "code").unwrap();
        let field: Vec<_> = narrowed.map(|it| ("resource", it)).into_iter().collect();
        let answer = asking.exchange(&service, &code, &field).await;
        let token = answer.body["access_token"].as_str().unwrap();
        assert_eq!(status(token, &TrustedProxy::mcp("forged".into())).await, directly, "{authorized}, {narrowed:?}");
        assert_eq!(status(token, &service.api.proxies[0]).await, by_tools, "{authorized}, {narrowed:?}");
    }
    for (authorized, wider) in [(MCP, ALL), (MCP, API), (API, MCP), (API, ALL)] {
        let address = asking.address(&[("resource", authorized)]);
        let code = parameter(&decide_at(&service, &address, &session, "approve").await, "code").unwrap();
        let answer = asking.exchange(&service, &code, &[("resource", wider)]).await;
        assert_eq!((answer.status, &answer.body["error"]), (400, &json!("invalid_target")), "{authorized} to {wider}");
        assert_eq!(asking.exchange(&service, &code, &[]).await.status, 200, "the code is not spent");
    }
}

#[tokio::test]
async fn concurrent_exchanges_issue_one_token() {
    let service = service().await;
    let asking = TestClient::new(&service);
    let session = service.sign_in("one@example.com", "/account").await.session();
    let code = parameter(&decide(&service, &asking, &session, "approve").await, "code").unwrap();

    let answers = futures::join!(asking.exchange(&service, &code, &[]), asking.exchange(&service, &code, &[]));

    let mut statuses = [answers.0.status, answers.1.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 400]);
}

#[tokio::test]
async fn code_expires_after_one_minute_and_request_after_ten() {
    let service = service().await;
    let asking = TestClient::new(&service);
    let session = service.sign_in("one@example.com", "/account").await.session();
    let code = parameter(&decide(&service, &asking, &session, "approve").await, "code").unwrap();
    let page = service.page(&asking.address(&[]), &session).await;
    let (csrf, request) = (service.csrf(&session).await, request_token(&page));

    service.clock.advance(TimeDelta::minutes(1));
    assert_eq!(asking.exchange(&service, &code, &[]).await.body["error"], "invalid_grant");
    service.clock.advance(TimeDelta::minutes(9));

    let form = [("csrf", csrf.as_str()), ("request", request.as_str()), ("decision", "approve")];
    assert_eq!(service.submit("/oauth/authorize", &session, &form).await.status, 410);
}

#[tokio::test]
async fn request_is_decided_once_by_its_users_form() {
    let service = service().await;
    let asking = TestClient::new(&service);
    let session = service.sign_in("one@example.com", "/account").await.session();
    let other = service.sign_in("two@example.com", "/account").await.session();
    let request = request_token(&service.page(&asking.address(&[]), &session).await);
    let send = async |session: &str, csrf: &str, decision: &str| {
        let form = [("csrf", csrf), ("request", request.as_str()), ("decision", decision)];
        service.submit("/oauth/authorize", session, &form).await.status
    };
    let (own, others) = (service.csrf(&session).await, service.csrf(&other).await);

    assert_eq!(send(&session, &others, "approve").await, 403);
    assert_eq!(send(&other, &others, "approve").await, 410);
    assert_eq!(send(&other, &others, "deny").await, 410);
    assert_eq!(send("", &own, "approve").await, 401);
    assert_eq!(send(&session, &own, "approve").await, 200);
    assert_eq!(send(&session, &own, "approve").await, 410);
    assert_eq!(send(&session, &own, "deny").await, 410);
}

#[tokio::test]
async fn document_is_fetched_with_a_permit() {
    let service = service().await;
    let asking = TestClient::new(&service);
    let session = service.sign_in("one@example.com", "/account").await.session();
    let of = LimitSubject::requests_of_user(service.session_user(&session).await);
    for holder in ["a", "b", "c"] {
        service.store.record_permit(&of, holder, service.clock.now(), 1).await.unwrap();
    }

    let refused = service.page(&asking.address(&[]), &session).await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, "5"));
    assert!(refused.text.contains("Wait 5 seconds"), "{}", refused.text);

    service.store.release_permit(&of, "a").await.unwrap();
    assert_eq!(service.page(&asking.address(&[]), &session).await.status, 200);
    let open = service.store.in_flight_calls(&of).await.unwrap();
    assert_eq!(open.others("", service.clock.now()), 2, "the permit is released");
}

#[tokio::test]
async fn unlisted_redirect_uri_is_never_used() {
    let service = service().await;
    let asking = TestClient::new(&service);
    let session = service.sign_in("one@example.com", "/account").await.session();
    let open = async |instead: &[(&str, &str)]| service.page(&asking.address(instead), &session).await;

    for (instead, words) in [
        (("redirect_uri", "https://evil.example/back"), "is not listed"),
        (("redirect_uri", "http://127.0.0.1:1/other"), "is not listed"),
        (("redirect_uri", ""), "is not listed"),
        (("redirect_uri", "https://app.example/back/"), "is not listed"),
        (("client_id", "planner"), "client_id is not"),
        (("client_id", ""), "client_id is not"),
        (("client_id", "https://192.168.0.1/client.json"), "not public"),
        (("client_id", "http://localhost:1/client.json"), "not permitted"),
    ] {
        let page = open(&[instead]).await;
        assert_eq!((page.status, page.header("refresh")), (400, ""), "{instead:?}");
        assert!(page.text.contains(words) && !page.text.contains("Go back to"), "{instead:?}: {}", page.text);
    }
    let [known, other] = ["/client.json", "/client.json?x"].map(|it| service.program.replace("/client.json", it));
    assert_eq!(open(&[("client_id", &known)]).await.status, 200);
    assert!(open(&[("client_id", &other)]).await.text.contains("not the URL of the document"));
}

#[tokio::test]
async fn state_may_have_1024_bytes() {
    let service = service().await;
    let asking = TestClient::new(&service);
    let session = service.sign_in("one@example.com", "/account").await.session();

    for (bytes, status) in [(1_024, 200), (1_025, 400)] {
        let page = service.page(&asking.address(&[("state", &"s".repeat(bytes))]), &session).await;
        assert_eq!(page.status, status, "{bytes}");
    }
}

#[tokio::test]
async fn other_errors_show_a_page_with_a_link_to_the_app() {
    let service = service().await;
    let asking = TestClient::new(&service);
    let session = service.sign_in("one@example.com", "/account").await.session();

    for (instead, error) in [
        (("response_type", "token"), "unsupported_response_type"),
        (("code_challenge", ""), "invalid_request"),
        (("code_challenge_method", "plain"), "invalid_request"),
        (("code_challenge_method", ""), "invalid_request"),
        (("resource", "https://other.example/mcp"), "invalid_target"),
        (("scope", "admin"), "invalid_scope"),
    ] {
        let page = service.page(&asking.address(&[instead]), &session).await;
        assert_eq!((page.status, page.header("refresh")), (400, ""), "{instead:?}");
        let link = format!("{BACK}?error={error}&#38;iss=https%3A%2F%2Fsocial.example&#38;state=s+t");
        assert!(page.text.contains(&link), "{instead:?}: {}", page.text);
    }
}

#[tokio::test]
async fn signed_out_user_signs_in_and_returns() {
    let service = service().await;
    let asking = TestClient::new(&service);

    let sent = service.page(&asking.address(&[]), "").await;
    let back = service.sign_in("one@example.com", &asking.address(&[])).await;

    assert_eq!(sent.status, 303);
    assert!(sent.header("location").starts_with("/sign-in?next=/oauth/authorize%3F"), "{}", sent.header("location"));
    assert_eq!((back.status, back.header("location")), (303, asking.address(&[]).as_str()));
}
