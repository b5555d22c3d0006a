//! The queue between the planner and the delivery workers. A message only names a delivery; the
//! stored delivery determines the next step.

use async_trait::async_trait;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use chrono::{DateTime, TimeDelta, Utc};
use domain::clock::Clock;
use domain::delivery::{Delivery, DeliveryIds};
use futures::{StreamExt, TryStreamExt};
use serde::{Deserialize, Serialize};

use crate::error_chain::chain;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryMessage {
    #[serde(flatten)]
    pub ids: DeliveryIds,
    /// The revision of the delivery. If the stored one differs, the worker drops the message.
    pub revision: u64,
    /// When the roll-up is due; `None` means immediately.
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub roll_up_at: Option<DateTime<Utc>>,
    #[serde(default, skip_serializing_if = "Admission::is_immediate")]
    pub admission: Admission,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Admission {
    /// The call starts, and acquires its permits once it turns out to be slow.
    #[default]
    Immediate,
    /// The worker acquires the permits before the call (bursts of one user, retries).
    WithPermits,
    /// Like `WithPermits`, for the deliveries of a profile that has more than its permits admit. On
    /// the queue, they are a group of their own, so that they delay no other profile of the user.
    Backlog,
}

impl Admission {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_immediate(&self) -> bool {
        *self == Self::Immediate
    }
}

impl DeliveryMessage {
    pub fn for_delivery(delivery: &Delivery) -> Self {
        Self { ids: delivery.ids(), revision: delivery.revision, roll_up_at: None, admission: Admission::Immediate }
    }

    /// On a standard queue, groups do not order messages, but make the queue fair: while one group
    /// has many messages in flight, SQS delivers those of other groups first. Source: the SQS
    /// developer guide, "How Amazon SQS fair queues work".
    pub fn group(&self) -> String {
        let DeliveryIds { user_id, profile_id, .. } = self.ids;
        match (self.admission, profile_id) {
            (Admission::Backlog, Some(profile)) => format!("{user_id}/{profile}"),
            _ => user_id.to_string(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing {
    pub message: DeliveryMessage,
    /// A time in the past means immediately.
    pub at: DateTime<Utc>,
}

/// How much earlier a message is delivered: batches are collected for up to a second, and delays
/// are whole seconds. The worker waits for the rest.
const LEAD_TIME: TimeDelta = TimeDelta::seconds(2);

/// A worker that waits for a message delays those of others.
const BACKLOG_LAG: TimeDelta = TimeDelta::seconds(1);

impl Outgoing {
    /// The delay in seconds of a message that is sent at `now`; at most [`MAX_DELAY_S`].
    pub fn delay_s(&self, now: DateTime<Utc>) -> u16 {
        let arrives_at = match self.message.admission {
            Admission::Immediate | Admission::WithPermits => self.at - LEAD_TIME,
            Admission::Backlog => self.at + BACKLOG_LAG,
        };
        let wait_s = (arrives_at - now).num_seconds().clamp(0, MAX_DELAY_S.into());
        u16::try_from(wait_s).unwrap_or(MAX_DELAY_S)
    }
}

/// Source: the SQS developer guide, "message quotas".
pub const MAX_DELAY_S: u16 = 900;

/// SQS's limit for one call.
const BATCH: usize = 10;

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
                .message_group_id(outgoing.message.group())
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
    use domain::id::ProfileId;
    use domain::testing::{a_delivery, noon};

    use super::*;

    #[test]
    fn backlog_of_a_profile_is_a_group_of_its_own() {
        let profile_id = ProfileId::new(5);
        let (own, of_profile) = (a_delivery(), Delivery { profile_id, ..a_delivery() });
        let user = own.user_id.to_string();
        let group = |delivery: &Delivery, admission| {
            let ids = DeliveryIds { user_id: own.user_id, ..delivery.ids() };
            DeliveryMessage { ids, admission, ..DeliveryMessage::for_delivery(delivery) }.group()
        };

        for admission in [Admission::Immediate, Admission::WithPermits] {
            assert_eq!([&own, &of_profile].map(|it| group(it, admission)), [user.clone(), user.clone()]);
        }
        assert_eq!([&own, &of_profile].map(|it| group(it, Admission::Backlog)), [user.clone(), format!("{user}/5")]);
    }

    #[test]
    fn message_of_a_backlog_is_delivered_up_to_a_second_late() {
        let admission = Admission::Backlog;
        let message = DeliveryMessage { admission, ..DeliveryMessage::for_delivery(&a_delivery()) };
        let delay_s =
            |milliseconds| Outgoing { message, at: noon() + TimeDelta::milliseconds(milliseconds) }.delay_s(noon());

        assert_eq!((delay_s(10_000), delay_s(10_001), delay_s(10_999)), (11, 11, 11));
        assert_eq!((delay_s(-1_000), delay_s(-5_000)), (0, 0));
    }

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
