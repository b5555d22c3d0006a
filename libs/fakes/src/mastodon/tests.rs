//! Tests of the fake with a plain HTTP client.

mod front;
mod media;
mod oauth;
mod statuses;

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::clock::Clock;
use domain::testing::noon;
use platforms::conformance::fake_platform::{Decision, FakePlatform};
use reqwest::{RequestBuilder, Response};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use url::Url;

use super::{Flavor, Server};
use crate::fake::wire::browser;

const CALLBACK: &str = "https://us.example/callback";
const VERIFIER: &str = "a-verifier-of-more-than-forty-three-characters";
const PNG: &[u8] = b"\x89PNG\r\n\x1A\n and more";
const MP4: &[u8] = b"\0\0\0\x18ftypisom and more";

/// A server, its clock, and a registered app.
struct Visit {
    server: Server,
    clock: Clock,
    app: Value,
    token: String,
}

impl Visit {
    /// The app has no grant.
    async fn stranger(flavor: Flavor, scopes: &str) -> Self {
        let clock = Clock::manual(noon());
        let server = Server::start_as(flavor, clock.clone()).await;
        let app = json!({"client_name": "Us", "redirect_uris": CALLBACK, "scopes": scopes});
        let app = post_json(&server, "/api/v1/apps", &app).await;
        assert_eq!(app.status(), 200);
        Self { server, clock, app: app.json().await.unwrap(), token: String::new() }
    }

    /// The app has a grant.
    async fn start_connected(flavor: Flavor, scopes: &str) -> Self {
        let mut harness = Self::stranger(flavor, scopes).await;
        harness.token = harness.tokens(scopes).await["access_token"].as_str().unwrap().to_owned();
        harness
    }

    async fn usual() -> Self {
        Self::start_connected(Flavor::Mastodon, "profile read:statuses write:statuses write:media").await
    }

    fn app(&self, field: &str) -> String {
        self.app[field].as_str().unwrap().to_owned()
    }

    fn consent(&self, scope: &str, redirect_uri: &str) -> String {
        let mut url = Url::parse(&format!("{}/oauth/authorize", self.server.base_url())).unwrap();
        url.query_pairs_mut().extend_pairs([
            ("response_type", "code"),
            ("client_id", &self.app("client_id")),
            ("redirect_uri", redirect_uri),
            ("scope", scope),
            ("state", "a state"),
            ("code_challenge", &URL_SAFE_NO_PAD.encode(Sha256::digest(VERIFIER))),
            ("code_challenge_method", "S256"),
        ]);
        url.into()
    }

    async fn code(&self, scope: &str) -> String {
        let query = self.server.redirect_query(&self.consent(scope, CALLBACK), Decision::Allow).await;
        assert_eq!(query["state"], "a state");
        query["code"].clone()
    }

    /// The form of a code exchange, with these changes.
    fn form(&self, code: &str, change: &[(&str, &str)]) -> BTreeMap<String, String> {
        let mut form = BTreeMap::from([
            ("grant_type".to_owned(), "authorization_code".to_owned()),
            ("code".to_owned(), code.to_owned()),
            ("client_id".to_owned(), self.app("client_id")),
            ("client_secret".to_owned(), self.app("client_secret")),
            ("redirect_uri".to_owned(), CALLBACK.to_owned()),
            ("code_verifier".to_owned(), VERIFIER.to_owned()),
        ]);
        form.extend(change.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        form
    }

    async fn token(&self, form: &BTreeMap<String, String>) -> (u16, Value) {
        let url = format!("{}/oauth/token", self.server.base_url());
        read(browser().post(url).form(form).send().await.unwrap()).await
    }

    async fn tokens(&self, scope: &str) -> Value {
        let code = self.code(scope).await;
        let (status, tokens) = self.token(&self.form(&code, &[])).await;
        assert_eq!(status, 200, "{tokens}");
        tokens
    }

    fn get(&self, path: &str) -> RequestBuilder {
        browser().get(format!("{}{path}", self.server.base_url())).bearer_auth(&self.token)
    }

    fn post(&self, path: &str) -> RequestBuilder {
        browser().post(format!("{}{path}", self.server.base_url())).bearer_auth(&self.token)
    }

    async fn publish(&self, status: &Value) -> (u16, Value) {
        read(self.post("/api/v1/statuses").json(status).send().await.unwrap()).await
    }

    async fn upload(&self, part: &str, bytes: &[u8]) -> (u16, Value) {
        read(self.uploading("/api/v2/media", part, bytes).send().await.unwrap()).await
    }

    fn uploading(&self, path: &str, part: &str, bytes: &[u8]) -> RequestBuilder {
        let body = [b"--edge\r\n", part.as_bytes(), b"\r\n\r\n", bytes, b"\r\n--edge--\r\n"].concat();
        self.post(path).header("Content-Type", "multipart/form-data; boundary=edge").body(body)
    }

    async fn picture(&self) -> String {
        let (status, picture) = self.upload(&part("image/png"), PNG).await;
        assert_eq!(status, 200, "{picture}");
        picture["id"].as_str().unwrap().to_owned()
    }

    async fn video(&self) -> String {
        let (status, video) = self.upload(&part("video/mp4"), MP4).await;
        assert_eq!((status, &video["url"]), (202, &Value::Null));
        video["id"].as_str().unwrap().to_owned()
    }
}

fn part(mime_type: &str) -> String {
    format!("Content-Disposition: form-data; name=\"file\"; filename=\"a\"\r\nContent-Type: {mime_type}")
}

async fn post_json(server: &Server, path: &str, body: &Value) -> Response {
    browser().post(format!("{}{path}", server.base_url())).json(body).send().await.unwrap()
}

async fn read(response: Response) -> (u16, Value) {
    (response.status().as_u16(), response.json().await.unwrap())
}

fn error((status, mut answer): (u16, Value)) -> (u16, String) {
    (status, serde_json::from_value(answer["error"].take()).unwrap_or_default())
}

fn refused(status: u16, error: &str) -> (u16, String) {
    (status, error.to_owned())
}
