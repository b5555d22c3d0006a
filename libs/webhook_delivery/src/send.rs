//! One attempt of a webhook delivery: lease it, call the endpoint, store the response.

use cloud::webhook_queue::WebhookDeliveryMessage;
use domain::webhook::{PLANNED_AHEAD, WebhookDelivery, WebhookDeliveryId, WebhookDeliveryStatus};
use storage::{EndpointRecord, WebhookTickWork, WriteOutcome};

use crate::WebhookService;
use crate::endpoint_client::Request;
use crate::error::WebhooksError;

impl WebhookService {
    /// Does nothing if the delivery is not due, or another worker has leased it.
    pub async fn send(&self, delivery_id: &WebhookDeliveryId) -> Result<(), WebhooksError> {
        let store = &self.store;
        let (work, user) =
            futures::try_join!(Box::pin(store.load_webhook_delivery(delivery_id)), store.user(delivery_id.user_id))?;
        let WebhookTickWork { delivery, endpoint, in_flight_for_user, in_flight_to_endpoint } = work;
        let Some(delivery) = delivery.filter(|it| it.state == WebhookDeliveryStatus::Waiting) else { return Ok(()) };
        let Some(record) = endpoint else { return Ok(store.remove_webhook_delivery(delivery_id).await?) };
        let now = self.clock.now();
        let can_receive = record.endpoint.accepts(delivery.message.kind) && user.is_some_and(|it| !it.disabled);
        // A worker that has leased the delivery stores the outcome of its call.
        if !can_receive && !delivery.is_leased(now) {
            store.replace_webhook_delivery(&delivery, &delivery.fail()).await?;
            return Ok(());
        }
        if !delivery.is_due(now) {
            return Ok(());
        }
        // Futures of SDK calls are large, so they are boxed.
        let permits = Box::pin(self.permits(&record.endpoint, in_flight_for_user, &in_flight_to_endpoint)).await?;
        let Some(permits) = permits else { return self.postpone(&delivery).await };
        let (leased, request) = match self.begin(&delivery, &record).await {
            Ok(Some(leased_and_request)) => leased_and_request,
            other => {
                self.release_permits(permits).await;
                return other.map(drop);
            }
        };
        let call = self.call_with(permits, &record.endpoint, self.client.call(request.clone()));
        let response = Box::pin(call).await;
        let after = leased.record_response(&response, request.at, self.clock.now(), self.random.u32());
        // Stored before the delivery ends: if this worker dies in between, the next one finds
        // the delivery waiting, and the endpoint disabled if its response disabled it.
        let is_last = after.state == WebhookDeliveryStatus::Failed;
        let recorded = self.record_response(record, delivery.message.kind, &response, is_last).await;
        if store.replace_webhook_delivery(&leased, &after).await? == WriteOutcome::Conflict {
            tracing::info!(webhook_id = %delivery_id.webhook_id, "delivery was redelivered or replaced during its attempt");
        }
        self.hint(&after).await?;
        recorded
    }

    /// `None` if another worker was faster.
    async fn begin(
        &self,
        delivery: &WebhookDelivery,
        record: &EndpointRecord,
    ) -> Result<Option<(WebhookDelivery, Request)>, WebhooksError> {
        // Everything of ours that can fail comes before the lease.
        let request = self.request(delivery, record).await?;
        let leased = delivery.lease(self.clock.now());
        let outcome = self.store.replace_webhook_delivery(delivery, &leased).await?;
        Ok(outcome.is_applied().then_some((leased, request)))
    }

    /// No attempt is counted.
    async fn postpone(&self, delivery: &WebhookDelivery) -> Result<(), WebhooksError> {
        let later = delivery.postponed(self.clock.now(), self.random.u32());
        if self.store.replace_webhook_delivery(delivery, &later).await? == WriteOutcome::Applied {
            self.hint(&later).await?;
        }
        Ok(())
    }

    async fn request(&self, delivery: &WebhookDelivery, record: &EndpointRecord) -> Result<Request, WebhooksError> {
        let at = self.clock.now();
        let secrets = self.secrets(record, at).await?;
        let message = &delivery.message;
        Ok(Request {
            url: record.endpoint.url.clone(),
            id: message.id.clone(),
            at,
            signatures: message.signatures(at, &secrets, self.keys.key().await?),
            body: message.body.clone(),
        })
    }

    /// Puts a delivery that is due soon on the queue. The tick finds all others, and these too if
    /// the message is lost.
    async fn hint(&self, delivery: &WebhookDelivery) -> Result<(), WebhooksError> {
        let is_soon = delivery.next_step_at <= self.clock.now() + PLANNED_AHEAD;
        if delivery.state == WebhookDeliveryStatus::Waiting && is_soon {
            self.queue.send(&[WebhookDeliveryMessage { name: delivery.name(), at: delivery.next_step_at }]).await?;
        }
        Ok(())
    }

    /// Puts a delivery that is due soon on the queue. A failure is only logged: the tick sends the
    /// delivery a little later.
    pub async fn try_queue_if_soon(&self, delivery: &WebhookDelivery) {
        if let Err(error) = self.hint(delivery).await {
            tracing::warn!(%error, "delivery not queued; the tick will find it");
        }
    }
}

#[cfg(test)]
mod tests;
