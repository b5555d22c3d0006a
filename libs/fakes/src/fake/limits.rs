//! Rate limits.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};

#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// Calls with the same name count toward the same limit.
    pub name: &'static str,
    /// In requests or points.
    pub max: u64,
    pub period: TimeDelta,
    pub window_start: WindowStart,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowStart {
    /// At multiples of the period: every five minutes, every hour.
    Clock,
    /// With the first request of the window.
    FirstRequest,
}

#[derive(Debug, Default)]
pub struct Limits(BTreeMap<(&'static str, TimeDelta, String), (DateTime<Utc>, u64)>);

#[derive(Clone, Copy, Debug)]
pub struct LimitUsage {
    pub max: u64,
    pub remaining: u64,
    pub resets_at: DateTime<Utc>,
    pub period: TimeDelta,
    pub is_exceeded: bool,
}

impl Limits {
    /// Counts a call of `subject` as `points`.
    pub fn count(&mut self, limit: Limit, subject: &str, points: u64, now: DateTime<Utc>) -> LimitUsage {
        let Limit { name, max, period, window_start } = limit;
        let since = match window_start {
            WindowStart::Clock => now - TimeDelta::seconds(now.timestamp().rem_euclid(period.num_seconds())),
            WindowStart::FirstRequest => now,
        };
        let window = self.0.entry((name, period, subject.to_owned())).or_insert((since, 0));
        if window.0 + period <= now {
            *window = (since, 0);
        }
        window.1 += points;
        let (since, used) = *window;
        let remaining = max.saturating_sub(used);
        LimitUsage { max, remaining, resets_at: since + period, period, is_exceeded: max < used }
    }
}

impl LimitUsage {
    /// A limit that is exhausted until `resets_at`.
    pub const fn none_until(max: u64, period: TimeDelta, resets_at: DateTime<Utc>) -> Self {
        Self { max, remaining: 0, resets_at, period, is_exceeded: true }
    }
}
