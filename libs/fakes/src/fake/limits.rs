//! How often a platform may be asked.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};

#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// What is counted together.
    pub name: &'static str,
    /// The most, in requests or points.
    pub max: u64,
    /// Within which time.
    pub period: TimeDelta,
    pub window_start: WindowStart,
}

/// When the time of a limit begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowStart {
    /// By the clock: every five minutes, every hour.
    Clock,
    /// With the first request.
    FirstRequest,
}

/// What was used of each limit.
#[derive(Debug, Default)]
pub struct Limits(BTreeMap<(&'static str, TimeDelta, String), (DateTime<Utc>, u64)>);

/// How far a limit is used up.
#[derive(Clone, Copy, Debug)]
pub struct LimitUsage {
    pub max: u64,
    /// What is left.
    pub remaining: u64,
    /// When it begins anew.
    pub resets_at: DateTime<Utc>,
    /// Within which time.
    pub period: TimeDelta,
    /// Whether this was too much.
    pub is_exceeded: bool,
}

impl Limits {
    /// Counts what somebody uses.
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
    /// A limit that is used up until then.
    pub const fn none_until(max: u64, period: TimeDelta, resets_at: DateTime<Utc>) -> Self {
        Self { max, remaining: 0, resets_at, period, is_exceeded: true }
    }
}
