//! What posts cost the operator, and how much of that each user may cause in a month.
//!
//! A post is charged to the month that it is scheduled for, at the time of scheduling, once for all
//! its attempts. The charge is released when the post is cancelled, moved, or certainly did not
//! become public.

use std::collections::BTreeMap;
use std::fmt;

use chrono::{DateTime, Datelike, NaiveDate, Utc};
use serde::{Deserialize, Serialize};

/// Tenths of a US cent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MilliDollars(u64);

impl MilliDollars {
    pub const fn new(milli_dollars: u64) -> Self {
        Self(milli_dollars)
    }

    pub const fn cents(cents: u32) -> Self {
        Self(cents as u64 * 10)
    }

    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for MilliDollars {
    /// In dollars: `$4.95`, `$0.015`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(milli_dollars) = self;
        write!(f, "${}.{:02}", milli_dollars / 1_000, milli_dollars % 1_000 / 10)?;
        match milli_dollars % 10 {
            0 => Ok(()),
            rest => write!(f, "{rest}"),
        }
    }
}

/// Monthly limit of the cost of each user's posts, by the platform's name. A platform that is
/// absent has no limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Budgets(BTreeMap<String, MilliDollars>);

impl Budgets {
    pub fn new(budgets: impl IntoIterator<Item = (String, MilliDollars)>) -> Self {
        Self(budgets.into_iter().collect())
    }

    pub(crate) fn get(&self, platform: &str) -> Option<MilliDollars> {
        self.0.get(platform).copied()
    }
}

/// A calendar month, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Month(i32);

impl Month {
    pub fn from_instant(at: DateTime<Utc>) -> Self {
        Self(at.year() * 12 + at.month0().cast_signed())
    }

    /// The number of the month; the next month has the next number.
    pub const fn number(self) -> i32 {
        self.0
    }

    /// Start of the next month.
    pub fn ends_at(self) -> DateTime<Utc> {
        Self(self.0 + 1).first_day().and_time(chrono::NaiveTime::MIN).and_utc()
    }

    fn first_day(self) -> NaiveDate {
        let month = self.0.rem_euclid(12).cast_unsigned() + 1;
        NaiveDate::from_ymd_opt(self.0.div_euclid(12), month, 1).unwrap_or_default()
    }
}

impl fmt::Display for Month {
    /// `November 2026`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.first_day().format("%B %Y"))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charge {
    pub month: Month,
    pub cost: MilliDollars,
    pub budget: MilliDollars,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BudgetKey {
    pub platform: String,
    pub month: Month,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// In [`MilliDollars`]; negative where a charge is released.
    pub by: i64,
    pub budget: MilliDollars,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amount_is_displayed_in_dollars() {
        for (milli_dollars, expected) in
            [(15, "$0.015"), (200, "$0.20"), (4_950, "$4.95"), (5_000, "$5.00"), (1_234_567, "$1234.567")]
        {
            assert_eq!(MilliDollars::new(milli_dollars).to_string(), expected);
        }
    }

    #[test]
    fn month_is_in_utc() {
        let month = |raw: &str| Month::from_instant(raw.parse::<DateTime<Utc>>().unwrap());
        let december = month("2026-12-31T23:59:59.999Z");
        assert_eq!(december.to_string(), "December 2026");
        assert_eq!(december.ends_at().to_rfc3339(), "2027-01-01T00:00:00+00:00");
        assert_eq!(month("2027-01-01T00:00:00Z").number(), december.number() + 1);
    }
}
