use std::fmt;

use chrono::{DateTime, FixedOffset, Local, MappedLocalTime, NaiveDateTime, TimeZone, Utc};
use chrono_tz::Tz;

use super::InvalidTime;

#[derive(Clone, Debug)]
pub(crate) enum Zone {
    Here,
    Named(Tz),
    Fixed(FixedOffset),
}

impl Zone {
    /// Parses `Europe/Berlin`, `UTC`, `Z` or `+01:00`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.eq_ignore_ascii_case("z") || text.eq_ignore_ascii_case("utc") {
            return Some(Self::Named(Tz::UTC));
        }
        if text.starts_with(['+', '-']) {
            return text.parse().ok().map(Self::Fixed);
        }
        chrono_tz::TZ_VARIANTS.iter().find(|it| it.name().eq_ignore_ascii_case(text)).copied().map(Self::Named)
    }

    pub(crate) fn local(&self, at: DateTime<Utc>) -> NaiveDateTime {
        match self {
            Self::Here => at.with_timezone(&Local).naive_local(),
            Self::Named(zone) => at.with_timezone(zone).naive_local(),
            Self::Fixed(offset) => at.with_timezone(offset).naive_local(),
        }
    }

    pub(crate) fn resolve(&self, at: NaiveDateTime) -> Result<DateTime<Utc>, InvalidTime> {
        match self {
            Self::Here => self.single(at, &Local),
            Self::Named(zone) => self.single(at, zone),
            Self::Fixed(offset) => self.single(at, offset),
        }
    }

    fn single<Z: TimeZone>(&self, at: NaiveDateTime, zone: &Z) -> Result<DateTime<Utc>, InvalidTime> {
        let written = |it: &DateTime<Z>| it.fixed_offset().to_rfc3339();
        match zone.from_local_datetime(&at) {
            MappedLocalTime::Single(at) => Ok(at.to_utc()),
            MappedLocalTime::None => Err(InvalidTime::Skipped { at, zone: self.to_string() }),
            MappedLocalTime::Ambiguous(first, second) => {
                let (first, second) = (written(&first), written(&second));
                Err(InvalidTime::Twice { at, zone: self.to_string(), first, second })
            }
        }
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Here => f.write_str("this machine's zone"),
            Self::Named(zone) => f.write_str(zone.name()),
            Self::Fixed(offset) => offset.fmt(f),
        }
    }
}
