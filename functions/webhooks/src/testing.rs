//! A harness: the function on an embedded store, with a local endpoint.

use std::sync::{Arc, Mutex};

use api::{Api, ClientIp, RateLimits, SignedIn};
use async_trait::async_trait;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Router, response};
use chrono::{TimeDelta, Utc};
use cloud::events::{EventBus, EventError};
use cloud::queue::QueueError;
use cloud::seal::{DataKey, Envelope, LocalKeys};
use cloud::webhook_queue::{WebhookDeliveryMessage, WebhookQueue};
use domain::access_token::{AccessToken, TokenLifetime};
use domain::clock::Clock;
use domain::event::Event;
use domain::id::{Ids, WebhookId};
use domain::random::Random;
use domain::scope::{Scope, Scopes};
use domain::testing::a_user;
use domain::user::User;
use egress::AddressPolicy;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt;
use publishing::HeldPermits;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use storage::TokenGrant;
use storage::testing::join;
use tokio::net::TcpListener;
use tower::ServiceExt;

use crate::{App, HttpEndpointClient, SigningKeys, egress_clients};

#[derive(Clone, Debug)]
pub(crate) struct ReceivedMessage {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

pub(crate) type Responder = fn() -> Response;

/// Collects what is put on the queue and on the bus.
#[derive(Clone, Default)]
pub(crate) struct Sent {
    pub(crate) hints: Arc<Mutex<Vec<WebhookDeliveryMessage>>>,
    pub(crate) events: Arc<Mutex<Vec<Event>>>,
}

#[async_trait]
impl WebhookQueue for Sent {
    async fn send(&self, hints: &[WebhookDeliveryMessage]) -> Result<(), QueueError> {
        self.hints.lock().unwrap().extend(hints.iter().cloned());
        Ok(())
    }
}

#[async_trait]
impl EventBus for Sent {
    async fn put(&self, events: &[Event]) -> Result<(), EventError> {
        self.events.lock().unwrap().extend(events.iter().cloned());
        Ok(())
    }
}

#[derive(Clone)]
struct ReceivingServer {
    got: Arc<Mutex<Vec<ReceivedMessage>>>,
    answers: Arc<Mutex<Responder>>,
}

pub(crate) struct Harness {
    pub(crate) app: App,
    pub(crate) clock: Clock,
    pub(crate) sent: Sent,
    pub(crate) user: User,
    pub(crate) url: String,
    endpoint: ReceivingServer,
    router: Router,
    token: AccessToken,
}

impl Harness {
    pub(crate) async fn new() -> Self {
        // The libraries that verify signatures use the system clock.
        let clock = Clock::manual(Utc::now());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let endpoint = ReceivingServer {
            got: Arc::default(),
            answers: Arc::new(Mutex::new(|| StatusCode::NO_CONTENT.into_response())),
        };
        let served = Router::new().fallback(receive).with_state(endpoint.clone());
        tokio::spawn(async move { axum::serve(listener, served).await });

        let api = Api {
            store: storage::testing::store().await,
            ids: Ids::new(clock.clone(), Random::Os),
            clock: clock.clone(),
            random: Random::Os,
            limits: RateLimits::default(),
            origin: "https://social.example".to_owned(),
            token_lifetime: TokenLifetime::default(),
            allowed_origins: Vec::new(),
            proxies: Vec::new(),
        };
        let user = a_user();
        join(&api.store, &user).await;
        let token = AccessToken::mint(user.user_id);
        let now = clock.now();
        let grant =
            TokenGrant::made(user.user_id, Scopes::from_requested(&Scope::ALL), now, now + TimeDelta::days(180));
        api.store.put_token(&token.hash(), &grant).await.unwrap();

        let sealer = Envelope::new(LocalKeys::new(DataKey::new([7; 32])), clock.clone());
        let egress = egress_clients(AddressPolicy::Also(vec![address]));
        let sent = Sent::default();
        let app = App {
            keys: SigningKeys::new(api.store.clone(), sealer.clone()),
            sealer,
            calls: Arc::new(HttpEndpointClient(egress.clone())),
            egress,
            queue: Arc::new(sent.clone()),
            events: Arc::new(sent.clone()),
            held_permits: HeldPermits::new(Random::Os),
            api: api.clone(),
        };
        let router = api::finish(crate::router(app.clone()), api);
        Self { app, clock, sent, user, url: format!("http://{address}/hook"), endpoint, router, token }
    }

    /// Sets the response of the endpoint.
    pub(crate) fn respond_with(&self, response: Responder) {
        *self.endpoint.answers.lock().unwrap() = response;
    }

    /// Takes the messages that the endpoint received since the last call.
    pub(crate) fn got(&self) -> Vec<ReceivedMessage> {
        std::mem::take(&mut self.endpoint.got.lock().unwrap())
    }

    /// Calls the API; returns the status and the body.
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

    /// Loads a page as the signed-in user.
    pub(crate) async fn page(&self, path: &str) -> String {
        let here = ClientIp([192, 0, 2, 1].into());
        let cookie = SignedIn::start(&self.app.api, self.user.user_id, here).await.unwrap();
        let cookie = cookie.to_str().unwrap().split(';').next().unwrap().to_owned();
        let request = Request::builder().uri(path).header("cookie", cookie).body(Body::empty()).unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), 200);
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    /// Presses a button of `/account/webhooks`; returns the status and the `Location`.
    pub(crate) async fn submit(&self, webhook: &str, action: &str) -> (u16, String) {
        let here = ClientIp([192, 0, 2, 1].into());
        let cookie = SignedIn::start(&self.app.api, self.user.user_id, here).await.unwrap();
        let cookie = cookie.to_str().unwrap().split(';').next().unwrap().to_owned();
        let headers = [(http::header::COOKIE, cookie.parse().unwrap())].into_iter().collect();
        let session = SignedIn::find(&self.app.api, &headers).await.unwrap().unwrap();
        let mut request = Request::builder()
            .method("POST")
            .uri("/account/webhooks")
            .header("cookie", cookie)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(Body::from(format!("csrf={}&webhook={webhook}&action={action}", session.csrf())))
            .unwrap();
        request.extensions_mut().insert(here);
        let response = self.router.clone().oneshot(request).await.unwrap();
        let location = response.headers().get("location").and_then(|it| it.to_str().ok()).unwrap_or_default();
        (response.status().as_u16(), location.to_owned())
    }

    /// Creates an unverified webhook at the endpoint; returns the response of the API.
    pub(crate) async fn create_unverified(&self) -> Value {
        let (status, webhook) = self.call("POST", "/webhooks", Some(json!({ "url": self.url }))).await;
        assert_eq!(status, 201, "{webhook}");
        webhook
    }

    /// Creates an enabled webhook at the endpoint.
    pub(crate) async fn webhook(&self) -> Value {
        let webhook = self.create_unverified().await;
        self.verify(&webhook).await;
        webhook
    }

    /// Marks a webhook as verified.
    pub(crate) async fn verify(&self, webhook: &Value) {
        let (store, id) = (&self.app.api.store, WebhookId::new(webhook["id"].as_u64().unwrap()).unwrap());
        let mut record = store.webhook(self.user.user_id, id).await.unwrap().unwrap();
        let before = record.endpoint.clone();
        record.endpoint.is_verified = true;
        store.replace_webhook(&before, &record, None).await.unwrap();
    }

    pub(crate) fn event(&self, number: u64) -> Event {
        let at = domain::schedule::show(self.clock.now());
        Event {
            detail_type: "post.published",
            detail: json!({
                "id": format!("post.published:{number}:1"),
                "occurred_at": at,
                "user_id": self.user.user_id.to_string(),
                "post_id": number,
            }),
        }
    }

    /// Sends all due deliveries of the queue until none is left.
    pub(crate) async fn work(&self) {
        loop {
            let now = self.clock.now();
            let due: Vec<_> = {
                let mut messages = self.sent.hints.lock().unwrap();
                let (due, later) = messages.drain(..).partition(|it: &WebhookDeliveryMessage| it.at <= now);
                *messages = later;
                due
            };
            if due.is_empty() {
                return;
            }
            for hint in due {
                self.app.send(&hint.name).await.unwrap();
            }
        }
    }

    /// The deliveries of a webhook, newest first.
    pub(crate) async fn deliveries(&self, webhook: &Value) -> Vec<Value> {
        let (status, list) = self.call("GET", &format!("/webhooks/{}/deliveries", webhook["id"]), None).await;
        assert_eq!(status, 200, "{list}");
        list["data"].as_array().unwrap().clone()
    }
}

async fn receive(State(endpoint): State<ReceivingServer>, request: axum::extract::Request) -> response::Response {
    let (head, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes().to_vec();
    endpoint.got.lock().unwrap().push(ReceivedMessage { headers: head.headers, body });
    let answers = *endpoint.answers.lock().unwrap();
    answers()
}
