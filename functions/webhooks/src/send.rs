//! One attempt: a notice is held, its endpoint called, and the answer written
//! down.

use cloud::webhook_queue::WebhookDeliveryMessage;
use domain::token::random_u32;
use domain::webhook::{PLANNED_AHEAD, WebhookDelivery, WebhookDeliveryId, WebhookDeliveryStatus};
use storage::{EndpointRecord, WebhookTickWork, WriteOutcome};

use crate::App;
use crate::endpoint_client::Request;
use crate::error::WebhooksError;

impl App {
    /// Makes the next attempt of a notice, if it is due and nobody makes it.
    pub async fn send(&self, name: &WebhookDeliveryId) -> Result<(), WebhooksError> {
        let store = &self.api.store;
        let (work, user) = futures::try_join!(Box::pin(store.webhook_tick_work(name)), store.user(name.user_id))?;
        let WebhookTickWork { notice, endpoint, open_for_user, open_to_endpoint } = work;
        let Some(notice) = notice.filter(|it| it.state == WebhookDeliveryStatus::Waiting) else { return Ok(()) };
        let Some(record) = endpoint else { return Ok(store.remove_webhook_delivery(name).await?) };
        let now = self.api.clock.now();
        let receives = record.endpoint.accepts(notice.message.kind) && user.is_some_and(|it| !it.disabled);
        // A worker that holds the notice writes down the outcome of its call.
        if !receives && !notice.is_leased(now) {
            store.replace_webhook_delivery(&notice, &notice.fail()).await?;
            return Ok(());
        }
        if !notice.is_due(now) {
            return Ok(());
        }
        // Calls of the SDK are large futures, which are better kept on the heap.
        let permits = Box::pin(self.permits(&record.endpoint, open_for_user, &open_to_endpoint)).await?;
        let Some(permits) = permits else { return self.postpone(&notice).await };
        let (held, request) = match self.begin(&notice, &record).await {
            Ok(Some(begun)) => begun,
            other => {
                self.return_permits(permits).await;
                return other.map(drop);
            }
        };
        let call = self.call_with(permits, &record.endpoint, self.calls.call(request.clone()));
        let answer = Box::pin(call).await;
        let settled = held.record_response(&answer, request.at, self.api.clock.now(), random_u32());
        // Before the notice ends: whoever takes over from a worker that dies in between finds it
        // waiting, and the endpoint disabled where it said so.
        let is_last = settled.state == WebhookDeliveryStatus::Failed;
        let heard = self.record_response(record, notice.message.kind, &answer, is_last).await;
        if store.replace_webhook_delivery(&held, &settled).await? == WriteOutcome::Conflict {
            tracing::info!(webhook_id = %name.webhook_id, "a notice was asked for again while it was sent");
        }
        self.hint(&settled).await?;
        heard
    }

    /// Holds a notice for an attempt; `None` when another worker was faster.
    async fn begin(
        &self,
        notice: &WebhookDelivery,
        record: &EndpointRecord,
    ) -> Result<Option<(WebhookDelivery, Request)>, WebhooksError> {
        // Whatever can fail on our side comes before the notice is held.
        let request = self.request(notice, record).await?;
        let held = notice.lease(self.api.clock.now());
        let race = self.api.store.replace_webhook_delivery(notice, &held).await?;
        Ok(race.is_won().then_some((held, request)))
    }

    /// Reschedules a notice whose call got no permit.
    async fn postpone(&self, notice: &WebhookDelivery) -> Result<(), WebhooksError> {
        let later = notice.postponed(self.api.clock.now(), random_u32());
        if self.api.store.replace_webhook_delivery(notice, &later).await? == WriteOutcome::Applied {
            self.hint(&later).await?;
        }
        Ok(())
    }

    async fn request(&self, notice: &WebhookDelivery, record: &EndpointRecord) -> Result<Request, WebhooksError> {
        let at = self.api.clock.now();
        let secrets = self.secrets(record, at).await?;
        let message = &notice.message;
        Ok(Request {
            url: record.endpoint.url.clone(),
            id: message.id.clone(),
            at,
            signatures: message.signatures(at, &secrets, self.keys.key().await?),
            body: message.body.clone(),
        })
    }

    /// Has the queue bring a notice that is tried again soon. The others are found
    /// by the tick, and these too, when the hint is lost.
    pub(crate) async fn hint(&self, notice: &WebhookDelivery) -> Result<(), WebhooksError> {
        let is_soon = notice.next_step_at <= self.api.clock.now() + PLANNED_AHEAD;
        if notice.state == WebhookDeliveryStatus::Waiting && is_soon {
            self.queue.send(&[WebhookDeliveryMessage { name: notice.name(), at: notice.next_step_at }]).await?;
        }
        Ok(())
    }

    /// The same where a client waits, to whom it makes no difference.
    pub(crate) async fn hint_or_leave(&self, notice: &WebhookDelivery) {
        if let Err(error) = self.hint(notice).await {
            tracing::warn!(%error, "a notice is left to the tick");
        }
    }
}

#[cfg(test)]
mod tests;
