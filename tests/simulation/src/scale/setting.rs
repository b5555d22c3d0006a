//! The parameters of the model.

use publishing::ConcurrencyLimits;
use storage::DEFAULT_DUE_SHARDS;

use super::limits::{
    BATCHING_WINDOW_MS, MOST_READY_POLLERS, NEW_TABLE_READ_UNITS, NEW_TABLE_WRITE_UNITS, RECEIVE_BATCH,
};
use super::{Ms, Profile};

/// How the event source turns messages into invocations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventSource {
    /// Everything is ready before the minute: this many pollers in provisioned mode, and warm
    /// environments.
    Ready {
        /// From 2 to 200.
        pollers: u32,
    },
    /// Standard mode, which scales up automatically once there are messages.
    Standard,
    /// Provisioned mode, which begins with this many pollers and scales up faster.
    Provisioned {
        /// From 2 to 200.
        pollers: u32,
    },
}

/// How the keys of a table are distributed over its partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partitions {
    /// Each key has a separate partition. A busy table eventually has this state.
    OnePerKey,
    /// Keys are distributed at random over as many partitions as the table's throughput needs. This
    /// is the state of a warmed table.
    Shared,
}

/// The throughput for which every table and every index is ready.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tables {
    /// Write units per second.
    pub write_units: f64,
    /// Read units per second.
    pub read_units: f64,
    /// How keys are distributed over partitions.
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

/// A user whose platforms are slow: the first user, who has all posts except one for each of the
/// others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noisy {
    /// Duration of each of this user's publish calls.
    pub call_ms: Ms,
}

/// Values of the code and the template that cannot be imported, because they are private or not
/// Rust. A test compares each with the line that it is copied from.
///
/// Public values are used directly: `PLAN_WINDOW`, `OVERDUE_CHECK_INTERVAL` and `LEASE_DURATION` of
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
    /// In `DeferredRollUps::place`, `libs/publishing/src/plan.rs`.
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
    /// The largest allowed value of `DeliveryBatch` in `template.yaml`.
    pub(crate) const LARGEST_BATCH: u32 = 50;
    /// The largest allowed value of `DeliveryConcurrency` in `template.yaml`.
    pub(crate) const MOST_ENVIRONMENTS: u32 = 1_000;
}

/// The parameters of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Equal seeds give equal figures.
    pub seed: u64,
    /// Number of posts with one target each, due at the sixty seconds of one minute.
    pub posts: u32,
    /// Number of users who have posts.
    pub users: u32,
    /// Number of posts of the busiest user.
    pub busiest_has: u32,
    /// Number of shards of the due index.
    pub due_shards: u32,
    /// How the event source turns messages into invocations.
    pub source: EventSource,
    /// Maximum number of environments of the delivery function.
    pub environments: u32,
    /// Maximum number of deliveries in one invocation.
    pub batch: u32,
    /// The throughput of tables and indexes.
    pub tables: Tables,
    /// The cost of each step in the store.
    pub profile: Profile,
    /// A user whose platforms are slow, if there is one.
    pub noisy: Option<Noisy>,
    /// Whether the queue knows the user of each message, and prefers messages of users with few in
    /// flight.
    pub fair_queue: bool,
    /// Each user's share of the environments; `None` for no limit.
    pub share: Option<ConcurrencyLimits>,
    /// Number of concurrent calls with which the publisher sends a page.
    pub sends_at_once: u32,
    /// Seconds from the visibility of a message to its time; up to one second more, because delays
    /// are whole seconds.
    pub early_s: Ms,
    /// The offset of the tick in its minute. A tick just before the minute's end plans the whole
    /// full minute alone.
    pub tick_ms: Ms,
    /// Time limit of a tick.
    pub tick_limit_ms: Ms,
    /// Number of shards that the publisher processes concurrently.
    pub shards_at_once: u32,
    /// Number of entries that the publisher reads in one call.
    pub page: u32,
    /// Maximum number of pages of overdue entries per shard and tick.
    pub overdue_pages: u32,
    /// Number of concurrent moves of overdue entries per shard.
    pub moves_at_once: u32,
    /// A tick with more posts than this defers their roll-ups, shard by shard. The number of posts
    /// is estimated from the first page of each shard.
    pub full: u32,
    /// Number of deferred roll-ups per second, once everything that the tick plans is due.
    pub roll_ups_per_s: u32,
    /// Number of concurrent roll-ups of one environment.
    pub roll_ups_at_once: u32,
    /// How long a message stays hidden after its delivery was cut off.
    pub visibility_ms: Ms,
    /// Maximum number of receives of a message before it goes to the dead-letter queue.
    pub receives: u8,
    /// The longest wait inside a delivery.
    pub max_wait_ms: Ms,
    /// Delay, after the end of another worker's lease, of the message that continues the delivery.
    pub after_lease_ms: Ms,
}

impl Setting {
    /// A million posts with everything ready. The code is as deployed. The stack's parameters
    /// `DueShards`, `DeliveryBatch` and `DeliveryConcurrency` are as high as such a minute needs.
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

    /// A deployment with the default parameters of the template. One user has 10,000 posts in the
    /// minute, on servers that take 40 s for each, and a hundred users have one.
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

    /// The batching window; 0 for a batch that one call can receive.
    pub(super) fn window_ms(&self) -> Ms {
        if self.batch <= RECEIVE_BATCH { 0 } else { BATCHING_WINDOW_MS }
    }
}
