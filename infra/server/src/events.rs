//! The event bus in this process: it passes events to the webhooks, and keeps the latest.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use async_trait::async_trait;
use cloud::events::{EventBus, EventError};
use domain::event::Event;
use webhook_delivery::WebhookService;

const KEPT: usize = 1_000;

#[derive(Clone, Default)]
pub struct LocalEvents {
    latest: Arc<Mutex<VecDeque<Event>>>,
    /// Set after the start, because the webhooks also put events on this bus.
    webhooks: Arc<OnceLock<WebhookService>>,
}

impl LocalEvents {
    pub(crate) fn connect(&self, webhooks: WebhookService) {
        // Set once, at the start.
        let _ = self.webhooks.set(webhooks);
    }

    /// Oldest first.
    pub fn latest(&self) -> Vec<Event> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    fn keep(&self, events: &[Event]) {
        let mut kept = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        for event in events {
            if kept.len() == KEPT {
                kept.pop_front();
            }
            kept.push_back(event.clone());
        }
    }
}

#[async_trait]
impl EventBus for LocalEvents {
    async fn put(&self, events: &[Event]) -> Result<(), EventError> {
        // Stored before the call returns, so that no event is lost when this process ends.
        for event in events {
            if let Some(webhooks) = self.webhooks.get() {
                webhooks.fan_out(event).await.map_err(|it| EventError(it.to_string()))?;
            }
        }
        self.keep(events);
        Ok(())
    }

    /// The request does not wait for the endpoints: if this process ends before they receive the event, the
    /// event is still in the outbox.
    async fn put_from_outbox(&self, event: &Event) -> Result<(), EventError> {
        self.keep(std::slice::from_ref(event));
        if let Some(webhooks) = self.webhooks.get().cloned() {
            let event = event.clone();
            tokio::spawn(async move {
                if let Err(error) = webhooks.fan_out_from_outbox(&event).await {
                    tracing::warn!(%error, "event could not be fanned out and was left to the tick");
                }
            });
        }
        Ok(())
    }
}
