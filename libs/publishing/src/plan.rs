//! The tick: puts on the queue what is due soon, once, and what is overdue, again.
//!
//! The progress of planning is one timestamp, so planning a delivery does not write to it. A tick
//! that is cut off plans the same deliveries again, and a duplicate message has no effect.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};
use cloud::queue::{Admission, DeliveryMessage, Outgoing, Queue};
use domain::clock::Clock;
use domain::delivery::{OVERDUE_CHECK_INTERVAL, PLAN_WINDOW};
use domain::id::{ProfileId, UserId};
use domain::post::MAX_TARGETS;
use futures::{StreamExt, TryStreamExt};
use storage::{DueEntry, DueKey, Store, WriteOutcome};

use crate::{ConcurrencyLimits, PublishingError};

/// Entries of the due index read from one shard at a time.
const PAGE: i32 = 1_000;

/// The most pages of overdue entries of one shard in one tick. The next tick continues after those
/// that this one moved back. Deliveries with a deferred roll-up stay in front: the limit allows a
/// million of them in eight shards.
const MAX_OVERDUE_PAGES: usize = 200;

/// Shards read concurrently. Each sends several batches of messages at once, and the connections of
/// a function are limited.
const SHARDS_AT_ONCE: usize = 8;

/// Entries of one shard moved concurrently: about 800 a second, where a partition takes 1,000
/// writes.
const MOVES_AT_ONCE: usize = 4;

/// The most deliveries that one tick plans with an immediate roll-up. A roll-up writes about ten
/// units, and DynamoDB grants a new table 4,000 a second; further roll-ups come after the publish
/// calls.
const MAX_IMMEDIATE_ROLL_UPS: usize = 4_000;

/// The most deliveries of one profile in a tick that are no backlog: one a second, or those of two
/// posts with the most targets.
const PROFILE_BURST: usize = 2 * MAX_TARGETS;

/// Rate of the deferred roll-ups: half of what a new table is granted.
const DEFERRED_ROLL_UPS_PER_SECOND: u32 = 200;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Planned {
    pub count: usize,
    pub oldest_overdue: TimeDelta,
}

#[derive(Clone)]
pub struct Planner {
    pub store: Store,
    pub queue: Arc<dyn Queue>,
    pub clock: Clock,
    pub concurrency_limits: ConcurrencyLimits,
}

impl Planner {
    pub async fn plan(&self) -> Result<Planned, PublishingError> {
        let planned_until = self.store.planned_until().await?;
        self.plan_after(planned_until).await
    }

    /// Like `plan`, but plans again what was planned already: for a queue that was lost as a whole.
    pub async fn plan_anew(&self) -> Result<Planned, PublishingError> {
        self.plan_after(None).await
    }

    async fn plan_after(&self, planned_until: Option<DateTime<Utc>>) -> Result<Planned, PublishingError> {
        let now = self.clock.now();
        let overdue_at = now - OVERDUE_CHECK_INTERVAL;
        // Entries that are older are read as overdue.
        let after = planned_until.map_or(overdue_at, |it| it.max(overdue_at));
        let until = now + PLAN_WINDOW;
        let bursts = Bursts::default();
        let shards: Vec<_> = (0..self.store.due_shards())
            .map(async |shard| {
                let soon = self.plan_soon(shard, (after, until), &bursts).await?;
                // An error here does not end the tick: overdue entries must not delay those that
                // are on time, and the next tick reads them again.
                let overdue = self.plan_overdue(shard, overdue_at, now).await;
                Ok::<_, PublishingError>((soon, overdue))
            })
            .collect();
        let mut shards = futures::stream::iter(shards).buffer_unordered(SHARDS_AT_ONCE);
        let mut planned = Planned::default();
        let mut failed = None;
        while let Some((soon, overdue)) = shards.try_next().await? {
            planned.count += soon;
            match overdue {
                Ok(overdue) => {
                    planned.count += overdue.count;
                    planned.oldest_overdue = planned.oldest_overdue.max(overdue.oldest_overdue);
                }
                Err(error) => failed = Some(error),
            }
        }
        self.store.set_planned_until(until).await?;
        failed.map_or(Ok(planned), Err)
    }

    async fn plan_soon(
        &self,
        shard: u32,
        (after, until): (DateTime<Utc>, DateTime<Utc>),
        bursts: &Bursts,
    ) -> Result<usize, PublishingError> {
        let (mut count, mut page, mut deferred) = (0, None::<DueKey>, None);
        // Deliveries spread evenly over the shards, so the load of this shard shows the load of the
        // minute.
        let shards = self.store.due_shards();
        if until <= after {
            return Ok(count);
        }
        loop {
            let due = self.store.due_deliveries(shard, (after, until), page, PAGE).await?;
            if deferred.is_none() && MAX_IMMEDIATE_ROLL_UPS < due.entries.len() * usize::try_from(shards).unwrap_or(1) {
                deferred = Some(DeferredRollUps { from: until, shards });
            }
            let outgoing = |(index, it): (usize, &DueEntry)| {
                let roll_up_at = deferred.as_ref().map(|it| it.place(count + index));
                let admission = bursts.admission(it, self.concurrency_limits);
                Outgoing { message: DeliveryMessage { roll_up_at, admission, ..message(it) }, at: it.next_step_at }
            };
            let messages: Vec<_> = due.entries.iter().enumerate().map(outgoing).collect();
            self.queue.send(&messages).await?;
            count += messages.len();
            page = due.next;
            if page.is_none() {
                return Ok(count);
            }
        }
    }

    async fn plan_overdue(
        &self,
        shard: u32,
        until: DateTime<Utc>,
        now: DateTime<Utc>,
    ) -> Result<Planned, PublishingError> {
        let (mut planned, mut page) = (Planned::default(), None);
        for _ in 0..MAX_OVERDUE_PAGES {
            let due = self.store.due_deliveries(shard, (DateTime::UNIX_EPOCH, until), page, PAGE).await?;
            // A delivery that has ended stays in the index until its post is rolled up. It is
            // overdue only when the time for that is over.
            let overdue: Vec<_> = due.entries.iter().filter(|it| it.next_step_at <= until).collect();
            let messages: Vec<_> =
                overdue.iter().map(|it| Outgoing { message: message(it), at: it.next_step_at }).collect();
            // Sent before they are moved: after a crash they are sent twice, but never lost.
            self.queue.send(&messages).await?;
            let moves: Vec<_> = overdue.iter().map(|it| self.store.move_due(it, now)).collect();
            let _: Vec<WriteOutcome> =
                futures::stream::iter(moves).buffer_unordered(MOVES_AT_ONCE).try_collect().await?;
            let oldest = overdue.iter().map(|it| now - it.next_step_at).max().unwrap_or_default();
            planned.oldest_overdue = planned.oldest_overdue.max(oldest);
            planned.count += overdue.len();
            page = due.next;
            if page.is_none() {
                break;
            }
        }
        Ok(planned)
    }
}

/// Spreads the roll-ups of an overloaded minute.
struct DeferredRollUps {
    from: DateTime<Utc>,
    shards: u32,
}

impl DeferredRollUps {
    /// When to roll up the delivery with this index in its shard.
    fn place(&self, index: usize) -> DateTime<Utc> {
        let ahead = u64::try_from(index).unwrap_or(u64::MAX).saturating_mul(self.shards.into());
        let wait_s = ahead / u64::from(DEFERRED_ROLL_UPS_PER_SECOND);
        self.from + TimeDelta::seconds(i64::try_from(wait_s).unwrap_or(i64::MAX).min(86_400))
    }
}

#[derive(Default)]
struct Bursts(Mutex<Counts>);

#[derive(Default)]
struct Counts {
    /// Due in the same second, without the backlog of profiles.
    by_second: HashMap<(UserId, i64), usize>,
    by_profile: HashMap<(UserId, ProfileId), usize>,
}

impl Bursts {
    /// Counts this delivery, and admits it by what was counted before.
    fn admission(&self, due: &DueEntry, limits: ConcurrencyLimits) -> Admission {
        let (user, unchecked) = (due.ids.user_id, limits.unchecked());
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_profile = due.ids.profile_id.map_or(0, |it| count(counts.by_profile.entry((user, it)).or_default()));
        if PROFILE_BURST < of_profile {
            return Admission::Backlog;
        }
        let of_second = count(counts.by_second.entry((user, due.next_step_at.timestamp())).or_default());
        if unchecked < of_profile.max(of_second) { Admission::WithPermits } else { Admission::Immediate }
    }
}

fn count(counter: &mut usize) -> usize {
    *counter += 1;
    *counter
}

/// An overdue delivery needs permits, because something delayed it before.
fn message(due: &DueEntry) -> DeliveryMessage {
    DeliveryMessage { ids: due.ids, revision: due.revision, roll_up_at: None, admission: Admission::Backlog }
}

#[cfg(test)]
mod tests;
