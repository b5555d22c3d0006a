//! The version of the API that calls request.
//!
//! Facts: every call names a version by its month. Each lives for at least a year, and ends about
//! the middle of a month (202511 on 16 November 2026, 202602 on 15 February 2027). Then calls are
//! refused. Source: `marketing/versioning`.

use std::sync::Once;

use chrono::{DateTime, Datelike, NaiveDate, TimeDelta, Utc};
use http::HeaderValue;
use serde::Deserialize;

/// The version that this adapter was written for.
const DEFAULT: &str = "202608";

const WARNING: TimeDelta = TimeDelta::days(60);

#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Version {
    name: String,
    /// The version does not end before this day.
    ends_on: NaiveDate,
    said: Once,
}

#[derive(Debug, thiserror::Error)]
#[error("a version of LinkedIn's API is a year and a month with six digits, such as 202608")]
pub(super) struct InvalidVersion;

impl TryFrom<String> for Version {
    type Error = InvalidVersion;

    fn try_from(name: String) -> Result<Self, InvalidVersion> {
        if name.len() != 6 || !name.bytes().all(|it| it.is_ascii_digit()) {
            return Err(InvalidVersion);
        }
        let begins = NaiveDate::parse_from_str(&format!("{name}15"), "%Y%m%d").map_err(|_| InvalidVersion)?;
        let ends_on = begins.with_year(begins.year() + 1).ok_or(InvalidVersion)?;
        Ok(Self { name, ends_on, said: Once::new() })
    }
}

impl Default for Version {
    fn default() -> Self {
        Self::try_from(DEFAULT.to_owned()).unwrap_or_else(|error| unreachable!("{DEFAULT}: {error}"))
    }
}

impl Version {
    pub(super) fn header(&self) -> HeaderValue {
        HeaderValue::from_str(&self.name).unwrap_or_else(|error| unreachable!("six digits: {error}"))
    }

    fn ends_soon(&self, now: DateTime<Utc>) -> bool {
        self.ends_on <= (now + WARNING).date_naive()
    }

    /// Once per process.
    pub(super) fn check(&self, now: DateTime<Utc>) {
        if self.ends_soon(now) {
            let Self { name: version, ends_on, .. } = self;
            self.said.call_once(|| {
                tracing::warn!(version, %ends_on, "the configured version of LinkedIn's API is about to be \
                     retired; set a later `version`");
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::clock::Clock;

    use super::*;

    fn midnight(day: &str) -> DateTime<Utc> {
        format!("{day}T00:00:00Z").parse().unwrap()
    }

    #[test]
    fn version_ends_after_a_year_and_warns_two_months_before() {
        for (name, quiet, soon) in [("202608", "2027-06-15", "2027-06-16"), ("202512", "2026-10-15", "2026-10-16")] {
            let version = Version::try_from(name.to_owned()).unwrap();
            assert!(!version.ends_soon(midnight(quiet)) && version.ends_soon(midnight(soon)), "{name}");
        }
        for name in ["", "2026", "202613", "2026-8", "20260801", "latest"] {
            assert!(Version::try_from(name.to_owned()).is_err(), "{name}");
        }
    }

    /// Fails two months before the adapter has to move to a later version.
    #[test]
    fn default_version_is_valid_for_two_months() {
        assert!(
            !Version::default().ends_soon(Clock::default().now()),
            "{DEFAULT} ends soon: read what has changed since"
        );
    }
}
