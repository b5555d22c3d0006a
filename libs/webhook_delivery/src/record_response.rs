//! Records what a response means for the endpoint: it works, fails, or is gone.

use cloud::events::publish_event;
use domain::webhook::{EndpointResponse, EventKind};
use storage::{EndpointRecord, WriteOutcome};

use crate::WebhookService;
use crate::error::WebhooksError;

/// Attempts to store the outcome while concurrent writers change the endpoint.
const TRIES: usize = 5;

impl WebhookService {
    /// If the response disables the endpoint, a `webhook.disabled` event is stored in the same
    /// write and put on the bus.
    pub(crate) async fn record_response(
        &self,
        loaded: EndpointRecord,
        kind: EventKind,
        response: &EndpointResponse,
        is_last: bool,
    ) -> Result<(), WebhooksError> {
        let store = &self.store;
        let url = loaded.endpoint.url.clone();
        let mut record = loaded;
        for _ in 0..TRIES {
            let before = record.endpoint.clone();
            let Some(after) = before.record_response(kind, response, is_last, self.clock.now()) else {
                return Ok(());
            };
            let event = after.disabled_event().filter(|_| !before.is_disabled());
            record.endpoint = after;
            if store.replace_webhook(&before, &record, event.as_ref()).await? == WriteOutcome::Applied {
                let Some(event) = event else { return Ok(()) };
                tracing::info!(webhook_id = %before.webhook_id, user_id = %before.user_id, "endpoint disabled");
                publish_event(self.events.as_ref(), &event).await;
                return Ok(());
            }
            match store.webhook(before.user_id, before.webhook_id).await? {
                // The response of the old URL says nothing about the new one.
                Some(current) if current.endpoint.url == url => record = current,
                _ => return Ok(()),
            }
        }
        Ok(())
    }
}
