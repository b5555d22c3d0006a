//! The queue between planning and delivery. A message is a hint to look at a
//! delivery; the store decides what is to be done.

use async_trait::async_trait;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use chrono::{DateTime, TimeDelta, Utc};
use domain::clock::Clock;
use domain::delivery::Delivery;
use domain::id::{ConnectionId, PostId, TargetId, UserId};
use futures::{StreamExt, TryStreamExt};
use serde::{Deserialize, Serialize};

use crate::error_chain::chain;

/// A hint that a delivery wants to be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryMessage {
    pub user_id: UserId,
    pub post_id: PostId,
    /// The target of that post.
    pub target_id: TargetId,
    /// The account that it goes to, named here so that everything can be read in
    /// one call.
    pub connection_id: ConnectionId,
    /// The revision of the delivery. If the store has another one, the message
    /// is void.
    pub revision: u64,
    /// When its post is told how it ended; `None` is at once.
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub roll_up_at: Option<DateTime<Utc>>,
    /// Whether it comes with many others of its user, or again, so that it has to
    /// ask for a place before a call is made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_permit: bool,
}

impl DeliveryMessage {
    /// A hint that this delivery wants to be looked at.
    pub fn about(delivery: &Delivery) -> Self {
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

/// A message and when somebody wants to be at work on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// The hint to send.
    pub message: DeliveryMessage,
    /// When that is; a time in the past means at once.
    pub at: DateTime<Utc>,
}

/// How much earlier a message is to come out: messages are collected into
/// batches for up to a second, and the delay itself is in whole seconds.
/// Whoever takes the message waits out the rest.
const EARLY: TimeDelta = TimeDelta::seconds(2);

impl Outgoing {
    /// For how many seconds a queue is to hold the message back when it is sent
    /// at `now`; at most [`MAX_DELAY_S`].
    pub fn delay_s(&self, now: DateTime<Utc>) -> u16 {
        let wait_s = (self.at - EARLY - now).num_seconds().clamp(0, MAX_DELAY_S.into());
        u16::try_from(wait_s).unwrap_or(MAX_DELAY_S)
    }
}

/// The longest delay of SQS: 15 minutes.
/// Source: the SQS developer guide, "message quotas".
pub const MAX_DELAY_S: u16 = 900;

/// The most messages that SQS takes in one call.
const BATCH: usize = 10;

/// How many calls are made at the same time.
const CONCURRENCY: usize = 16;

/// The queue did not take everything.
#[derive(Debug, thiserror::Error)]
#[error("the queue did not take every message: {0}")]
pub struct QueueError(pub String);

/// A queue with delays.
#[async_trait]
pub trait Queue: Send + Sync {
    /// Sends all; on an error some may have been sent.
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
        // Read for each batch: of many, the last may be sent much later than the
        // first.
        let now = self.clock.now();
        for (index, outgoing) in batch.iter().enumerate() {
            let body = serde_json::to_string(&outgoing.message).map_err(|it| QueueError(it.to_string()))?;
            let entry = SendMessageBatchRequestEntry::builder()
                .id(index.to_string())
                .message_body(body)
                // On a standard queue a group orders nothing: it makes the queue
                // fair. While one group has many messages in flight, those of the
                // others are handed out first.
                // Source: the SQS developer guide, "How Amazon SQS fair queues work".
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
    fn a_message_comes_out_two_to_three_seconds_before_it_is_wanted() {
        let delivery = a_delivery();
        let message = DeliveryMessage::about(&delivery);
        let delay_s = |milliseconds| {
            let at = noon() + TimeDelta::milliseconds(milliseconds);
            Outgoing { message, at }.delay_s(noon())
        };

        assert_eq!((delay_s(10_000), delay_s(10_999), delay_s(11_000)), (8, 8, 9));
        assert_eq!((delay_s(1_000), delay_s(-5_000)), (0, 0));
        assert_eq!(delay_s(9_000_000), MAX_DELAY_S);
    }
}
