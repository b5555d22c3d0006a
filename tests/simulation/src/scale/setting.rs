//! With which numbers the model runs.

use super::limits::{
    BATCHING_WINDOW_MS, MOST_READY_POLLERS, NEW_TABLE_READ_UNITS, NEW_TABLE_WRITE_UNITS, RECEIVE_BATCH,
};
use super::{Ms, Profile};

/// How invocations are made of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventSource {
    /// Everything is there before it is needed: so many pollers in provisioned
    /// mode, and warm environments.
    Ready {
        /// 2 to 200.
        pollers: u32,
    },
    /// Grows by itself once there are messages.
    Standard,
    /// Provisioned mode, which grows faster, from so many pollers on.
    Provisioned {
        /// 2 to 200.
        pollers: u32,
    },
}

/// How the keys of a table lie on its partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partitions {
    /// Each key has one to itself, which is where a busy table ends up.
    OnePerKey,
    /// Keys fall by chance on as many as the table's throughput needs, which
    /// is where a table begins after it was warmed.
    Shared,
}

/// What every table and every index is ready for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tables {
    /// Write units a second.
    pub write_units: f64,
    /// Read units a second.
    pub read_units: f64,
    /// How keys lie on partitions.
    pub partitions: Partitions,
}

impl Tables {
    /// Warmed for a minute of a million posts.
    pub const WARMED: Self = Self { write_units: 60_000.0, read_units: 60_000.0, partitions: Partitions::OnePerKey };

    /// As they are made.
    pub const NEW: Self = Self {
        write_units: NEW_TABLE_WRITE_UNITS,
        read_units: NEW_TABLE_READ_UNITS,
        partitions: Partitions::OnePerKey,
    };
}

/// Numbers of the code and the template that nothing but their text shows. A
/// test compares each with the line it is copied from.
///
/// What others may name is used as it is: `PLAN_AHEAD`, `WATCHDOG` and `LEASE`
/// of `domain::delivery`.
pub(super) mod copied {
    use super::Ms;

    /// `EARLY` in `libs/cloud/src/queue.rs`, in seconds.
    pub(crate) const EARLY_S: Ms = 2;
    /// `CONCURRENCY` in `libs/cloud/src/queue.rs`.
    pub(crate) const SENDS_AT_ONCE: u32 = 16;
    /// `PAGE` in `libs/publishing/src/plan.rs`.
    pub(crate) const PAGE: u32 = 1_000;
    /// `MAX_OVERDUE_PAGES` in `libs/publishing/src/plan.rs`.
    pub(crate) const MAX_OVERDUE_PAGES: u32 = 200;
    /// `SHARDS_AT_ONCE` in `libs/publishing/src/plan.rs`.
    pub(crate) const SHARDS_AT_ONCE: u32 = 8;
    /// `MOVES_AT_ONCE` in `libs/publishing/src/plan.rs`.
    pub(crate) const MOVES_AT_ONCE: u32 = 4;
    /// `FULL` in `libs/publishing/src/plan.rs`.
    pub(crate) const FULL: u32 = 4_000;
    /// `PUT_OFF_PER_SECOND` in `libs/publishing/src/plan.rs`.
    pub(crate) const PUT_OFF_PER_SECOND: u32 = 200;
    /// In `PutOff::place`, `libs/publishing/src/plan.rs`.
    pub(crate) const LONGEST_PUT_OFF_S: u32 = 86_400;
    /// `MAX_WAIT` in `libs/publishing/src/deliver.rs`, in milliseconds.
    pub(crate) const MAX_WAIT_MS: Ms = 4_000;
    /// `AFTER_LEASE` in `libs/publishing/src/deliver.rs`, in milliseconds.
    pub(crate) const AFTER_LEASE_MS: Ms = 3_000;
    /// `RollUps::default` in `libs/publishing/src/lib.rs`.
    pub(crate) const ROLL_UPS_AT_ONCE: u32 = 4;
    /// The schedule of `PublisherFunction` in `template.yaml`, in milliseconds.
    pub(crate) const PERIOD_MS: Ms = 60_000;
    /// `Timeout` of `PublisherFunction` in `template.yaml`, in milliseconds.
    pub(crate) const TICK_LIMIT_MS: Ms = 55_000;
    /// `VisibilityTimeout` of `DeliveryQueue` in `template.yaml`, in milliseconds.
    pub(crate) const VISIBILITY_MS: Ms = 361_000;
    /// `maxReceiveCount` of `DeliveryQueue` in `template.yaml`.
    pub(crate) const RECEIVES: u8 = 5;
    /// The most that `DeliveryBatch` may be in `template.yaml`.
    pub(crate) const LARGEST_BATCH: u32 = 50;
    /// The most that `DeliveryConcurrency` may be in `template.yaml`.
    pub(crate) const MOST_ENVIRONMENTS: u32 = 1_000;
}

/// With which numbers the model runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The same seed gives the same figures.
    pub seed: u64,
    /// Posts with one target each, due at the sixty seconds of one minute.
    pub posts: u32,
    /// Whose they are.
    pub users: u32,
    /// How many of them the busiest user has.
    pub busiest_has: u32,
    /// Shards of the due index.
    pub due_shards: u32,
    /// How invocations are made of messages.
    pub source: EventSource,
    /// Environments of the delivery function, at most.
    pub environments: u32,
    /// Deliveries in one invocation, at most.
    pub batch: u32,
    /// What tables and indexes are ready for.
    pub tables: Tables,
    /// What everything costs in the store.
    pub profile: Profile,
    /// Calls by which the publisher sends a page at the same time.
    pub sends_at_once: u32,
    /// How many seconds before its time a message is to show. Up to one more,
    /// because delays are whole seconds.
    pub early_s: Ms,
    /// When in its minute the tick comes. Just before the minute's end, one
    /// tick plans the whole full minute.
    pub tick_ms: Ms,
    /// How long a tick may take.
    pub tick_limit_ms: Ms,
    /// Shards that the publisher is at at the same time.
    pub shards_at_once: u32,
    /// Entries it reads in one call.
    pub page: u32,
    /// Pages of overdue entries it reads of a shard in one tick.
    pub overdue_pages: u32,
    /// Overdue entries of a shard that it moves at the same time.
    pub moves_at_once: u32,
    /// A tick with more posts than this, as far as the first page of a shard
    /// lets it guess, puts off telling those of the shard.
    pub full: u32,
    /// Posts told a second then, once everything that it plans is due.
    pub roll_ups_per_s: u32,
    /// Posts that one environment tells at the same time.
    pub roll_ups_at_once: u32,
    /// How long a message stays away after its delivery was cut off.
    pub visibility_ms: Ms,
    /// How often a message is received before it is put aside.
    pub receives: u8,
    /// The longest wait inside a delivery.
    pub max_wait_ms: Ms,
    /// How long after the lease a message about a held delivery is for.
    pub after_lease_ms: Ms,
}

impl Setting {
    /// A million posts with everything ready. The code is as deployed; of the
    /// stack's parameters, `DueShards`, `DeliveryBatch` and
    /// `DeliveryConcurrency` are as high as such a minute needs them.
    pub fn million() -> Self {
        Self {
            seed: 1,
            posts: 1_000_000,
            users: 10_000,
            busiest_has: 1_000,
            due_shards: 64,
            source: EventSource::Ready { pollers: MOST_READY_POLLERS },
            environments: copied::MOST_ENVIRONMENTS,
            batch: copied::LARGEST_BATCH,
            tables: Tables::WARMED,
            profile: Profile::assumed(),
            sends_at_once: copied::SENDS_AT_ONCE,
            early_s: copied::EARLY_S,
            tick_ms: 59_500,
            tick_limit_ms: copied::TICK_LIMIT_MS,
            shards_at_once: copied::SHARDS_AT_ONCE,
            page: copied::PAGE,
            overdue_pages: copied::MAX_OVERDUE_PAGES,
            moves_at_once: copied::MOVES_AT_ONCE,
            full: copied::FULL,
            roll_ups_per_s: copied::PUT_OFF_PER_SECOND,
            roll_ups_at_once: copied::ROLL_UPS_AT_ONCE,
            visibility_ms: copied::VISIBILITY_MS,
            receives: copied::RECEIVES,
            max_wait_ms: copied::MAX_WAIT_MS,
            after_lease_ms: copied::AFTER_LEASE_MS,
        }
    }

    /// How long a batch is collected. What one call receives needs no window.
    pub(super) fn window_ms(&self) -> Ms {
        if self.batch <= RECEIVE_BATCH { 0 } else { BATCHING_WINDOW_MS }
    }
}
