//! The tick: puts every delivery that is due soon, or overdue, on the queue.

use std::collections::HashMap;

use chrono::TimeDelta;
use cloud::webhook_queue::WebhookDeliveryMessage;
use domain::id::UserId;
use futures::{StreamExt, TryStreamExt};
use storage::{DueWebhookDelivery, WriteOutcome};

use crate::WebhookService;
use crate::error::WebhooksError;

/// Entries of the due index read from one shard at a time.
const PAGE: i32 = 100;

/// The most pages of one shard in one tick; the next tick continues.
const PAGES: usize = 50;

/// Entries of one shard moved at the same time.
const MOVES_AT_ONCE: usize = 8;

/// The most deliveries of one user that a tick queues from one shard. The others wait for the next
/// tick, so that a large backlog delays no other user.
const PER_USER: usize = 100;

/// How long after a delivery was due the tick queues it again.
const REQUEUE_AFTER: TimeDelta = TimeDelta::seconds(60);

impl WebhookService {
    /// Returns the number of queued deliveries. A shard that fails delays no other. Each minute
    /// begins with another shard, so that ticks that are cut off do not always skip the same ones.
    pub async fn tick(&self) -> Result<usize, WebhooksError> {
        let (mut sent, mut last_error) = (0, None);
        let shards = self.store.due_shards();
        let first = u32::try_from(self.clock.now().timestamp().div_euclid(60).rem_euclid(shards.into())).unwrap_or(0);
        for shard in (first..shards).chain(0..first) {
            match self.queue_shard(shard).await {
                Ok(count) => sent += count,
                Err(error) => {
                    tracing::error!(%error, shard, "due deliveries of a shard were not queued");
                    last_error = Some(error);
                }
            }
        }
        if 0 < sent {
            tracing::info!(sent, "queued due deliveries");
        }
        last_error.map_or(Ok(sent), Err)
    }

    async fn queue_shard(&self, shard: u32) -> Result<usize, WebhooksError> {
        let (mut sent, mut queued_per_user) = (0, HashMap::new());
        for _ in 0..PAGES {
            let due = self.store.due_webhook_deliveries(shard, self.clock.now(), PAGE).await?;
            sent += self.queue_due(&due, &mut queued_per_user).await?;
            if due.len() < usize::try_from(PAGE).unwrap_or(0) {
                break;
            }
        }
        Ok(sent)
    }

    async fn queue_due(
        &self,
        due: &[DueWebhookDelivery],
        queued_per_user: &mut HashMap<UserId, usize>,
    ) -> Result<usize, WebhooksError> {
        let mut is_within_limit = |it: &&DueWebhookDelivery| {
            let count = queued_per_user.entry(it.name.user_id).or_default();
            *count += 1;
            *count <= PER_USER
        };
        let queued = due.iter().filter(&mut is_within_limit);
        let messages: Vec<_> =
            queued.map(|it| WebhookDeliveryMessage { name: it.name.clone(), at: it.next_step_at }).collect();
        // Queued before they are moved in the index: a crash in between queues them twice, but
        // never loses one.
        self.queue.send(&messages).await?;
        let now = self.clock.now();
        let requeue_at = |it: &DueWebhookDelivery| it.next_step_at.max(now) + REQUEUE_AFTER;
        let moves: Vec<_> = due.iter().map(|it| self.store.move_due_webhook_delivery(it, requeue_at(it))).collect();
        let _: Vec<WriteOutcome> = futures::stream::iter(moves).buffer_unordered(MOVES_AT_ONCE).try_collect().await?;
        Ok(messages.len())
    }
}

#[cfg(test)]
mod tests {
    use domain::id::UserId;
    use domain::testing::a_webhook_delivery;
    use domain::webhook::{EventKind, WebhookDelivery, WebhookMessage};
    use serde_json::json;

    use super::*;
    use crate::testing::WebhookHarness;

    #[tokio::test]
    async fn backlog_of_one_user_is_queued_in_parts_and_delays_no_other() {
        let harness = WebhookHarness::new().await;
        let (service, model) = (&harness.service, a_webhook_delivery());
        let delivery = |user: UserId, number: i64, at| {
            let detail =
                json!({ "id": format!("post.published:{user}:{number}"), "occurred_at": "2026-11-21T12:00:00.000Z" });
            let message = WebhookMessage::from_event(EventKind::PostPublished, model.webhook_id, &detail).unwrap();
            WebhookDelivery::new(user, model.webhook_id, message, at)
        };
        let now = harness.clock.now();
        let mut all: Vec<_> =
            (0..600).map(|it| delivery(harness.user.user_id, it, now - TimeDelta::hours(1))).collect();
        let other = delivery(model.user_id, 0, now - TimeDelta::minutes(5));
        all.push(other.clone());
        let adding: Vec<_> = all.iter().map(|it| service.store.add_webhook_delivery(it)).collect();
        futures::stream::iter(adding).buffer_unordered(32).try_collect::<Vec<_>>().await.unwrap();

        let most = PER_USER * usize::try_from(service.store.due_shards()).unwrap();
        let queued = service.tick().await.unwrap();

        assert!(queued <= most + 1, "{queued}");
        let hints = std::mem::take(&mut *harness.sent.hints.lock().unwrap());
        assert!(hints.iter().any(|it| it.name == other.name()));
        harness.clock.advance(REQUEUE_AFTER);
        let rest = service.tick().await.unwrap();
        assert!(600 < queued + rest, "{queued} and {rest}");
    }
}
