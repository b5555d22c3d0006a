//! Webhook endpoints, their queue, and the function that calls them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use aws_lambda_events::sqs::{SqsEvent, SqsMessage};
use chrono::{DateTime, TimeDelta, Utc};
use cloud::queue::QueueError;
use cloud::webhook_queue::{WebhookDeliveryMessage, WebhookQueue};
use domain::event::Event;
use domain::id::UserId;
use domain::webhook::{EndpointResponse, EndpointUrl, WebhookEndpoint, WebhookSecret};
use scheduling::Scheduling;
use serde_json::json;
use storage::EndpointRecord;
use tokio::sync::Notify;
use webhook_delivery::{EndpointClient, Request, SigningKeys, WebhookService};

use crate::port::Port;
use crate::queue::QueueFault;
use crate::services::Services;
use crate::world::{InjectedFault, SimulatedWorld, lock};

/// How long a received message stays hidden, and how often it is received before it is
/// dead-lettered: `WebhookQueue` in `template.yaml`.
const HIDDEN: TimeDelta = TimeDelta::seconds(180);
const MAX_RECEIVES: u32 = 5;

/// Beyond the requested delay.
const JITTER: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
pub(crate) struct ReceivedMessage {
    pub(crate) at: DateTime<Utc>,
    pub(crate) request: Request,
}

#[derive(Clone, Debug)]
struct QueuedEvent {
    id: u64,
    body: String,
    receives: u32,
}

pub(crate) struct Webhooks {
    world: Arc<SimulatedWorld>,
    waiting: Mutex<BTreeMap<(DateTime<Utc>, u64), QueuedEvent>>,
    came: Notify,
    got: Mutex<Vec<ReceivedMessage>>,
    secrets: Mutex<BTreeMap<String, WebhookSecret>>,
}

impl Webhooks {
    pub(crate) fn new(world: Arc<SimulatedWorld>) -> Arc<Self> {
        let (waiting, got, secrets) = (Mutex::default(), Mutex::default(), Mutex::default());
        Arc::new(Self { world, waiting, came: Notify::new(), got, secrets })
    }

    /// Before faults begin.
    pub(crate) async fn settle(self: &Arc<Self>, services: &Services, user: UserId, url: &str) {
        let parsed = EndpointUrl::parse(url).expect("an address");
        let made = self.service(services).create_endpoint(user, None, parsed, Vec::new(), None).await;
        let (record, secret) = made.expect("nothing goes wrong yet").expect("it is the first");
        let before = record.endpoint.clone();
        let verified = EndpointRecord { endpoint: WebhookEndpoint { is_verified: true, ..before.clone() }, ..record };
        services.scheduling.store.replace_webhook(&before, &verified, None).await.expect("nothing goes wrong yet");
        lock(&self.secrets).insert(url.to_owned(), secret);
    }

    pub(crate) fn service(self: &Arc<Self>, services: &Services) -> WebhookService {
        let Scheduling { store, clock, random, ids, events, .. } = services.scheduling.clone();
        let sealer = services.publishing.credentials.sealer.clone();
        WebhookService {
            keys: SigningKeys::new(store.clone(), sealer.clone()),
            store,
            clock,
            random,
            ids,
            sealer,
            client: self.clone(),
            queue: self.clone(),
            held_permits: services.publishing.held_permits.clone(),
            events,
        }
    }

    /// Delivers an event from the bus: at least once, sometimes twice.
    ///
    /// Other events have no effect while no user has an endpoint.
    pub(crate) fn deliver(&self, event: &Event, resource: Option<&str>) {
        if !self.is_used() && resource.is_none() {
            return;
        }
        let resources = Vec::from_iter(resource);
        let body = json!({ "detail-type": event.detail_type, "detail": event.detail, "resources": resources });
        let body = body.to_string();
        let is_duplicated = self.world.happens(self.world.probabilities.message_fault_probability);
        for _ in 0..if is_duplicated { 2 } else { 1 } {
            self.put(body.clone(), TimeDelta::zero());
        }
    }

    pub(crate) fn is_used(&self) -> bool {
        !lock(&self.secrets).is_empty()
    }

    pub(crate) fn is_empty(&self) -> bool {
        lock(&self.waiting).is_empty()
    }

    pub(crate) fn got(&self) -> Vec<ReceivedMessage> {
        lock(&self.got).clone()
    }

    pub(crate) fn secret(&self, url: &str) -> Option<WebhookSecret> {
        lock(&self.secrets).get(url).cloned()
    }

    pub(crate) async fn take(&self) -> (SqsEvent, Vec<u64>) {
        loop {
            let next = lock(&self.waiting).keys().next().map(|it| it.0);
            let arrival = self.came.notified();
            match next {
                Some(at) if at <= self.world.now() => return self.take_now(),
                Some(at) => {
                    let left = (at - self.world.now()).to_std().unwrap_or_default();
                    let _ = tokio::time::timeout(left, arrival).await;
                }
                None => arrival.await,
            }
        }
    }

    pub(crate) fn delete(&self, done: &[u64]) {
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
        waiting.insert((self.world.now() + delay + late, id), QueuedEvent { id, body, receives: 0 });
        drop(waiting);
        self.came.notify_one();
    }
}

#[async_trait]
impl WebhookQueue for Webhooks {
    async fn send(&self, messages: &[WebhookDeliveryMessage]) -> Result<(), QueueError> {
        if messages.is_empty() {
            return Ok(());
        }
        let what = format!("send {} notices", messages.len());
        let (call, fault) = self.world.call(Port::Queue, what, &QueueFault::chances(&self.world.probabilities));
        call.go().await;
        if !matches!(fault, QueueFault::Unsent) {
            for message in messages {
                // A message may be lost, or arrive twice.
                let is_faulty = self.world.happens(self.world.probabilities.message_fault_probability);
                let copies = if is_faulty { [0, 2][self.world.dice().usize(0..2)] } else { 1 };
                let delay = TimeDelta::seconds(message.delay_s(self.world.now()).into());
                for _ in 0..copies {
                    self.put(serde_json::to_string(&message.name).expect("a name in JSON"), delay);
                }
            }
        }
        call.respond().await;
        match fault {
            QueueFault::Fine => Ok(()),
            _ => Err(QueueError("the connection was reset".to_owned())),
        }
    }
}

#[derive(Clone, Copy)]
enum EndpointFault {
    Accepted,
    Down,
    Refused,
    ResponseLost,
}

impl InjectedFault for EndpointFault {
    const FINE: Self = Self::Accepted;
    const DOWN: Self = Self::Down;

    fn name(self) -> &'static str {
        match self {
            Self::Accepted => "",
            Self::Down => "not reached",
            Self::Refused => "refused",
            Self::ResponseLost => "response lost",
        }
    }
}

#[async_trait]
impl EndpointClient for Webhooks {
    async fn call(&self, request: Request) -> EndpointResponse {
        let chance = self.world.probabilities.platform_error_probability / 3.0;
        let faults =
            [(chance, EndpointFault::Down), (chance, EndpointFault::Refused), (chance, EndpointFault::ResponseLost)];
        let (call, fault) = self.world.call(Port::Endpoint, format!("tell {} {}", request.url, request.id), &faults);
        call.go().await;
        if matches!(fault, EndpointFault::Accepted | EndpointFault::ResponseLost) {
            lock(&self.got).push(ReceivedMessage { at: self.world.now(), request });
        }
        call.respond().await;
        match fault {
            EndpointFault::Accepted => EndpointResponse { status: Some(204), ..EndpointResponse::none("", 50) },
            EndpointFault::Refused => EndpointResponse { status: Some(500), ..EndpointResponse::none("", 50) },
            EndpointFault::Down | EndpointFault::ResponseLost => {
                EndpointResponse::none("no answer within 15 s", 15_000)
            }
        }
    }
}
