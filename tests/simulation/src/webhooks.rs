//! Endpoints of webhooks, the queue that leads to them, and the function that
//! tells them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use api::{Api, RateLimits};
use async_trait::async_trait;
use aws_lambda_events::sqs::{SqsEvent, SqsMessage};
use chrono::{DateTime, TimeDelta, Utc};
use cloud::fetch::AddressPolicy;
use cloud::queue::QueueError;
use cloud::webhook_queue::{WebhookDeliveryMessage, WebhookQueue};
use domain::access_token::TokenLifetime;
use domain::event::Event;
use domain::id::UserId;
use domain::webhook::{EndpointResponse, EndpointUrl, WebhookEndpoint, WebhookSecret};
use publishing::Publishing;
use serde_json::json;
use storage::EndpointRecord;
use tokio::sync::Notify;
use webhooks::{App, EndpointClient, Request, SigningKeys};

use crate::port::Port;
use crate::world::{InjectedFault, SimulatedWorld, lock};

/// How long a message that was taken stays hidden, and how often it is received
/// before it is put aside: `WebhookQueue` in `template.yaml`.
const HIDDEN: TimeDelta = TimeDelta::seconds(180);
const MAX_RECEIVES: u32 = 5;

/// How much later than its delay a message shows at most.
const JITTER: Duration = Duration::from_secs(1);

/// A message that an endpoint got.
#[derive(Clone, Debug)]
pub(crate) struct Got {
    pub(crate) at: DateTime<Utc>,
    pub(crate) request: Request,
}

/// A message of the queue that somebody took.
#[derive(Clone, Debug)]
struct Taken {
    id: u64,
    body: String,
    receives: u32,
}

/// The queue of webhooks, and everything that endpoints got.
pub(crate) struct Webhooks {
    world: Arc<SimulatedWorld>,
    waiting: Mutex<BTreeMap<(DateTime<Utc>, u64), Taken>>,
    came: Notify,
    got: Mutex<Vec<Got>>,
    /// By the addresses of endpoints.
    secrets: Mutex<BTreeMap<String, WebhookSecret>>,
}

impl Webhooks {
    pub(crate) fn new(world: Arc<SimulatedWorld>) -> Arc<Self> {
        let (waiting, got, secrets) = (Mutex::default(), Mutex::default(), Mutex::default());
        Arc::new(Self { world, waiting, came: Notify::new(), got, secrets })
    }

    /// Gives this user an endpoint, before anything goes wrong.
    pub(crate) async fn settle(self: &Arc<Self>, publishing: &Publishing, user: UserId, url: &str) {
        let parsed = EndpointUrl::parse(url).expect("an address");
        let made = self.app(publishing).add(user, parsed, Vec::new(), None).await;
        let (record, secret) = made.expect("nothing goes wrong yet").expect("it is the first");
        let before = record.endpoint.clone();
        let verified = EndpointRecord { endpoint: WebhookEndpoint { is_verified: true, ..before.clone() }, ..record };
        publishing.store.swap_webhook(&before, &verified, None).await.expect("nothing goes wrong yet");
        lock(&self.secrets).insert(url.to_owned(), secret);
    }

    /// The function as a new process of it starts.
    pub(crate) fn app(self: &Arc<Self>, publishing: &Publishing) -> App {
        let Publishing { store, clock, ids, sealer, events, .. } = publishing.clone();
        let api = Api {
            store: store.clone(),
            clock,
            ids,
            limits: RateLimits::default(),
            origin: "https://social.example".to_owned(),
            token_lifetime: TokenLifetime::default(),
            allowed_origins: Vec::new(),
            proxies: Vec::new(),
        };
        App {
            api,
            keys: SigningKeys::new(store, sealer.clone()),
            sealer,
            egress: webhooks::egress_clients(AddressPolicy::PublicOnly),
            calls: self.clone(),
            queue: self.clone(),
            held_permits: publishing.held_permits.clone(),
            events,
        }
    }

    /// Brings an event from the bus: at least once, now and then twice.
    pub(crate) fn bring(&self, event: &Event) {
        if !self.is_used() {
            return;
        }
        let body = json!({ "detail-type": event.detail_type, "detail": event.detail }).to_string();
        let twice = self.world.befalls(self.world.weather.lossy);
        for _ in 0..if twice { 2 } else { 1 } {
            self.put(body.clone(), TimeDelta::zero());
        }
    }

    /// Whether anybody has an endpoint.
    pub(crate) fn is_used(&self) -> bool {
        !lock(&self.secrets).is_empty()
    }

    /// Whether no message is on its way.
    pub(crate) fn is_empty(&self) -> bool {
        lock(&self.waiting).is_empty()
    }

    /// What endpoints got, in order.
    pub(crate) fn got(&self) -> Vec<Got> {
        lock(&self.got).clone()
    }

    /// The secret of the endpoint there.
    pub(crate) fn secret(&self, url: &str) -> Option<WebhookSecret> {
        lock(&self.secrets).get(url).cloned()
    }

    /// Waits for the next messages, and takes them.
    pub(crate) async fn take(&self) -> (SqsEvent, Vec<u64>) {
        loop {
            let next = lock(&self.waiting).keys().next().map(|it| it.0);
            let came = self.came.notified();
            match next {
                Some(at) if at <= self.world.now() => return self.take_now(),
                Some(at) => {
                    let left = (at - self.world.now()).to_std().unwrap_or_default();
                    let _ = tokio::time::timeout(left, came).await;
                }
                None => came.await,
            }
        }
    }

    /// Deletes these messages.
    pub(crate) fn done(&self, done: &[u64]) {
        lock(&self.waiting).retain(|_, it| !done.contains(&it.id));
    }

    fn take_now(&self) -> (SqsEvent, Vec<u64>) {
        let now = self.world.now();
        let mut waiting = lock(&self.waiting);
        let ready: Vec<_> = waiting.keys().take_while(|it| it.0 <= now).take(10).copied().collect();
        let mut event = SqsEvent::default();
        let mut ids = Vec::new();
        for place in ready {
            let Some(mut taken) = waiting.remove(&place) else { continue };
            taken.receives += 1;
            let mut record = SqsMessage::default();
            record.message_id = Some(taken.id.to_string());
            record.body = Some(taken.body.clone());
            event.records.push(record);
            ids.push(taken.id);
            if taken.receives < MAX_RECEIVES {
                waiting.insert((now + HIDDEN, taken.id), taken);
            }
        }
        (event, ids)
    }

    fn put(&self, body: String, delay: TimeDelta) {
        let late = TimeDelta::from_std(self.world.up_to(JITTER)).unwrap_or_default();
        let mut waiting = lock(&self.waiting);
        let id = 1 + waiting.values().map(|it| it.id).max().unwrap_or_default();
        waiting.insert((self.world.now() + delay + late, id), Taken { id, body, receives: 0 });
        drop(waiting);
        self.came.notify_one();
    }
}

#[derive(Clone, Copy)]
enum QueueFate {
    Fine,
    Unsent,
    AnswerLost,
}

impl InjectedFault for QueueFate {
    const FINE: Self = Self::Fine;
    const DOWN: Self = Self::Unsent;

    fn name(self) -> &'static str {
        match self {
            Self::Fine => "",
            Self::Unsent => "not sent",
            Self::AnswerLost => "answer lost",
        }
    }
}

#[async_trait]
impl WebhookQueue for Webhooks {
    async fn send(&self, hints: &[WebhookDeliveryMessage]) -> Result<(), QueueError> {
        if hints.is_empty() {
            return Ok(());
        }
        let chance = self.world.weather.failing / 2.0;
        let fates = [(chance, QueueFate::Unsent), (chance, QueueFate::AnswerLost)];
        let (call, fate) = self.world.call(Port::Queue, format!("send {} notices", hints.len()), &fates);
        call.go().await;
        if !matches!(fate, QueueFate::Unsent) {
            for hint in hints {
                // A message may be lost, or come twice.
                let goes_wrong = self.world.befalls(self.world.weather.lossy);
                let copies = if goes_wrong { [0, 2][self.world.dice().usize(0..2)] } else { 1 };
                let delay = TimeDelta::seconds(hint.delay_s(self.world.now()).into());
                for _ in 0..copies {
                    self.put(serde_json::to_string(&hint.name).expect("a name in JSON"), delay);
                }
            }
        }
        call.come_back().await;
        match fate {
            QueueFate::Fine => Ok(()),
            _ => Err(QueueError("the connection was reset".to_owned())),
        }
    }
}

#[derive(Clone, Copy)]
enum EndpointFate {
    Accepted,
    Down,
    Refused,
    AnswerLost,
}

impl InjectedFault for EndpointFate {
    const FINE: Self = Self::Accepted;
    const DOWN: Self = Self::Down;

    fn name(self) -> &'static str {
        match self {
            Self::Accepted => "",
            Self::Down => "not reached",
            Self::Refused => "refused",
            Self::AnswerLost => "answer lost",
        }
    }
}

#[async_trait]
impl EndpointClient for Webhooks {
    async fn call(&self, request: Request) -> EndpointResponse {
        let chance = self.world.weather.moody / 3.0;
        let fates = [(chance, EndpointFate::Down), (chance, EndpointFate::Refused), (chance, EndpointFate::AnswerLost)];
        let (call, fate) = self.world.call(Port::Endpoint, format!("tell {} {}", request.url, request.id), &fates);
        call.go().await;
        if matches!(fate, EndpointFate::Accepted | EndpointFate::AnswerLost) {
            lock(&self.got).push(Got { at: self.world.now(), request });
        }
        call.come_back().await;
        match fate {
            EndpointFate::Accepted => EndpointResponse { status: Some(204), ..EndpointResponse::none("", 50) },
            EndpointFate::Refused => EndpointResponse { status: Some(500), ..EndpointResponse::none("", 50) },
            EndpointFate::Down | EndpointFate::AnswerLost => EndpointResponse::none("no answer within 15 s", 15_000),
        }
    }
}
