//! What a load needs, and how late its posts are.

use std::collections::BTreeMap;

use publishing::ConcurrencyLimits;
use storage::DEFAULT_DUE_SHARDS;

use super::calls::longest_s;
use super::copied::{
    DEFERRED_ROLL_UPS_PER_S, IMMEDIATE_ROLL_UPS, LARGEST_BATCH, LEAD_S, MOST_ENVIRONMENTS, PAGE, PERMIT_WAIT_S,
    RECORDED_AFTER_S, SENDS_AT_ONCE, SHARDS_AT_ONCE,
};
use super::limits::{
    ENVIRONMENTS_PER_S, PARTITION_READ_UNITS, PARTITION_WRITE_UNITS, POLLERS_AT_START, POLLERS_PER_S,
    PROVISIONED_POLLER, RECEIVE_BATCH, SEND_BATCH, TABLE_UNITS,
};
use super::{Operation, PartitionBy, Profile};

/// Distance of a busy second or shard from the mean, in standard deviations of the Poisson
/// distribution: one in 30,000 is busier.
const BUSY: f64 = 4.0;

/// The longest usual call of the store, and of sending ten messages. Assumed.
pub(super) const STORE_CALL_S: f64 = 0.012;
const SEND_S: f64 = 0.030;

/// Calls of the store, one after the other, around a publish call: the intent, the outcome, the
/// attempt.
const STORE_CALLS: f64 = 3.0;

/// Posts that become due together, each with one target and no file.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub posts: u32,
    /// The posts are due evenly in this time.
    pub within_s: u32,
    /// For the user who has most of them.
    pub busiest_user: u32,
}

/// Named as in `template.yaml`.
#[derive(Clone, Copy, Debug)]
pub struct Parameters {
    pub due_shards: u32,
    pub delivery_concurrency: u32,
    pub delivery_batch: u32,
}

#[derive(Clone, Debug)]
pub struct Demand {
    pub name: String,
    pub amount: f64,
    pub limit: f64,
}

/// The figures of a load. Seconds count from the first due second.
#[derive(Clone, Debug)]
pub struct Figures {
    /// When the last publish call begins, if the event source has all environments ready.
    pub begun_s: f64,
    /// Likewise, if the event source scales up from idle.
    pub begun_from_idle_s: f64,
    /// Environments with which calls begin as fast as posts become due.
    pub environments: f64,
    /// Pollers that these environments would need in provisioned mode.
    pub pollers: f64,
    pub in_flight: f64,
    /// Until the outcome of each call is stored, without permits and roll-ups.
    pub write_units_per_post: f64,
    pub read_units_to_plan: f64,
    /// The tick plans all posts.
    pub plan_s: f64,
    /// In the busiest second, if each call also ends in it, with roll-ups that are not deferred.
    pub hottest_partition: Demand,
    pub hottest_table: Demand,
    /// Seconds until the last roll-up, after what the tick planned is due.
    pub rolled_up_s: f64,
}

/// The effect of one user with more posts than can be published, all on servers that take 40 s, if
/// the event source has all environments ready.
#[derive(Clone, Copy, Debug)]
pub struct NoisyUser {
    /// The most environments whose batch waits for these servers.
    pub environments: u32,
    /// How late a post of another user begins at most. All other environments may wait for permits
    /// of the noisy user; messages of others are received first when a wait ends.
    pub others_late_s: f64,
}

impl Load {
    pub const MILLION: Self = Self { posts: 1_000_000, within_s: 60, busiest_user: 1_000 };
}

impl Parameters {
    /// The most that the template allows, with shards for a million posts.
    pub const LARGEST: Self =
        Self { due_shards: 64, delivery_concurrency: MOST_ENVIRONMENTS, delivery_batch: LARGEST_BATCH };

    fn limits(self) -> ConcurrencyLimits {
        ConcurrencyLimits { environments: self.delivery_concurrency }
    }

    fn slots(self) -> f64 {
        f64::from(self.delivery_concurrency) * f64::from(self.delivery_batch)
    }

    /// How long an environment is busy with a batch that does not wait for its second.
    fn busy_s(self) -> f64 {
        longest_s(self.delivery_batch) + STORE_CALLS * STORE_CALL_S
    }

    pub fn noisy_user(self) -> NoisyUser {
        let limits = self.limits();
        // Calls without a permit are counted only when they turn out to be slow.
        let environments = limits.permits() + limits.unchecked() * RECORDED_AFTER_S;
        NoisyUser {
            environments: u32::try_from(environments).unwrap_or(u32::MAX),
            others_late_s: (f64::from(PERMIT_WAIT_S) + STORE_CALLS * STORE_CALL_S - f64::from(LEAD_S)).max(0.0),
        }
    }
}

impl Default for Parameters {
    fn default() -> Self {
        let environments = ConcurrencyLimits::default().environments;
        Self { due_shards: DEFAULT_DUE_SHARDS, delivery_concurrency: environments, delivery_batch: RECEIVE_BATCH }
    }
}

impl Demand {
    pub fn new(name: impl Into<String>, amount: f64, limit: f64) -> Self {
        Self { name: name.into(), amount, limit }
    }

    pub fn share(&self) -> f64 {
        self.amount / self.limit
    }

    pub(super) fn highest(demands: impl IntoIterator<Item = Self>) -> Self {
        let highest = demands.into_iter().max_by(|one, other| one.share().total_cmp(&other.share()));
        highest.unwrap_or_else(|| Self::new("", 0.0, 1.0))
    }
}

impl Figures {
    pub fn compute(load: Load, parameters: Parameters, profile: &Profile) -> Self {
        let (posts, slots, busy_s) = (f64::from(load.posts), parameters.slots(), parameters.busy_s());
        let last_due_s = f64::from(load.within_s) - 1.0;
        let due = in_busiest_second(posts, load.within_s);
        // Environments wait for the due second, so that this many calls begin in it.
        let begun = due.min(slots);
        let backlog = posts - slots - last_due_s * slots / busy_s;
        let begun_s = last_due_s + backlog.max(0.0) * busy_s / slots;
        let environments = if load.within_s == 1 { due } else { due * busy_s } / f64::from(parameters.delivery_batch);
        let is_rolled_up_at_once = load.posts <= IMMEDIATE_ROLL_UPS;
        let roll_up = profile.roll_up.iter().filter(|_| is_rolled_up_at_once);
        let operations: Vec<_> = profile.deliver.operations().chain(roll_up).collect();
        let (read_units_to_plan, plan_s) = plan(load.posts, parameters.due_shards, profile.plan_read_units);
        Self {
            begun_s,
            begun_from_idle_s: begun_s.max(grown_s(posts, parameters) - f64::from(LEAD_S)),
            environments,
            pollers: (environments.max(due / f64::from(RECEIVE_BATCH)) / PROVISIONED_POLLER).ceil(),
            in_flight: posts.min(slots),
            write_units_per_post: profile.deliver.operations().map(|it| it.write_units).sum(),
            read_units_to_plan,
            plan_s,
            hottest_partition: hottest_partition(load, parameters, &operations, begun),
            hottest_table: Demand::highest(demands(&operations, |_| begun, (TABLE_UNITS, TABLE_UNITS))),
            rolled_up_s: if is_rolled_up_at_once { 0.0 } else { posts / f64::from(DEFERRED_ROLL_UPS_PER_S) },
        }
    }
}

fn in_busiest_second(posts: f64, within_s: u32) -> f64 {
    if within_s == 1 { posts } else { busiest(posts / f64::from(within_s)) }
}

fn busiest(mean: f64) -> f64 {
    mean + BUSY * mean.sqrt()
}

/// Read units, and the longest duration of the tick.
fn plan(posts: u32, shards: u32, units_per_entry: f64) -> (f64, f64) {
    let per_shard = posts.div_ceil(shards);
    let pages = per_shard.div_ceil(PAGE).max(1);
    let units = |entries: u32| ((f64::from(entries) * units_per_entry * 2.0).ceil() / 2.0).max(0.5);
    let full_pages = pages - 1;
    let read_units = f64::from(full_pages) * units(PAGE) + units(per_shard - full_pages * PAGE);
    let sends = per_shard.min(PAGE).div_ceil(SEND_BATCH).div_ceil(SENDS_AT_ONCE);
    let seconds_per_page = STORE_CALL_S + f64::from(sends) * SEND_S;
    (f64::from(shards) * read_units, f64::from(shards.div_ceil(SHARDS_AT_ONCE) * pages) * seconds_per_page)
}

/// From the first message until all calls have begun.
fn grown_s(posts: f64, parameters: Parameters) -> f64 {
    let most = f64::from(parameters.delivery_concurrency);
    let (first, growth) = (POLLERS_AT_START.min(most), POLLERS_PER_S.min(ENVIRONMENTS_PER_S));
    let needed = posts / f64::from(parameters.delivery_batch) * parameters.busy_s();
    let grown_after = (most - first) / growth;
    let meanwhile = f64::midpoint(first, most) * grown_after;
    if needed <= meanwhile {
        ((first * first + 2.0 * growth * needed).sqrt() - first) / growth
    } else {
        grown_after + (needed - meanwhile) / most
    }
}

fn hottest_partition(load: Load, parameters: Parameters, operations: &[&Operation], begun: f64) -> Demand {
    let permits = u32::try_from(parameters.limits().permits()).unwrap_or(u32::MAX);
    let for_user = in_busiest_second(load.busiest_user.into(), load.within_s);
    let for_user = for_user.min(f64::from(permits) * f64::from(parameters.delivery_batch));
    let in_shard = busiest(begun / f64::from(parameters.due_shards)).min(begun);
    let count = |by| if by == PartitionBy::User { for_user } else { in_shard };
    Demand::highest(demands(operations, count, (PARTITION_READ_UNITS, PARTITION_WRITE_UNITS)))
}

/// Units per second of each table and index.
fn demands(operations: &[&Operation], count: impl Fn(PartitionBy) -> f64, limits: (f64, f64)) -> Vec<Demand> {
    let mut units: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for it in operations {
        let sum = units.entry(&it.place).or_default();
        sum.0 += count(it.by) * it.read_units;
        sum.1 += count(it.by) * it.write_units;
    }
    let demands = |(place, (read, written)): (&str, (f64, f64))| {
        [
            Demand::new(format!("{place}, reads"), read, limits.0),
            Demand::new(format!("{place}, writes"), written, limits.1),
        ]
    };
    units.into_iter().flat_map(demands).collect()
}
