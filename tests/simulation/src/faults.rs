//! What goes wrong in a run: by chance, as a script says, or nothing.

use chrono::{DateTime, TimeDelta, Utc};

use crate::port::Port;

/// What goes wrong in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FaultPlan {
    /// Nothing. Ticks and messages still come a little late, which is no fault.
    #[default]
    None,
    /// Nothing but one tick that is missed.
    MissedTick,
    /// Drawn from the seed: some seeds are calm, some are wild.
    Chance,
    /// These processes die, and nothing else goes wrong.
    Script(Vec<Kill>),
}

/// The death of a process at a port call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kill {
    /// The number of the call in its run, from 1.
    pub call: u64,
    /// On which side of the call's effect.
    pub when: When,
}

/// On which side of its call's effect a process dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// The call is never made.
    Before,
    /// The call takes effect, and its answer reaches nobody.
    After,
}

/// How often things go wrong in a run. Each field is a probability per call,
/// between 0 and 1.
#[derive(Clone, Debug, Default)]
pub(crate) struct FaultProbabilities {
    /// A call fails.
    pub(crate) failing: f64,
    /// A process dies at a call.
    pub(crate) deadly: f64,
    /// A call takes its time, up to 20 s.
    pub(crate) slow: f64,
    /// The store throttles a request.
    pub(crate) throttled: f64,
    /// A transaction conflicts with another one.
    pub(crate) conflicting: f64,
    /// An index does not show the writes of the last seconds yet.
    pub(crate) stale: f64,
    /// A message is lost, comes twice, or comes late.
    pub(crate) lossy: f64,
    /// A tick or a round of upkeep is missed.
    pub(crate) missed: f64,
    /// A platform refuses a post, limits the rate, revokes the grant, or
    /// answers with an error.
    pub(crate) moody: f64,
    /// Periods in which a port does not answer at all.
    pub(crate) outages: Vec<Outage>,
}

/// A period in which a port does not answer at all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outage {
    pub(crate) port: Port,
    pub(crate) from: DateTime<Utc>,
    pub(crate) until: DateTime<Utc>,
}

impl FaultProbabilities {
    /// Whether nothing goes wrong.
    pub(crate) fn is_fault_free(&self) -> bool {
        self.failing == 0.0
    }

    /// Draws how often things go wrong until `until`: a quarter of the seeds is
    /// calm, half have some of everything, a quarter is wild.
    pub(crate) fn drawn(rng: &mut fastrand::Rng, from: DateTime<Utc>, until: DateTime<Utc>) -> Self {
        let strength = match rng.u32(0..4) {
            0 => return Self::default(),
            1 | 2 => 0.02,
            _ => 0.10,
        };
        let mut rate = |share: f64| strength * share * rng.f64();
        Self {
            failing: rate(1.0),
            deadly: rate(0.3),
            slow: rate(0.3),
            throttled: rate(0.5),
            conflicting: rate(0.7),
            stale: rate(8.0).min(1.0),
            lossy: rate(3.0),
            missed: rate(4.0),
            moody: rate(3.0),
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
