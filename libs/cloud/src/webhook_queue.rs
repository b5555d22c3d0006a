//! The queue of webhook deliveries, separate from that of posts, so that a slow endpoint delays no
//! post.

use async_trait::async_trait;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use chrono::{DateTime, Utc};
use domain::clock::Clock;
use domain::webhook::WebhookDeliveryId;

use crate::error_chain::chain;
use crate::queue::{MAX_DELAY_S, QueueError};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookDeliveryMessage {
    pub name: WebhookDeliveryId,
    /// A time in the past means immediately.
    pub at: DateTime<Utc>,
}

impl WebhookDeliveryMessage {
    /// The delay in seconds of a message that is sent at `now`, rounded up; at most
    /// [`MAX_DELAY_S`].
    pub fn delay_s(&self, now: DateTime<Utc>) -> u16 {
        let wait_ms = (self.at - now).num_milliseconds().max(0);
        u16::try_from(wait_ms.unsigned_abs().div_ceil(1_000)).unwrap_or(MAX_DELAY_S).min(MAX_DELAY_S)
    }
}

#[async_trait]
pub trait WebhookQueue: Send + Sync {
    /// After an error, some messages may have been sent.
    async fn send(&self, messages: &[WebhookDeliveryMessage]) -> Result<(), QueueError>;
}

pub struct SqsWebhookQueue {
    client: aws_sdk_sqs::Client,
    url: String,
    clock: Clock,
}

/// SQS's limit for one call.
const BATCH: usize = 10;

impl SqsWebhookQueue {
    pub fn new(client: aws_sdk_sqs::Client, url: String, clock: Clock) -> Self {
        Self { client, url, clock }
    }
}

#[async_trait]
impl WebhookQueue for SqsWebhookQueue {
    async fn send(&self, messages: &[WebhookDeliveryMessage]) -> Result<(), QueueError> {
        for batch in messages.chunks(BATCH) {
            let mut request = self.client.send_message_batch().queue_url(&self.url);
            let now = self.clock.now();
            for (index, message) in batch.iter().enumerate() {
                let body = serde_json::to_string(&message.name).map_err(|it| QueueError(it.to_string()))?;
                let entry = SendMessageBatchRequestEntry::builder()
                    .id(index.to_string())
                    .message_body(body)
                    // Makes the queue fair: many messages of one user do not delay those of others.
                    // The rule of the event bus gives events the same group.
                    .message_group_id(message.name.user_id.to_string())
                    .delay_seconds(message.delay_s(now).into());
                request = request.entries(entry.build().map_err(|it| QueueError(it.to_string()))?);
            }
            let sent = request.send().await.map_err(|it| QueueError(chain(&it)))?;
            if let Some(failed) = sent.failed().first() {
                return Err(QueueError(failed.code().to_owned()));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use domain::testing::{a_webhook_delivery, noon};

    use super::*;

    #[test]
    fn message_is_not_delivered_early() {
        let delay_s = |wait_ms| {
            WebhookDeliveryMessage { name: a_webhook_delivery().name(), at: noon() + TimeDelta::milliseconds(wait_ms) }
                .delay_s(noon())
        };
        assert_eq!((delay_s(-5_000), delay_s(0), delay_s(1), delay_s(5_000)), (0, 0, 1, 5));
        assert_eq!(delay_s(9_000_000_000), MAX_DELAY_S);
    }
}
