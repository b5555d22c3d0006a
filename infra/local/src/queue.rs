//! The queue in this process: a timer for each message. It is lost when the
//! process ends, as any queue may be; the sweep brings its messages again.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use cloud::queue::{DeliveryMessage, Outgoing, Queue, QueueError};
use domain::clock::Clock;
use platforms::{Publish, Registry};
use publishing::Publishing;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Deliveries under way at the same time, those that wait out their second
/// included.
const CONCURRENCY: usize = 2_000;

/// How long after an error a message is delivered once more.
const BROUGHT_AGAIN_AFTER: Duration = Duration::from_secs(10);

/// A queue with timers for delays.
pub(crate) struct LocalQueue {
    ready: UnboundedSender<DeliveryMessage>,
    clock: Clock,
}

impl LocalQueue {
    /// The queue, and where its messages come out.
    pub(crate) fn new(clock: Clock) -> (Arc<Self>, UnboundedReceiver<DeliveryMessage>) {
        let (ready, messages) = unbounded_channel();
        (Arc::new(Self { ready, clock }), messages)
    }
}

#[async_trait]
impl Queue for LocalQueue {
    async fn send(&self, messages: &[Outgoing]) -> Result<(), QueueError> {
        for outgoing in messages {
            let (ready, message, delay_s) = (self.ready.clone(), outgoing.message, outgoing.delay_s(self.clock.now()));
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_secs(delay_s.into())).await;
                // This fails only when the receiver is gone, while the process ends.
                let _ = ready.send(message);
            });
        }
        Ok(())
    }
}

/// Takes messages to their deliveries for as long as the process runs.
pub(crate) async fn work(
    publishing: Publishing,
    platforms: Registry<dyn Publish>,
    mut messages: UnboundedReceiver<DeliveryMessage>,
) {
    let places = Arc::new(Semaphore::new(CONCURRENCY));
    while let Some(message) = messages.recv().await {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let (publishing, platforms) = (publishing.clone(), platforms.clone());
        tokio::spawn(async move {
            if let Err(error) = publishing.deliver(&platforms, message).await {
                tracing::warn!(%error, post_id = %message.post_id, "a delivery was cut off and is brought again");
                drop(place);
                tokio::time::sleep(BROUGHT_AGAIN_AFTER).await;
                if let Err(error) = publishing.deliver(&platforms, message).await {
                    tracing::error!(%error, post_id = %message.post_id, "a delivery is left to the sweep");
                }
            }
        });
    }
}
