//! What posts cost whoever runs a deployment, and how much of that each user may cause in
//! a month.
//!
//! A post takes its share of the month it is scheduled for when it is scheduled, and keeps
//! it however often it is tried. It gives the share back when it is cancelled, moved, or
//! certainly did not become public.

use std::collections::BTreeMap;
use std::fmt;

use chrono::{DateTime, Datelike, NaiveDate, Utc};
use serde::{Deserialize, Serialize};

/// An amount of money, in tenths of a US cent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MilliDollars(u64);

impl MilliDollars {
    /// So many tenths of a cent.
    pub const fn new(mills: u64) -> Self {
        Self(mills)
    }

    /// So many cents.
    pub const fn cents(cents: u32) -> Self {
        Self(cents as u64 * 10)
    }

    /// Tenths of a cent.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for MilliDollars {
    /// In dollars: `$4.95`, `$0.015`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(mills) = self;
        write!(f, "${}.{:02}", mills / 1_000, mills % 1_000 / 10)?;
        match mills % 10 {
            0 => Ok(()),
            rest => write!(f, "{rest}"),
        }
    }
}

/// How much the posts of each user to a platform may cost in a calendar month, by the
/// platform's name. One that is not here has no limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Budgets(BTreeMap<String, MilliDollars>);

impl Budgets {
    /// These, by the names of platforms.
    pub fn of(budgets: impl IntoIterator<Item = (String, MilliDollars)>) -> Self {
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
    /// The month of an instant.
    pub fn of(at: DateTime<Utc>) -> Self {
        Self(at.year() * 12 + at.month0().cast_signed())
    }

    /// Its number; that of the month after it is greater by 1.
    pub const fn number(self) -> i32 {
        self.0
    }

    /// When the next one begins.
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

/// The share of a month's budget that a target takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charge {
    pub month: Month,
    /// How much it is.
    pub cost: MilliDollars,
    pub budget: MilliDollars,
}

/// What a user's posts to one platform in one month are counted under.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BudgetKey {
    /// The platform's name.
    pub platform: String,
    pub month: Month,
}

/// How a count changes with a post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// By so many [`MilliDollars`]; less than none where something is given back.
    pub by: i64,
    /// The count may not grow beyond this.
    pub budget: MilliDollars,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_reads_as_dollars() {
        for (mills, words) in
            [(15, "$0.015"), (200, "$0.20"), (4_950, "$4.95"), (5_000, "$5.00"), (1_234_567, "$1234.567")]
        {
            assert_eq!(MilliDollars::new(mills).to_string(), words);
        }
    }

    #[test]
    fn a_month_is_that_of_utc() {
        let month = |raw: &str| Month::of(raw.parse::<DateTime<Utc>>().unwrap());
        let december = month("2026-12-31T23:59:59.999Z");
        assert_eq!(december.to_string(), "December 2026");
        assert_eq!(december.ends_at().to_rfc3339(), "2027-01-01T00:00:00+00:00");
        assert_eq!(month("2027-01-01T00:00:00Z").number(), december.number() + 1);
    }
}
