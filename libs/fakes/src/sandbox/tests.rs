//! Tests of the whole sandbox: what its pages and the conformance suite do not show.

use std::path::Path;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::Request;
use chrono::{DateTime, TimeDelta};
use domain::clock::Clock;
use domain::token;
use serde_json::{Value, json};
use tower::ServiceExt;
use url::{Url, form_urlencoded};

use super::{CLIENT_ID, CLIENT_SECRET, Sandbox, router};

const REDIRECT_URI: &str = "http://client.test/callback";
const VERIFIER: &str = "a-verifier-that-is-long-enough-for-everyone";
const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");
const JSON: (&str, &str) = ("content-type", "application/json");

/// The status of a response that was cut off.
const CUT: u16 = 0;

/// A status, the `Location`, and the body.
struct Reply(u16, String, Vec<u8>);

impl Reply {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.2).into_owned()
    }

    fn field(&self, name: &str) -> String {
        let body: Value = serde_json::from_slice(&self.2).unwrap();
        body[name].as_str().unwrap_or_else(|| panic!("no {name} in {body}")).to_owned()
    }
}

fn open(dir: Option<&Path>) -> Sandbox {
    let clock = Clock::manual(DateTime::UNIX_EPOCH + TimeDelta::days(20_000));
    Sandbox::open(dir.map(Path::to_owned), "http://sandbox.test".to_owned(), clock).unwrap()
}

impl Sandbox {
    async fn send(&self, request: (&str, &str), headers: &[(&str, &str)], body: impl Into<Body>) -> Reply {
        let mut builder = Request::builder().method(request.0).uri(format!("/sandbox{}", request.1));
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        let response = router(self.clone()).oneshot(builder.body(body.into()).unwrap()).await.unwrap();
        let (head, body) = response.into_parts();
        let location = head.headers.get("location").map(|it| it.to_str().unwrap().to_owned());
        let Ok(body) = to_bytes(body, usize::MAX).await else { return Reply(CUT, String::new(), Vec::new()) };
        Reply(head.status.as_u16(), location.unwrap_or_default(), body.to_vec())
    }

    async fn get(&self, path: &str) -> Reply {
        self.send(("GET", path), &[], Body::empty()).await
    }

    async fn form(&self, path: &str, pairs: &[(&str, &str)]) -> Reply {
        let client = [("client_id", CLIENT_ID), ("client_secret", CLIENT_SECRET)];
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(client).extend_pairs(pairs).finish();
        self.send(("POST", path), &[FORM], body).await
    }

    /// The user allows access to these accounts; returns the code.
    async fn allow(&self, account: &str) -> String {
        let request = form_urlencoded::Serializer::new(String::new())
            .append_pair("response_type", "code")
            .append_pair("client_id", CLIENT_ID)
            .append_pair("redirect_uri", REDIRECT_URI)
            .append_pair("code_challenge", &token::hash(VERIFIER))
            .append_pair("code_challenge_method", "S256")
            .finish();
        let path = format!("/oauth/authorize?{request}");
        assert!(self.get(&path).await.text().contains(">Allow</button>"));
        let back = self.form(&path, &[("account", account), ("also.ferry", "on"), ("decision", "allow")]).await;
        let back = Url::parse(&back.1).unwrap();
        back.query_pairs().find(|(name, _)| name == "code").unwrap().1.into_owned()
    }

    async fn exchange(&self, code: &str) -> Reply {
        let grant = [("grant_type", "authorization_code"), ("code", code)];
        let proof = [("code_verifier", VERIFIER), ("redirect_uri", REDIRECT_URI)];
        self.form("/oauth/token", &[grant, proof].concat()).await
    }

    async fn refresh(&self, token: &str) -> Reply {
        self.form("/oauth/token", &[("grant_type", "refresh_token"), ("refresh_token", token)]).await
    }

    /// The access token and the refresh token for an account.
    async fn connect(&self, account: &str) -> (String, String) {
        let tokens = self.exchange(&self.allow(account).await).await;
        (tokens.field("access_token"), tokens.field("refresh_token"))
    }

    async fn post(&self, token: &str, post: Value) -> Reply {
        let authorization = format!("Bearer {token}");
        self.send(("POST", "/api/posts"), &[("authorization", &authorization), JSON], post.to_string()).await
    }

    async fn arm(&self, order: Value) {
        let armed = self.send(("POST", "/faults"), &[JSON], order.to_string()).await;
        assert_eq!(armed.0, 201, "{}", armed.text());
    }

    fn texts(&self) -> Vec<String> {
        self.ledger().posts().iter().map(|it| it.text.clone()).collect()
    }

    async fn wait_for_a_post(&self) {
        let published = async {
            while self.texts().is_empty() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), published).await.unwrap();
    }
}

#[tokio::test]
async fn acknowledged_calls_survive_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let sandbox = open(Some(dir.path()));
    let (access, refresh) = sandbox.connect("meadow").await;
    let (revoked, _) = sandbox.connect("harbour").await;
    sandbox.form("/oauth/revoke", &[("token", &revoked)]).await;
    let unspent = sandbox.allow("harbour").await;
    let headers = [("authorization", format!("Bearer {access}")), ("content-type", "image/png".to_owned())];
    let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
    let file = sandbox.send(("POST", "/api/media"), &headers, "png").await.field("id");
    sandbox.post(&access, json!({"text": "kept", "media_ids": [file]})).await;
    std::fs::write(dir.path().join("media/half-an-upload"), "p").unwrap();
    drop(sandbox);

    let sandbox = open(Some(dir.path()));

    assert_eq!(sandbox.texts(), ["kept"]);
    assert_eq!(sandbox.get(&format!("/media/{file}")).await.2, b"png");
    assert!(!dir.path().join("media/half-an-upload").exists());
    assert_eq!(sandbox.post(&access, json!({"text": "next"})).await.0, 201);
    assert_eq!(sandbox.post(&revoked, json!({"text": "no"})).await.0, 401);
    let refreshed = sandbox.refresh(&refresh).await.field("access_token");
    assert_eq!(sandbox.exchange(&unspent).await.0, 200);
    drop(sandbox);

    let sandbox = open(Some(dir.path()));

    assert_eq!(sandbox.texts(), ["kept", "next"]);
    assert_eq!(sandbox.post(&refreshed, json!({"text": "last"})).await.0, 201);
    assert_eq!(sandbox.exchange(&unspent).await.0, 400);
}

#[tokio::test]
async fn slow_and_late_posts_are_published_without_a_client() {
    for (kind, status) in [("slow", None), ("late", Some(CUT))] {
        let sandbox = open(None);
        let (access, _) = sandbox.connect("meadow").await;
        sandbox.arm(json!({"kind": kind, "delay_ms": 200})).await;

        let post = sandbox.post(&access, json!({"text": "later"}));
        let reply = tokio::time::timeout(Duration::from_millis(50), post).await;

        assert_eq!((sandbox.texts().len(), reply.ok().map(|it| it.0)), (0, status), "{kind}");
        sandbox.wait_for_a_post().await;
    }
}

#[tokio::test]
async fn faults_of_access_end_it_for_one_account() {
    for (kind, status, works_afterwards) in
        [("refuse_refresh", 400, true), ("refresh_unreachable", 503, true), ("lose_refresh", CUT, false)]
    {
        let sandbox = open(None);
        let (access, refresh) = sandbox.connect("meadow").await;
        let (other, _) = sandbox.connect("harbour").await;
        sandbox.arm(json!({"kind": kind, "account": "meadow"})).await;

        assert_eq!(sandbox.post(&access, json!({"text": "no"})).await.0, 401, "{kind}");
        assert_eq!(sandbox.refresh(&refresh).await.0, status, "{kind}");
        assert_eq!(sandbox.refresh(&refresh).await.0 == 200, works_afterwards, "{kind}");
        assert_eq!(sandbox.post(&other, json!({"text": "yes"})).await.0, 201, "{kind}");
    }
}

#[tokio::test]
async fn forms_of_other_sites_arm_nothing() {
    let sandbox = open(None);

    let text = sandbox.send(("POST", "/faults"), &[("content-type", "text/plain")], r#"{"kind":"slow"}"#).await;
    let form = sandbox.form("/switches", &[("csrf", "guess"), ("kind", "slow"), ("count", "1")]).await;
    sandbox.arm(json!({"kind": "slow"})).await;
    let off = sandbox.form("/switches/off", &[("csrf", "guess")]).await;

    assert_eq!((text.0, form.0, off.0), (415, 403, 403));
    assert_eq!(sandbox.faults().armed().len(), 1);
}

#[tokio::test]
async fn text_of_a_post_is_escaped() {
    let sandbox = open(None);
    let (access, _) = sandbox.connect("meadow").await;
    sandbox.post(&access, json!({"text": "<script>alert(1)</script>"})).await;

    for path in ["", "/posts/1", "/@meadow"] {
        let page = sandbox.get(path).await.text();
        assert!(page.contains("alert(1)") && !page.contains("<script>"), "{path}: {page}");
    }
}
