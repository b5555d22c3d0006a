//! How often the API may be asked.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};

/// A limit: its name, the most requests, and within which time.
pub(crate) type Limit = (&'static str, usize, TimeDelta);

pub(crate) const PER_ACCOUNT: Limit = ("account", 1500, TimeDelta::minutes(5));
pub(crate) const PER_TOKEN: Limit = ("token", 300, TimeDelta::minutes(5));
pub(crate) const PER_ADDRESS: Limit = ("address", 300, TimeDelta::minutes(5));
pub(crate) const UPLOADS: Limit = ("uploads", 30, TimeDelta::minutes(30));

/// The requests within the current span of each limit.
#[derive(Default)]
pub(crate) struct Limits(BTreeMap<(&'static str, String), (i64, usize)>);

/// How far a limit is used up.
#[derive(Clone, Copy)]
pub(crate) struct Standing {
    pub(crate) limit: usize,
    pub(crate) remaining: usize,
    pub(crate) reset: DateTime<Utc>,
}

impl Limits {
    /// Counts a request of `whose`. Returns how far the limit is used up, and whether
    /// this request goes beyond it.
    pub(crate) fn count(&mut self, (name, limit, period): Limit, whose: &str, now: DateTime<Utc>) -> (Standing, bool) {
        let seconds = period.num_seconds();
        let span = now.timestamp() / seconds;
        let counted = self.0.entry((name, whose.to_owned())).or_default();
        *counted = if counted.0 == span { (span, counted.1 + 1) } else { (span, 1) };
        let reset = now + TimeDelta::seconds(seconds - now.timestamp() % seconds);
        (Standing { limit, remaining: limit.saturating_sub(counted.1), reset }, limit < counted.1)
    }
}
