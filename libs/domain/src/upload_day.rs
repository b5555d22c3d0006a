//! Days of a platform's quota of uploads, which all accounts of a deployment share.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

/// A day from 08:00 UTC: midnight in Pacific standard time, and an hour after midnight in summer. YouTube renews its
/// quota at midnight in Pacific time (fact sheet of YouTube).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UploadDay(i64);

const STARTS_AFTER: TimeDelta = TimeDelta::hours(8);

impl UploadDay {
    pub fn from_instant(at: DateTime<Utc>) -> Self {
        Self((at - STARTS_AFTER).timestamp().div_euclid(TimeDelta::days(1).num_seconds()))
    }

    /// The number of the day; the next day has the next number.
    pub const fn number(self) -> i64 {
        self.0
    }

    /// Start of the next day.
    pub fn ends_at(self) -> DateTime<Utc> {
        let Self(day) = self;
        DateTime::UNIX_EPOCH + TimeDelta::days(day + 1) + STARTS_AFTER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn day_ends_at_eight_in_utc() {
        for (at, ends_at) in [
            ("2026-11-29T07:59:59Z", "2026-11-29T08:00:00Z"),
            ("2026-11-29T08:00:00Z", "2026-11-30T08:00:00Z"),
            ("1969-12-31T07:00:00Z", "1969-12-31T08:00:00Z"),
        ] {
            let [at, ends_at] = [at, ends_at].map(|it| it.parse::<DateTime<Utc>>().unwrap());
            assert_eq!(UploadDay::from_instant(at).ends_at(), ends_at, "{at}");
        }
    }
}
