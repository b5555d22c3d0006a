use chrono::{DateTime, TimeDelta, Utc};

use crate::port::Port;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FaultPlan {
    /// No faults. Ticks and messages are still slightly late, which is not a fault.
    #[default]
    None,
    /// Only one missed tick.
    MissedTick,
    /// Drawn from the seed: some seeds have no faults, some have many.
    Random,
    Script(Vec<Kill>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kill {
    /// From 1.
    pub call: u64,
    pub when: KillTime,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KillTime {
    Before,
    /// The call takes effect, and its response is lost.
    After,
}

/// Each field is a probability per call, between 0 and 1.
#[derive(Clone, Debug, Default)]
pub(crate) struct FaultProbabilities {
    pub(crate) call_failure_probability: f64,
    pub(crate) crash_probability: f64,
    /// A slow call takes up to 20 s.
    pub(crate) slow_call_probability: f64,
    pub(crate) store_throttle_probability: f64,
    pub(crate) transaction_conflict_probability: f64,
    /// A stale index does not show the writes of the last seconds.
    pub(crate) stale_index_probability: f64,
    /// A message is lost, arrives twice, or arrives late.
    pub(crate) message_fault_probability: f64,
    /// Applies to rounds of upkeep as well.
    pub(crate) missed_tick_probability: f64,
    /// A platform refuses a post, limits the rate, revokes the grant, or returns an error.
    pub(crate) platform_error_probability: f64,
    pub(crate) outages: Vec<Outage>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Outage {
    pub(crate) port: Port,
    pub(crate) from: DateTime<Utc>,
    pub(crate) until: DateTime<Utc>,
}

impl FaultProbabilities {
    pub(crate) fn is_fault_free(&self) -> bool {
        self.call_failure_probability == 0.0
    }

    /// Draws the probabilities and the outages until `until`: a quarter of the seeds has no
    /// faults, half have some of each kind, a quarter has many.
    pub(crate) fn drawn(rng: &mut fastrand::Rng, from: DateTime<Utc>, until: DateTime<Utc>) -> Self {
        let strength = match rng.u32(0..4) {
            0 => return Self::default(),
            1 | 2 => 0.02,
            _ => 0.10,
        };
        let mut rate = |share: f64| strength * share * rng.f64();
        Self {
            call_failure_probability: rate(1.0),
            crash_probability: rate(0.3),
            slow_call_probability: rate(0.3),
            store_throttle_probability: rate(0.5),
            transaction_conflict_probability: rate(0.7),
            stale_index_probability: rate(8.0).min(1.0),
            message_fault_probability: rate(3.0),
            missed_tick_probability: rate(4.0),
            platform_error_probability: rate(3.0),
            outages: outages(rng, from, until),
        }
    }
}

fn outages(rng: &mut fastrand::Rng, from: DateTime<Utc>, until: DateTime<Utc>) -> Vec<Outage> {
    let length = u64::try_from((until - from).num_milliseconds()).unwrap_or(0);
    let count = if rng.u32(0..3) == 0 { rng.u32(1..=2) } else { 0 };
    let outage = |rng: &mut fastrand::Rng| {
        let from = from + TimeDelta::milliseconds(i64::try_from(rng.u64(0..length)).unwrap_or(0));
        let lasts = TimeDelta::milliseconds(rng.i64(3_000..60_000));
        let port = [Port::Store, Port::Queue, Port::Events, Port::Platform][rng.usize(0..4)];
        Outage { port, from, until: (from + lasts).min(until) }
    };
    (0..count).map(|_| outage(rng)).collect()
}
