//! What an answer means for the endpoint itself: it works, it fails, it is gone.

use domain::webhook::{EndpointResponse, EventKind};
use storage::{EndpointRecord, WriteOutcome};

use crate::App;
use crate::error::WebhooksError;

/// How often it is tried to write that down, when others write the endpoint.
const TRIES: usize = 5;

impl App {
    /// Notes what an endpoint answered. One that is disabled by it is told of on
    /// the bus: the event is written together with that.
    pub(crate) async fn record_response(
        &self,
        called: EndpointRecord,
        kind: EventKind,
        answer: &EndpointResponse,
        is_last: bool,
    ) -> Result<(), WebhooksError> {
        let store = &self.api.store;
        let url = called.endpoint.url.clone();
        let mut record = called;
        for _ in 0..TRIES {
            let before = record.endpoint.clone();
            let Some(after) = before.record_response(kind, answer, is_last, self.api.clock.now()) else {
                return Ok(());
            };
            let news = after.disabled_event().filter(|_| !before.is_disabled());
            record.endpoint = after;
            if store.swap_webhook(&before, &record, news.as_ref()).await? == WriteOutcome::Applied {
                let Some(event) = news else { return Ok(()) };
                tracing::info!(webhook_id = %before.webhook_id, user_id = %before.user_id, "an endpoint was disabled");
                self.events.put(std::slice::from_ref(&event)).await?;
                return Ok(store.outbox_done(&event).await?);
            }
            match store.webhook(before.user_id, before.webhook_id).await? {
                // What another place answered says nothing of this one.
                Some(now) if now.endpoint.url == url => record = now,
                _ => return Ok(()),
            }
        }
        Ok(())
    }
}
