//! How often a platform may be asked.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};

#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// What is counted together.
    pub name: &'static str,
    /// The most, in requests or points.
    pub most: u64,
    /// Within which time.
    pub period: TimeDelta,
    pub begins: Begins,
}

/// When the time of a limit begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begins {
    /// By the clock: every five minutes, every hour.
    ByTheClock,
    /// With the first request.
    WithTheFirst,
}

/// What was used of each limit.
#[derive(Debug, Default)]
pub struct Limits(BTreeMap<(&'static str, TimeDelta, String), (DateTime<Utc>, u64)>);

/// How far a limit is used up.
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    pub most: u64,
    /// What is left.
    pub remaining: u64,
    /// When it begins anew.
    pub reset: DateTime<Utc>,
    /// Within which time.
    pub period: TimeDelta,
    /// Whether this was too much.
    pub exceeded: bool,
}

impl Limits {
    /// Counts what somebody uses.
    pub fn count(&mut self, limit: Limit, whose: &str, points: u64, now: DateTime<Utc>) -> Standing {
        let Limit { name, most, period, begins } = limit;
        let since = match begins {
            Begins::ByTheClock => now - TimeDelta::seconds(now.timestamp().rem_euclid(period.num_seconds())),
            Begins::WithTheFirst => now,
        };
        let counted = self.0.entry((name, period, whose.to_owned())).or_insert((since, 0));
        if counted.0 + period <= now {
            *counted = (since, 0);
        }
        counted.1 += points;
        let (since, used) = *counted;
        let remaining = most.saturating_sub(used);
        Standing { most, remaining, reset: since + period, period, exceeded: most < used }
    }
}

impl Standing {
    /// A limit that is used up until then.
    pub const fn none_until(most: u64, period: TimeDelta, reset: DateTime<Utc>) -> Self {
        Self { most, remaining: 0, reset, period, exceeded: true }
    }
}
