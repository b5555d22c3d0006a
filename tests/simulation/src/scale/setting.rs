//! The numbers that the model runs with.

use publishing::ConcurrencyLimits;
use storage::DEFAULT_DUE_SHARDS;

use super::limits::{
    BATCHING_WINDOW_MS, MOST_READY_POLLERS, NEW_TABLE_READ_UNITS, NEW_TABLE_WRITE_UNITS, RECEIVE_BATCH,
};
use super::{Ms, Profile};

/// How the event source turns messages into invocations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventSource {
    /// Everything is there before it is needed: this many pollers in
    /// provisioned mode, and warm environments.
    Ready {
        /// 2 to 200.
        pollers: u32,
    },
    /// Standard mode, which grows by itself once there are messages.
    Standard,
    /// Provisioned mode, which begins with this many pollers and grows faster.
    Provisioned {
        /// 2 to 200.
        pollers: u32,
    },
}

/// How the keys of a table are spread over its partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partitions {
    /// Each key has a partition to itself. A busy table ends up like this.
    OnePerKey,
    /// Keys are spread at random over as many partitions as the table's
    /// throughput needs. A table begins like this after it was warmed.
    Shared,
}

/// The throughput that every table and every index is ready for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tables {
    /// Write units a second.
    pub write_units: f64,
    /// Read units a second.
    pub read_units: f64,
    /// How keys are spread over partitions.
    pub partitions: Partitions,
}

impl Tables {
    /// Warmed for a minute of a million posts.
    pub const WARMED: Self = Self { write_units: 60_000.0, read_units: 60_000.0, partitions: Partitions::OnePerKey };

    /// New tables that were never warmed.
    pub const NEW: Self = Self {
        write_units: NEW_TABLE_WRITE_UNITS,
        read_units: NEW_TABLE_READ_UNITS,
        partitions: Partitions::OnePerKey,
    };
}

/// A user whose platforms are slow: the first one, who has all posts but one for
/// each of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noisy {
    /// How long each public call of theirs takes.
    pub call_ms: Ms,
}

/// Numbers of the code and the template that cannot be named from here, because
/// they are private or not Rust. A test compares each with the line that it is
/// copied from.
///
/// What is public is used directly: `PLAN_WINDOW`, `OVERDUE_CHECK_INTERVAL` and `LEASE_DURATION` of
/// `domain::delivery`.
pub(super) mod copied {
    use super::Ms;

    /// `LEAD_TIME` in `libs/cloud/src/queue.rs`, in seconds.
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
    /// `MAX_IMMEDIATE_ROLL_UPS` in `libs/publishing/src/plan.rs`.
    pub(crate) const FULL: u32 = 4_000;
    /// `DEFERRED_ROLL_UPS_PER_SECOND` in `libs/publishing/src/plan.rs`.
    pub(crate) const PUT_OFF_PER_SECOND: u32 = 200;
    /// In `PutOff::place`, `libs/publishing/src/plan.rs`.
    pub(crate) const LONGEST_PUT_OFF_S: u32 = 86_400;
    /// `MAX_WAIT` in `libs/publishing/src/deliver.rs`, in milliseconds.
    pub(crate) const MAX_WAIT_MS: Ms = 4_000;
    /// `AFTER_LEASE` in `libs/publishing/src/deliver.rs`, in milliseconds.
    pub(crate) const AFTER_LEASE_MS: Ms = 3_000;
    /// `RollUpLimiter::default` in `libs/publishing/src/lib.rs`.
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

/// The numbers that the model runs with.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Equal seeds give equal figures.
    pub seed: u64,
    /// Posts with one target each, due at the sixty seconds of one minute.
    pub posts: u32,
    /// How many users the posts belong to.
    pub users: u32,
    /// How many posts the busiest user has.
    pub busiest_has: u32,
    /// Shards of the due index.
    pub due_shards: u32,
    /// How the event source turns messages into invocations.
    pub source: EventSource,
    /// Environments of the delivery function, at most.
    pub environments: u32,
    /// Deliveries in one invocation, at most.
    pub batch: u32,
    /// What tables and indexes are ready for.
    pub tables: Tables,
    /// What each step costs in the store.
    pub profile: Profile,
    /// A user whose platforms are slow.
    pub noisy: Option<Noisy>,
    /// Whether the queue knows whose messages it has, and hands out first what
    /// belongs to users with few in flight.
    pub fair_queue: bool,
    /// What one user may hold of the environments; `None` is all.
    pub share: Option<ConcurrencyLimits>,
    /// How many calls the publisher makes at the same time to send a page.
    pub sends_at_once: u32,
    /// How many seconds before its time a message becomes visible. It may be up
    /// to one second more, because delays are whole seconds.
    pub early_s: Ms,
    /// At which point of its minute the tick comes. A tick just before the
    /// minute's end plans the whole full minute alone.
    pub tick_ms: Ms,
    /// How long a tick may take.
    pub tick_limit_ms: Ms,
    /// How many shards the publisher works on at the same time.
    pub shards_at_once: u32,
    /// Entries it reads in one call.
    pub page: u32,
    /// The most pages of overdue entries that it reads of a shard in one tick.
    pub overdue_pages: u32,
    /// Overdue entries of a shard that it moves at the same time.
    pub moves_at_once: u32,
    /// A tick with more posts than this defers their roll-ups,
    /// shard by shard. The number of posts is guessed from the first page of
    /// each shard.
    pub full: u32,
    /// How many posts a second are rolled up then, once everything that the tick
    /// plans is due.
    pub roll_ups_per_s: u32,
    /// How many posts one environment tells at the same time.
    pub roll_ups_at_once: u32,
    /// How long a message stays hidden after its delivery was cut off.
    pub visibility_ms: Ms,
    /// How often a message is received before it goes to the dead-letter queue.
    pub receives: u8,
    /// The longest wait inside a delivery.
    pub max_wait_ms: Ms,
    /// How long after the end of a lease the message comes that takes up a
    /// delivery which another worker held.
    pub after_lease_ms: Ms,
}

impl Setting {
    /// A million posts with everything ready. The code is as deployed. Of the
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
            noisy: None,
            fair_queue: true,
            share: Some(ConcurrencyLimits { environments: copied::MOST_ENVIRONMENTS }),
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

    /// A deployment with the parameters of the template, in which one user has
    /// 10,000 posts in the minute, on servers that take 40 s for each, and a
    /// hundred users have one.
    pub fn attacked() -> Self {
        let share = ConcurrencyLimits::default();
        Self {
            posts: 10_100,
            users: 101,
            busiest_has: 10_000,
            due_shards: DEFAULT_DUE_SHARDS,
            source: EventSource::Standard,
            environments: share.environments,
            batch: RECEIVE_BATCH,
            tables: Tables::NEW,
            noisy: Some(Noisy { call_ms: 40_000 }),
            share: Some(share),
            ..Self::million()
        }
    }

    /// The batching window. A batch that one call can receive needs none.
    pub(super) fn window_ms(&self) -> Ms {
        if self.batch <= RECEIVE_BATCH { 0 } else { BATCHING_WINDOW_MS }
    }
}
