//! A harness: the function on the harness of the library, called through its router.

use std::ops::Deref;

use api::testing::api_on;
use api::{ClientIp, SignedIn};
use axum::Router;
use axum::body::Body;
use chrono::TimeDelta;
use domain::access_token::AccessToken;
use domain::id::WebhookId;
use domain::scope::{Scope, Scopes};
use http::Request;
use http_body_util::BodyExt;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use storage::TokenGrant;
use tower::ServiceExt;
use webhook_delivery::testing::WebhookHarness;

use crate::App;

pub(crate) struct Harness {
    webhooks: WebhookHarness,
    pub(crate) app: App,
    router: Router,
    token: AccessToken,
}

impl Deref for Harness {
    type Target = WebhookHarness;

    fn deref(&self) -> &WebhookHarness {
        &self.webhooks
    }
}

impl Harness {
    pub(crate) async fn new() -> Self {
        let webhooks = WebhookHarness::new().await;
        let service = webhooks.service.clone();
        let api = api_on(service.store.clone(), service.clock.clone());
        let user = webhooks.user.user_id;
        let token = AccessToken::mint(user);
        let now = webhooks.clock.now();
        let grant = TokenGrant::made(user, Scopes::from_requested(&Scope::ALL), now, now + TimeDelta::days(180));
        api.store.put_token(&token.hash(), &grant).await.unwrap();

        let app = App { api: api.clone(), egress: webhooks.egress.clone(), webhooks: service };
        let router = api::finish(crate::router(app.clone()), api);
        Self { webhooks, app, router, token }
    }

    pub(crate) async fn call(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let request = Request::builder()
            .method(method)
            .uri(format!("/api/v1{path}"))
            .header("authorization", format!("Bearer {}", self.token.secret().expose_secret()))
            .header("content-type", "application/json")
            .body(body.map_or_else(Body::empty, |it| Body::from(it.to_string())))
            .unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        let status = response.status().as_u16();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (status, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }

    /// Loads `/account/webhooks` as the signed-in user.
    pub(crate) async fn page(&self) -> String {
        let here = ClientIp([192, 0, 2, 1].into());
        let cookie = SignedIn::start(&self.app.api, self.user.user_id, here).await.unwrap();
        let cookie = cookie.to_str().unwrap().split(';').next().unwrap().to_owned();
        let request = Request::builder().uri("/account/webhooks").header("cookie", cookie).body(Body::empty()).unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), 200);
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    /// Presses a button of `/account/webhooks`; returns the status.
    pub(crate) async fn submit(&self, webhook: &str, action: &str) -> u16 {
        self.send_form(&[("webhook", webhook), ("action", action)]).await
    }

    /// Sends a form of `/account/webhooks` as the signed-in user; returns the status.
    pub(crate) async fn send_form(&self, fields: &[(&str, &str)]) -> u16 {
        let here = ClientIp([192, 0, 2, 1].into());
        let cookie = SignedIn::start(&self.app.api, self.user.user_id, here).await.unwrap();
        let cookie = cookie.to_str().unwrap().split(';').next().unwrap().to_owned();
        let headers = [(http::header::COOKIE, cookie.parse().unwrap())].into_iter().collect();
        let session = SignedIn::find(&self.app.api, &headers).await.unwrap().unwrap();
        let fields = fields.iter().copied().chain([("csrf", session.csrf())]);
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let mut request = Request::builder()
            .method("POST")
            .uri("/account/webhooks")
            .header("cookie", cookie)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(Body::from(body))
            .unwrap();
        request.extensions_mut().insert(here);
        self.router.clone().oneshot(request).await.unwrap().status().as_u16()
    }

    /// Returns the response of the API.
    pub(crate) async fn create_unverified(&self) -> Value {
        let (status, webhook) = self.call("POST", "/webhooks", Some(json!({ "url": self.url }))).await;
        assert_eq!(status, 201, "{webhook}");
        webhook
    }

    pub(crate) async fn webhook(&self) -> Value {
        let webhook = self.create_unverified().await;
        self.verify(webhook_id(&webhook)).await;
        webhook
    }

    /// As the API lists them, newest first.
    pub(crate) async fn list_deliveries(&self, webhook: &Value) -> Vec<Value> {
        let (status, list) = self.call("GET", &format!("/webhooks/{}/deliveries", webhook["id"]), None).await;
        assert_eq!(status, 200, "{list}");
        list["data"].as_array().unwrap().clone()
    }
}

pub(crate) fn webhook_id(webhook: &Value) -> WebhookId {
    WebhookId::new(webhook["id"].as_u64().unwrap()).unwrap()
}
