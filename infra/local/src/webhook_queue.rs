//! The queue of webhook deliveries in this process: a timer for each message, and a concurrency
//! limit for each endpoint. The tick finds deliveries whose messages were lost with a process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use api::Api;
use async_trait::async_trait;
use cloud::queue::QueueError;
use cloud::seal::Sealer;
use cloud::webhook_queue::{WebhookDeliveryMessage, WebhookQueue};
use domain::clock::Clock;
use domain::id::{UserId, WebhookId};
use egress::AddressPolicy;
use storage::Store;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use webhooks::{App, HttpEndpointClient, SigningKeys};

use crate::events::LocalEvents;

/// Concurrent webhook deliveries to one endpoint.
const OF_ONE_ENDPOINT: usize = 8;

/// Interval of the tick. A deployment uses one minute, because each run is billed.
const TICK: Duration = Duration::from_secs(5);

/// A queue with timers for delays.
struct LocalWebhookQueue {
    clock: Clock,
    coming: UnboundedSender<WebhookDeliveryMessage>,
}

impl LocalWebhookQueue {
    /// An empty queue, and the receiver of its messages.
    fn new(clock: Clock) -> (Arc<Self>, UnboundedReceiver<WebhookDeliveryMessage>) {
        let (sender, receiver) = unbounded_channel();
        (Arc::new(Self { clock, coming: sender }), receiver)
    }
}

#[async_trait]
impl WebhookQueue for LocalWebhookQueue {
    async fn send(&self, messages: &[WebhookDeliveryMessage]) -> Result<(), QueueError> {
        for message in messages {
            let (sender, message) = (self.coming.clone(), message.clone());
            let delay = Duration::from_secs(message.delay_s(self.clock.now()).into());
            tokio::spawn(async move {
                tokio::time::sleep(delay).await;
                // The receiver is dropped when the process ends.
                let _ = sender.send(message);
            });
        }
        Ok(())
    }
}

/// Delivers the events of the bus to webhook endpoints until the process ends.
pub(crate) fn start(api: &Api, store: Store, sealer: Arc<dyn Sealer>, bus: &LocalEvents, policy: AddressPolicy) -> App {
    let api = Api { store, ..api.clone() };
    let (queue, receiver) = LocalWebhookQueue::new(api.clock.clone());
    let egress = webhooks::egress_clients(policy);
    let app = App {
        keys: SigningKeys::new(api.store.clone(), sealer.clone()),
        sealer,
        calls: Arc::new(HttpEndpointClient(egress.clone())),
        egress,
        queue,
        events: Arc::new(bus.clone()),
        held_permits: publishing::HeldPermits::new(api.random.clone()),
        api,
    };
    bus.connect(app.clone());
    process_messages(app.clone(), receiver);
    app
}

/// Sends the deliveries that the queue or the tick returns.
fn process_messages(app: App, mut receiver: UnboundedReceiver<WebhookDeliveryMessage>) {
    let ticking = app.clone();
    tokio::spawn(async move {
        let mut ticks = tokio::time::interval(TICK);
        loop {
            ticks.tick().await;
            if let Err(error) = ticking.tick().await {
                tracing::error!(%error, "the webhook tick failed");
            }
        }
    });
    tokio::spawn(async move {
        let semaphores = EndpointSemaphores::default();
        while let Some(message) = receiver.recv().await {
            let semaphore = semaphores.for_endpoint((message.name.user_id, message.name.webhook_id));
            let app = app.clone();
            tokio::spawn(async move {
                // Fails only if the semaphore is closed, which never happens.
                let _permit = semaphore.acquire().await;
                if let Err(error) = app.send(&message.name).await {
                    tracing::error!(%error, "a webhook delivery failed and is left to the tick");
                }
            });
        }
    });
}

#[derive(Default)]
struct EndpointSemaphores(Mutex<HashMap<(UserId, WebhookId), Arc<Semaphore>>>);

impl EndpointSemaphores {
    fn for_endpoint(&self, endpoint: (UserId, WebhookId)) -> Arc<Semaphore> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry(endpoint).or_insert_with(|| Arc::new(Semaphore::new(OF_ONE_ENDPOINT))))
    }
}
