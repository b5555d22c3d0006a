//! Time zones of the tz database, and local times in them.

use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};
use jiff::Timestamp;
use jiff::tz::{self, AmbiguousOffset, Offset};
use serde::{Deserialize, Serialize};
use thiserror::Error;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TimeZone(tz::TimeZone);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("is not a time zone, such as Europe/Berlin")]
pub struct InvalidTimeZone;

/// A local time that clocks skip when summer time begins.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{} does not exist in {city}, because clocks go forward; use {}", .local.format("%H:%M"), .later.format("%H:%M"))]
pub struct SkippedTime {
    pub local: NaiveDateTime,
    /// The time on a clock that was not set forward yet.
    pub later: NaiveDateTime,
    pub city: String,
}

impl TimeZone {
    pub fn utc() -> Self {
        Self(tz::TimeZone::UTC)
    }

    pub fn parse(name: &str) -> Result<Self, InvalidTimeZone> {
        let zone = tz::TimeZone::get(name).map_err(|_| InvalidTimeZone)?;
        // Without its name, it could not be stored.
        zone.iana_name().is_some().then_some(Self(zone)).ok_or(InvalidTimeZone)
    }

    /// The names of all zones, sorted.
    pub fn names() -> Vec<String> {
        tz::db().available().map(|it| it.as_str().to_owned()).collect()
    }

    pub fn name(&self) -> &str {
        self.0.iana_name().unwrap_or("UTC")
    }

    pub fn is_utc(&self) -> bool {
        self.0 == tz::TimeZone::UTC
    }

    /// The last part of the name, for people: `New York`.
    pub fn city(&self) -> String {
        self.name().rsplit('/').next().unwrap_or_default().replace('_', " ")
    }

    pub fn local(&self, at: DateTime<Utc>) -> NaiveDateTime {
        let offset = Timestamp::from_millisecond(at.timestamp_millis()).map(|it| self.0.to_offset(it));
        at.naive_utc() + offset.map(difference).unwrap_or_default()
    }

    /// The instant of a local time; the first of two, where clocks go back.
    pub fn instant(&self, local: NaiveDateTime) -> Result<DateTime<Utc>, SkippedTime> {
        let as_if_utc = Timestamp::from_millisecond(local.and_utc().timestamp_millis());
        let found = as_if_utc.map(|it| self.0.to_ambiguous_timestamp(Offset::UTC.to_datetime(it)).offset());
        match found {
            Ok(AmbiguousOffset::Unambiguous { offset } | AmbiguousOffset::Fold { before: offset, .. }) => {
                Ok((local - difference(offset)).and_utc())
            }
            Ok(AmbiguousOffset::Gap { before, after }) => {
                Err(SkippedTime { local, later: local + (difference(after) - difference(before)), city: self.city() })
            }
            // Out of the range of years of the other crate, where no zone has rules.
            Err(_) => Ok(local.and_utc()),
        }
    }
}

fn difference(offset: Offset) -> TimeDelta {
    TimeDelta::seconds(offset.seconds().into())
}

impl TryFrom<String> for TimeZone {
    type Error = InvalidTimeZone;

    fn try_from(name: String) -> Result<Self, InvalidTimeZone> {
        Self::parse(&name)
    }
}

impl From<TimeZone> for String {
    fn from(zone: TimeZone) -> Self {
        zone.name().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn berlin() -> TimeZone {
        TimeZone::parse("Europe/Berlin").unwrap()
    }

    fn local(raw: &str) -> NaiveDateTime {
        raw.parse().unwrap()
    }

    fn instant(raw: &str) -> DateTime<Utc> {
        raw.parse().unwrap()
    }

    #[test]
    fn local_time_is_found_again_in_summer_and_winter() {
        for (raw, at) in
            [("2026-07-01T14:00:00.250", "2026-07-01T12:00:00.250Z"), ("2026-12-01T14:00:00", "2026-12-01T13:00:00Z")]
        {
            assert_eq!(berlin().instant(local(raw)), Ok(instant(at)));
            assert_eq!(berlin().local(instant(at)), local(raw));
        }
    }

    #[test]
    fn skipped_time_suggests_one_after_the_gap() {
        let error = berlin().instant(local("2026-03-29T02:30:00")).unwrap_err();
        let expected = "02:30 does not exist in Berlin, because clocks go forward; use 03:30";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn repeated_time_is_the_first_of_both() {
        assert_eq!(berlin().instant(local("2026-10-25T02:30:00")), Ok(instant("2026-10-25T00:30:00Z")));
    }

    #[test]
    fn zone_is_stored_by_its_name() {
        assert_eq!(serde_json::to_string(&berlin()).unwrap(), r#""Europe/Berlin""#);
        assert_eq!(serde_json::from_str::<TimeZone>(r#""Europe/Berlin""#).unwrap(), berlin());
        assert!(serde_json::from_str::<TimeZone>(r#""Berlin""#).is_err());
        assert_eq!(TimeZone::parse("America/New_York").unwrap().city(), "New York");
        assert!(TimeZone::names().iter().any(|it| it == "Asia/Kolkata"));
    }
}
