use domain::id::{UniqueNumber, UserId, WebhookId};
use domain::schedule::show;
use domain::webhook::{EventKind, WebhookDelivery, WebhookMessage};
use serde_json::json;
use storage::StorageError;

use crate::WebhookService;

impl WebhookService {
    /// The endpoint may be disabled. `None` if the message cannot be built.
    pub async fn send_test(&self, user: UserId, webhook: WebhookId) -> Result<Option<WebhookDelivery>, StorageError> {
        let now = self.clock.now();
        let number: UniqueNumber = self.ids.fresh();
        let detail = json!({
            "id": format!("webhook.test:{user}:{webhook}:{}", number.get()),
            "occurred_at": show(now),
            "webhook_id": webhook,
        });
        let Some(message) = WebhookMessage::from_event(EventKind::WebhookTest, webhook, &detail) else {
            return Ok(None);
        };
        let delivery = WebhookDelivery::new(user, webhook, message, now);
        self.store.add_webhook_delivery(&delivery).await?;
        self.try_queue_if_soon(&delivery).await;
        Ok(Some(delivery))
    }
}
