//! A sandbox for tests, and a client that calls it without a socket.

use std::path::Path;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode, header};
use chrono::{DateTime, TimeDelta};
use domain::clock::Clock;
use domain::token;
use serde_json::Value;
use tower::ServiceExt;
use url::{Url, form_urlencoded};

use super::{CLIENT_ID, CLIENT_SECRET, Sandbox};

pub(super) const REDIRECT_URI: &str = "http://client.test/callback";
pub(super) const VERIFIER: &str = "a-verifier-that-is-long-enough-for-everyone";

/// The status of a response that was cut off.
pub(super) const CUT: u16 = 0;

/// A sandbox whose clock stops until a test advances it.
pub(super) struct SandboxHarness {
    pub(super) sandbox: Sandbox,
    pub(super) clock: Clock,
}

pub(super) struct Tokens {
    pub(super) access: String,
    pub(super) refresh: String,
}

pub(super) struct TestResponse {
    pub(super) status: u16,
    headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

impl TestResponse {
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|it| it.to_str().unwrap()).unwrap_or_default()
    }

    pub(super) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(super) fn string(&self, field: &str) -> String {
        self.json()[field].as_str().unwrap().to_owned()
    }

    pub(super) fn error(&self) -> String {
        self.string("error")
    }
}

impl SandboxHarness {
    /// A sandbox without a folder.
    pub(super) fn new() -> Self {
        Self::with(None)
    }

    /// The sandbox stored in `dir`.
    pub(super) fn open(dir: &Path) -> Self {
        Self::with(Some(dir))
    }

    fn with(dir: Option<&Path>) -> Self {
        let clock = Clock::manual(DateTime::UNIX_EPOCH + TimeDelta::days(20_000));
        let origin = "http://sandbox.test".to_owned();
        let sandbox = Sandbox::open(dir.map(Path::to_owned), origin, clock.clone()).unwrap();
        Self { sandbox, clock }
    }

    pub(super) fn router(&self) -> Router {
        super::router(self.sandbox.clone())
    }

    pub(super) async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Vec<u8>) -> TestResponse {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::from(body)).unwrap();
        let response = self.router().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let Ok(body) = axum::body::to_bytes(body, usize::MAX).await else {
            return TestResponse { status: CUT, headers: HeaderMap::new(), body: Vec::new() };
        };
        TestResponse { status: parts.status.as_u16(), headers: parts.headers, body: body.to_vec() }
    }

    pub(super) async fn get(&self, path: &str) -> TestResponse {
        self.send("GET", path, &[], Vec::new()).await
    }

    pub(super) async fn get_part(&self, path: &str, range: &str) -> TestResponse {
        self.send("GET", path, &[("range", range)], Vec::new()).await
    }

    pub(super) async fn form(&self, path: &str, pairs: &[(&str, &str)]) -> TestResponse {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
        let form = [("content-type", "application/x-www-form-urlencoded")];
        self.send("POST", path, &form, body.into_bytes()).await
    }

    /// Sends a form of the client, authenticated with its secret.
    pub(super) async fn client_form(&self, path: &str, pairs: &[(&str, &str)]) -> TestResponse {
        let client = [("client_id", CLIENT_ID), ("client_secret", CLIENT_SECRET)];
        self.form(path, &[&client, pairs].concat()).await
    }

    pub(super) async fn call(&self, method: &str, path: &str, token: &str, body: Option<Value>) -> TestResponse {
        let authorization = format!("Bearer {token}");
        let headers = [("authorization", authorization.as_str()), ("content-type", "application/json")];
        let body = body.map(|it| it.to_string().into_bytes()).unwrap_or_default();
        self.send(method, path, &headers, body).await
    }

    pub(super) async fn post(&self, token: &str, post: Value) -> TestResponse {
        self.call("POST", "/sandbox/api/posts", token, Some(post)).await
    }

    pub(super) async fn upload(&self, token: &str, mime_type: &str, bytes: Vec<u8>) -> TestResponse {
        let authorization = format!("Bearer {token}");
        let headers = [("authorization", authorization.as_str()), ("content-type", mime_type)];
        self.send("POST", "/sandbox/api/media", &headers, bytes).await
    }

    pub(super) async fn try_arm(&self, order: Value) -> TestResponse {
        let headers = [("content-type", "application/json")];
        self.send("POST", "/sandbox/faults", &headers, order.to_string().into_bytes()).await
    }

    pub(super) async fn arm(&self, order: Value) -> TestResponse {
        let answer = self.try_arm(order).await;
        assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text());
        answer
    }

    /// The user grants the client access to this account; returns the code.
    pub(super) async fn allow(&self, handle: &str) -> String {
        self.allow_with(handle, &[], None).await
    }

    /// Like [`Self::allow`], for several accounts.
    pub(super) async fn allow_several(&self, handle: &str, also: &[&str]) -> String {
        self.allow_with(handle, also, None).await
    }

    async fn allow_with(&self, handle: &str, also: &[&str], scope: Option<&str>) -> String {
        let challenge = token::hash(VERIFIER);
        let request = form_urlencoded::Serializer::new(String::new())
            .append_pair("response_type", "code")
            .append_pair("client_id", CLIENT_ID)
            .append_pair("redirect_uri", REDIRECT_URI)
            .append_pair("state", "a state")
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256")
            .extend_pairs(scope.map(|it| ("scope", it)))
            .finish();
        let page = self.get(&format!("/sandbox/oauth/authorize?{request}")).await;
        assert_eq!(page.status, StatusCode::OK, "{}", page.text());
        let also: Vec<String> = also.iter().map(|it| format!("also.{it}")).collect();
        let mut form = vec![("request", request.as_str()), ("account", handle), ("answer", "allow")];
        form.extend(also.iter().map(|it| (it.as_str(), "on")));
        let answer = self.form("/sandbox/oauth/authorize", &form).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text());
        let back = Url::parse(answer.header(header::LOCATION.as_str())).unwrap();
        assert!(back.as_str().starts_with(REDIRECT_URI));
        let value = |name: &str| back.query_pairs().find(|(it, _)| it == name).map(|(_, value)| value.into_owned());
        assert_eq!(value("state").as_deref(), Some("a state"));
        value("code").unwrap()
    }

    pub(super) async fn exchange(&self, code: &str, verifier: &str) -> TestResponse {
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("code_verifier", verifier),
            ("redirect_uri", REDIRECT_URI),
        ];
        self.client_form("/sandbox/oauth/token", &form).await
    }

    pub(super) async fn refresh(&self, refresh_token: &str) -> TestResponse {
        let form = [("grant_type", "refresh_token"), ("refresh_token", refresh_token)];
        self.client_form("/sandbox/oauth/token", &form).await
    }

    pub(super) async fn connect(&self, handle: &str) -> Tokens {
        self.connect_with(handle, None).await
    }

    pub(super) async fn connect_with(&self, handle: &str, scope: Option<&str>) -> Tokens {
        let code = self.allow_with(handle, &[], scope).await;
        let answer = self.exchange(&code, VERIFIER).await;
        Tokens { access: answer.string("access_token"), refresh: answer.string("refresh_token") }
    }

    /// The texts of all public posts, oldest first.
    pub(super) async fn public_texts(&self) -> Vec<String> {
        let list = self.get("/sandbox/posts.json").await.json();
        let posts = list.as_array().unwrap().iter();
        posts.map(|it| it["text"].as_str().unwrap().to_owned()).collect()
    }
}
