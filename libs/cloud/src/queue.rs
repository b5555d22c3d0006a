//! The queue between the planner and the delivery workers. A message only names a delivery; the
//! stored delivery determines the next step.

use async_trait::async_trait;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use chrono::{DateTime, TimeDelta, Utc};
use domain::clock::Clock;
use domain::delivery::Delivery;
use domain::id::{ConnectionId, PostId, TargetId, UserId};
use futures::{StreamExt, TryStreamExt};
use serde::{Deserialize, Serialize};

use crate::error_chain::chain;

/// Names a delivery whose next step may be due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryMessage {
    pub user_id: UserId,
    pub post_id: PostId,
    pub target_id: TargetId,
    /// Included so that the worker can read everything in one call.
    pub connection_id: ConnectionId,
    /// The revision of the delivery. If the stored one differs, the worker drops the message.
    pub revision: u64,
    /// When the roll-up is due; `None` means immediately.
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub roll_up_at: Option<DateTime<Utc>>,
    /// The worker must acquire a concurrency permit before a call (bursts of one user, retries).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_permit: bool,
}

impl DeliveryMessage {
    pub fn for_delivery(delivery: &Delivery) -> Self {
        Self {
            user_id: delivery.user_id,
            post_id: delivery.post_id,
            target_id: delivery.target_id,
            connection_id: delivery.connection_id,
            revision: delivery.revision,
            roll_up_at: None,
            needs_permit: false,
        }
    }
}

/// A message, and when a worker should start on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing {
    pub message: DeliveryMessage,
    /// A time in the past means immediately.
    pub at: DateTime<Utc>,
}

/// How much earlier a message is delivered: batches are collected for up to a second, and delays
/// are whole seconds. The worker waits for the rest.
const LEAD_TIME: TimeDelta = TimeDelta::seconds(2);

impl Outgoing {
    /// The delay in seconds of a message that is sent at `now`; at most [`MAX_DELAY_S`].
    pub fn delay_s(&self, now: DateTime<Utc>) -> u16 {
        let wait_s = (self.at - LEAD_TIME - now).num_seconds().clamp(0, MAX_DELAY_S.into());
        u16::try_from(wait_s).unwrap_or(MAX_DELAY_S)
    }
}

/// The longest delay of SQS, in seconds. Source: the SQS developer guide, "message quotas".
pub const MAX_DELAY_S: u16 = 900;

/// The most messages that SQS accepts in one call.
const BATCH: usize = 10;

/// Concurrent calls.
const CONCURRENCY: usize = 16;

/// At least one message was not accepted.
#[derive(Debug, thiserror::Error)]
#[error("queue: not all messages accepted: {0}")]
pub struct QueueError(pub String);

#[async_trait]
pub trait Queue: Send + Sync {
    /// After an error, some messages may have been sent.
    async fn send(&self, messages: &[Outgoing]) -> Result<(), QueueError>;
}

pub struct SqsQueue {
    client: aws_sdk_sqs::Client,
    url: String,
    clock: Clock,
}

impl SqsQueue {
    pub fn new(client: aws_sdk_sqs::Client, url: String, clock: Clock) -> Self {
        Self { client, url, clock }
    }

    async fn send_batch(&self, batch: &[Outgoing]) -> Result<(), QueueError> {
        let mut request = self.client.send_message_batch().queue_url(&self.url);
        // Read for each batch, because the last may be sent much later than the first.
        let now = self.clock.now();
        for (index, outgoing) in batch.iter().enumerate() {
            let body = serde_json::to_string(&outgoing.message).map_err(|it| QueueError(it.to_string()))?;
            let entry = SendMessageBatchRequestEntry::builder()
                .id(index.to_string())
                .message_body(body)
                // On a standard queue, groups do not order messages, but make the queue fair:
                // while one group has many messages in flight, SQS delivers those of other
                // groups first. Source: the SQS developer guide, "How Amazon SQS fair queues
                // work".
                .message_group_id(outgoing.message.user_id.to_string())
                .delay_seconds(outgoing.delay_s(now).into());
            request = request.entries(entry.build().map_err(|it| QueueError(it.to_string()))?);
        }
        let sent = request.send().await.map_err(|it| QueueError(chain(&it)))?;
        match sent.failed().first() {
            Some(failed) => Err(QueueError(failed.code().to_owned())),
            None => Ok(()),
        }
    }
}

#[async_trait]
impl Queue for SqsQueue {
    async fn send(&self, messages: &[Outgoing]) -> Result<(), QueueError> {
        let calls: Vec<_> = messages.chunks(BATCH).map(|it| self.send_batch(it)).collect();
        futures::stream::iter(calls).buffer_unordered(CONCURRENCY).try_collect().await
    }
}

#[cfg(test)]
mod tests {
    use domain::testing::{a_delivery, noon};

    use super::*;

    #[test]
    fn message_is_delivered_two_to_three_seconds_early() {
        let delivery = a_delivery();
        let message = DeliveryMessage::for_delivery(&delivery);
        let delay_s = |milliseconds| {
            let at = noon() + TimeDelta::milliseconds(milliseconds);
            Outgoing { message, at }.delay_s(noon())
        };

        assert_eq!((delay_s(10_000), delay_s(10_999), delay_s(11_000)), (8, 8, 9));
        assert_eq!((delay_s(1_000), delay_s(-5_000)), (0, 0));
        assert_eq!(delay_s(9_000_000), MAX_DELAY_S);
    }
}
