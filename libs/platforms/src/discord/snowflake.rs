//! Discord's ids, which contain their creation time.

use std::fmt;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// The start of 2015, from which ids count, in milliseconds since 1970.
const EPOCH: i64 = 1_420_070_400_000;

/// The lowest bits are counters; above them is the time in milliseconds.
const COUNTERS: u32 = 22;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct Snowflake(u64);

#[derive(Debug, thiserror::Error)]
#[error("not a Discord id")]
pub(super) struct InvalidSnowflake;

impl TryFrom<String> for Snowflake {
    type Error = InvalidSnowflake;

    fn try_from(written: String) -> Result<Self, InvalidSnowflake> {
        Self::parse(&written).ok_or(InvalidSnowflake)
    }
}

impl From<Snowflake> for String {
    fn from(id: Snowflake) -> Self {
        id.to_string()
    }
}

impl fmt::Display for Snowflake {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl Snowflake {
    pub(super) fn parse(written: &str) -> Option<Self> {
        let is_plain = written.bytes().all(|it| it.is_ascii_digit()) && !written.starts_with('0');
        written.parse().ok().filter(|_| is_plain).map(Self)
    }

    /// Less than every id that is created from then on, and greater than those before ("Generating
    /// a snowflake ID from a Timestamp").
    pub(super) fn at(time: DateTime<Utc>) -> Self {
        let milliseconds = u64::try_from(time.timestamp_millis() - EPOCH).unwrap_or_default();
        Self(milliseconds << COUNTERS)
    }

    pub(super) fn time(self) -> Option<DateTime<Utc>> {
        DateTime::from_timestamp_millis(i64::try_from(self.0 >> COUNTERS).ok()? + EPOCH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the documentation.
    #[test]
    fn id_contains_its_creation_time() {
        let id = Snowflake::parse("175928847299117063").unwrap();
        let at = id.time().unwrap();
        assert_eq!(at.to_rfc3339_opts(chrono::SecondsFormat::Millis, true), "2016-04-30T11:18:25.796Z");
        assert!(Snowflake::at(at) <= id && id < Snowflake::at(at + chrono::TimeDelta::milliseconds(1)));
        for none in ["", "0", "-1", "+1", " 1", "1e3", "99999999999999999999", "../1"] {
            assert!(Snowflake::parse(none).is_none(), "{none}");
        }
    }
}
