//! The tick: whatever is due soon is put on the queue, and watched.

use chrono::{DateTime, TimeDelta, Utc};
use cloud::queue::{DeliveryMessage, Outgoing};
use domain::delivery::WATCHDOG;
use storage::Due;

use crate::write::outgoing;
use crate::{Publishing, PublishingError};

/// Deliveries read from one shard at a time.
const PAGE: i32 = 500;

/// The most pages of one shard in one tick; the next tick goes on.
const MAX_PAGES: usize = 100;

/// Watchdogs moved at the same time.
const CONCURRENCY: usize = 32;

/// What a tick found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Planned {
    /// Deliveries put on the queue.
    pub count: usize,
    /// By how much the longest overdue one is late.
    pub oldest_overdue: TimeDelta,
}

impl Publishing {
    /// Puts on the queue whatever the sweep has to look at.
    pub async fn plan(&self) -> Result<Planned, PublishingError> {
        self.plan_until(self.clock.now()).await
    }

    /// The same for whatever the sweep would have to look at by `until`: after
    /// the queue was lost as a whole.
    pub async fn plan_until(&self, until: DateTime<Utc>) -> Result<Planned, PublishingError> {
        let shards: Vec<_> = (0..self.store.due_shards()).map(|it| self.plan_shard(it, until)).collect();
        let planned = futures::future::try_join_all(shards).await?;
        Ok(planned.into_iter().fold(Planned::default(), |all, one| Planned {
            count: all.count + one.count,
            oldest_overdue: all.oldest_overdue.max(one.oldest_overdue),
        }))
    }

    async fn plan_shard(&self, shard: u32, until: DateTime<Utc>) -> Result<Planned, PublishingError> {
        let mut planned = Planned::default();
        for _ in 0..MAX_PAGES {
            let now = self.clock.now();
            let due = self.store.due(shard, until, PAGE).await?;
            let messages: Vec<_> = due.iter().map(|it| message(it, now)).collect();
            // Sent first: a crash in between sends them twice, never not at all.
            self.queue.send(&messages).await?;
            for some in due.chunks(CONCURRENCY) {
                let moves: Vec<_> =
                    some.iter().map(|it| self.store.move_due(it, it.look_at.max(until).max(now) + WATCHDOG)).collect();
                futures::future::try_join_all(moves).await?;
            }
            let overdue = due.iter().map(|it| now - it.look_at).max().unwrap_or_default();
            planned.oldest_overdue = planned.oldest_overdue.max(overdue);
            planned.count += due.len();
            if due.len() < usize::try_from(PAGE).unwrap_or(usize::MAX) {
                break;
            }
        }
        Ok(planned)
    }
}

fn message(due: &Due, now: DateTime<Utc>) -> Outgoing {
    let message = DeliveryMessage {
        user_id: due.user_id,
        post_id: due.post_id,
        target_id: due.target_id,
        connection_id: due.connection_id,
        revision: due.revision,
    };
    outgoing(message, due.look_at, now)
}

#[cfg(test)]
mod tests;
