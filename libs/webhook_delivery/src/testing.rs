#![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use chrono::Utc;
use cloud::events::{EventBus, EventError};
use cloud::queue::QueueError;
use cloud::seal::{DataKey, Envelope, LocalKeys};
use cloud::webhook_queue::{WebhookDeliveryMessage, WebhookQueue};
use domain::clock::Clock;
use domain::event::Event;
use domain::id::{Ids, WebhookId};
use domain::random::Random;
use domain::testing::a_user;
use domain::user::User;
use domain::webhook::{EndpointUrl, WebhookDelivery, WebhookEndpoint, WebhookSecret};
use egress::{AddressPolicy, Egress};
use http_body_util::BodyExt;
use permits::HeldPermits;
use serde_json::json;
use storage::testing::join;
use storage::{EndpointRecord, WriteOutcome};
use tokio::net::TcpListener;

use crate::{HttpEndpointClient, SigningKeys, WebhookService, egress_clients};

#[derive(Clone, Debug)]
pub struct ReceivedMessage {
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

pub type Responder = fn() -> Response;

#[derive(Clone, Default)]
pub struct Sent {
    pub hints: Arc<Mutex<Vec<WebhookDeliveryMessage>>>,
    pub events: Arc<Mutex<Vec<Event>>>,
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

pub struct WebhookHarness {
    pub service: WebhookService,
    pub clock: Clock,
    pub sent: Sent,
    pub user: User,
    pub url: String,
    pub egress: Egress,
    server: ReceivingServer,
}

impl WebhookHarness {
    pub async fn new() -> Self {
        // The libraries that verify signatures use the system clock.
        let clock = Clock::manual(Utc::now());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = ReceivingServer {
            got: Arc::default(),
            answers: Arc::new(Mutex::new(|| StatusCode::NO_CONTENT.into_response())),
        };
        let routes = Router::new().fallback(receive).with_state(server.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await });

        let store = storage::testing::store().await;
        let user = a_user();
        join(&store, &user).await;
        let sealer = Envelope::new(LocalKeys::new(DataKey::new([7; 32])), clock.clone());
        let egress = egress_clients(AddressPolicy::Also(vec![address]));
        let sent = Sent::default();
        let service = WebhookService {
            keys: SigningKeys::new(store.clone(), sealer.clone()),
            store,
            clock: clock.clone(),
            random: Random::Os,
            ids: Ids::new(clock.clone(), Random::Os),
            sealer,
            client: Arc::new(HttpEndpointClient(egress.clone())),
            queue: Arc::new(sent.clone()),
            events: Arc::new(sent.clone()),
            held_permits: HeldPermits::new(Random::Os),
        };
        Self { service, clock, sent, user, url: format!("http://{address}/hook"), egress, server }
    }

    pub fn respond_with(&self, response: Responder) {
        *self.server.answers.lock().unwrap() = response;
    }

    /// Messages since the last call.
    pub fn got(&self) -> Vec<ReceivedMessage> {
        std::mem::take(&mut self.server.got.lock().unwrap())
    }

    pub async fn enabled_endpoint(&self) -> (WebhookEndpoint, WebhookSecret) {
        let url = EndpointUrl::parse(&self.url).unwrap();
        let created = self.service.create_endpoint(self.user.user_id, None, url, Vec::new(), None).await;
        let (record, secret) = created.unwrap().unwrap();
        self.verify(record.endpoint.webhook_id).await;
        (self.endpoint(record.endpoint.webhook_id).await, secret)
    }

    pub async fn verify(&self, webhook: WebhookId) {
        self.change(webhook, |before| WebhookEndpoint { is_verified: true, ..before.clone() }).await;
    }

    pub async fn change(&self, webhook: WebhookId, change: impl FnOnce(&WebhookEndpoint) -> WebhookEndpoint) {
        let record = self.record(webhook).await;
        let after = EndpointRecord { endpoint: change(&record.endpoint), ..record.clone() };
        let written = self.service.store.replace_webhook(&record.endpoint, &after, None).await;
        assert_eq!(written.unwrap(), WriteOutcome::Applied);
    }

    pub async fn endpoint(&self, webhook: WebhookId) -> WebhookEndpoint {
        self.record(webhook).await.endpoint
    }

    async fn record(&self, webhook: WebhookId) -> EndpointRecord {
        self.service.store.webhook(self.user.user_id, webhook).await.unwrap().unwrap()
    }

    pub fn event(&self, number: u64) -> Event {
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

    pub async fn work(&self) {
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
                self.service.send(&hint.name).await.unwrap();
            }
        }
    }

    /// Newest first.
    pub async fn deliveries(&self, webhook: WebhookId) -> Vec<WebhookDelivery> {
        self.service.store.webhook_deliveries(self.user.user_id, webhook, None, 100).await.unwrap().0
    }
}

async fn receive(State(server): State<ReceivingServer>, request: axum::extract::Request) -> Response {
    let (head, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes().to_vec();
    server.got.lock().unwrap().push(ReceivedMessage { headers: head.headers, body });
    let answers = *server.answers.lock().unwrap();
    answers()
}
