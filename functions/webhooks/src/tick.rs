//! The tick: whatever is to be tried soon, or should have been, is put on the
//! queue.

use std::collections::HashMap;

use chrono::TimeDelta;
use cloud::webhook_queue::WebhookDeliveryMessage;
use domain::id::UserId;
use futures::{StreamExt, TryStreamExt};
use storage::{DueWebhookDelivery, WriteOutcome};

use crate::App;
use crate::error::WebhooksError;

/// Entries of the due index read from one shard at a time.
const PAGE: i32 = 100;

/// The most pages of one shard in one tick; the next one goes on.
const PAGES: usize = 50;

/// Entries of one shard moved at the same time.
const MOVES_AT_ONCE: usize = 8;

/// The most notices of one user that a tick brings from one shard. The others wait for the next
/// tick, and those of other users wait for none of them.
const PER_USER: usize = 100;

/// How long after a notice should have been tried the tick looks again.
const LOOK_AGAIN: TimeDelta = TimeDelta::seconds(60);

impl App {
    /// Puts on the queue what the due index names, and says how much that was. A shard
    /// that fails holds up none of the others; each minute begins with the next one, so
    /// that a tick that is cut off leaves others behind.
    pub async fn tick(&self) -> Result<usize, WebhooksError> {
        let (mut sent, mut failed) = (0, None);
        let shards = self.api.store.due_shards();
        let first =
            u32::try_from(self.api.clock.now().timestamp().div_euclid(60).rem_euclid(shards.into())).unwrap_or(0);
        for shard in (first..shards).chain(0..first) {
            match self.bring_shard(shard).await {
                Ok(count) => sent += count,
                Err(error) => {
                    tracing::error!(%error, shard, "notices that are due could not be brought");
                    failed = Some(error);
                }
            }
        }
        if 0 < sent {
            tracing::info!(sent, "brought notices that were due");
        }
        failed.map_or(Ok(sent), Err)
    }

    async fn bring_shard(&self, shard: u32) -> Result<usize, WebhooksError> {
        let (mut sent, mut of_users) = (0, HashMap::new());
        for _ in 0..PAGES {
            let due = self.api.store.due_webhook_deliveries(shard, self.api.clock.now(), PAGE).await?;
            sent += self.bring(&due, &mut of_users).await?;
            if due.len() < usize::try_from(PAGE).unwrap_or(0) {
                break;
            }
        }
        Ok(sent)
    }

    async fn bring(
        &self,
        due: &[DueWebhookDelivery],
        of_users: &mut HashMap<UserId, usize>,
    ) -> Result<usize, WebhooksError> {
        let mut has_turn = |it: &&DueWebhookDelivery| {
            let count = of_users.entry(it.name.user_id).or_default();
            *count += 1;
            *count <= PER_USER
        };
        let brought = due.iter().filter(&mut has_turn);
        let hints: Vec<_> =
            brought.map(|it| WebhookDeliveryMessage { name: it.name.clone(), at: it.next_step_at }).collect();
        // Sent before they are moved: after a crash in between they are sent twice,
        // and never not at all.
        self.queue.send(&hints).await?;
        let now = self.api.clock.now();
        let to = |it: &DueWebhookDelivery| it.next_step_at.max(now) + LOOK_AGAIN;
        let moves: Vec<_> = due.iter().map(|it| self.api.store.move_due_webhook_delivery(it, to(it))).collect();
        let _: Vec<WriteOutcome> = futures::stream::iter(moves).buffer_unordered(MOVES_AT_ONCE).try_collect().await?;
        Ok(hints.len())
    }
}

#[cfg(test)]
mod tests {
    use domain::id::UserId;
    use domain::testing::a_notice;
    use domain::webhook::{EventKind, WebhookDelivery, WebhookMessage};
    use serde_json::json;

    use super::*;
    use crate::testing::Harness;

    #[tokio::test]
    async fn a_users_backlog_is_brought_in_parts_and_delays_no_other_user() {
        let world = Harness::new().await;
        let (app, model) = (&world.app, a_notice());
        let notice = |user: UserId, number: i64, at| {
            let detail =
                json!({ "id": format!("post.published:{user}:{number}"), "occurred_at": "2026-11-21T12:00:00.000Z" });
            let message = WebhookMessage::of(EventKind::PostPublished, model.webhook_id, &detail).unwrap();
            WebhookDelivery::new(user, model.webhook_id, message, at)
        };
        let now = world.clock.now();
        let mut all: Vec<_> = (0..600).map(|it| notice(world.user.user_id, it, now - TimeDelta::hours(1))).collect();
        let other = notice(model.user_id, 0, now - TimeDelta::minutes(5));
        all.push(other.clone());
        let adding: Vec<_> = all.iter().map(|it| app.api.store.add_webhook_delivery(it)).collect();
        futures::stream::iter(adding).buffer_unordered(32).try_collect::<Vec<_>>().await.unwrap();

        let most = PER_USER * usize::try_from(app.api.store.due_shards()).unwrap();
        let brought = app.tick().await.unwrap();

        assert!(brought <= most + 1, "{brought}");
        let hints = std::mem::take(&mut *world.sent.hints.lock().unwrap());
        assert!(hints.iter().any(|it| it.name == other.name()));
        world.clock.advance(LOOK_AGAIN);
        let rest = app.tick().await.unwrap();
        assert!(600 < brought + rest, "{brought} and {rest}");
    }
}
