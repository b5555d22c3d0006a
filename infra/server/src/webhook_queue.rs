//! The queue of webhook deliveries in this process: a timer for each message, and a concurrency
//! limit for each endpoint. The tick finds deliveries whose messages were lost with a process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use cloud::queue::QueueError;
use cloud::seal::Sealer;
use cloud::webhook_queue::{WebhookDeliveryMessage, WebhookQueue};
use domain::clock::Clock;
use domain::id::{Ids, UserId, WebhookId};
use domain::random::Random;
use egress::Egress;
use permits::HeldPermits;
use storage::Store;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use webhook_delivery::{HttpEndpointClient, SigningKeys, WebhookService};

use crate::events::LocalEvents;

const OF_ONE_ENDPOINT: usize = 8;

/// A deployment uses one minute, because each run is billed.
const TICK: Duration = Duration::from_secs(5);

struct LocalWebhookQueue {
    clock: Clock,
    coming: UnboundedSender<WebhookDeliveryMessage>,
}

impl LocalWebhookQueue {
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

/// Runs until the process ends.
pub(crate) fn start(
    store: Store,
    ids: &Ids,
    clock: &Clock,
    sealer: Arc<dyn Sealer>,
    bus: &LocalEvents,
    egress: Egress,
) -> WebhookService {
    let (queue, receiver) = LocalWebhookQueue::new(clock.clone());
    let service = WebhookService {
        keys: SigningKeys::new(store.clone(), sealer.clone()),
        store,
        clock: clock.clone(),
        random: Random::Os,
        ids: ids.clone(),
        sealer,
        client: Arc::new(HttpEndpointClient(egress)),
        queue,
        events: Arc::new(bus.clone()),
        held_permits: HeldPermits::new(Random::Os),
    };
    bus.connect(service.clone());
    process_messages(service.clone(), receiver);
    service
}

fn process_messages(service: WebhookService, mut receiver: UnboundedReceiver<WebhookDeliveryMessage>) {
    let ticking = service.clone();
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
            let service = service.clone();
            tokio::spawn(async move {
                // Fails only if the semaphore is closed, which never happens.
                let _permit = semaphore.acquire().await;
                if let Err(error) = service.send(&message.name).await {
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
