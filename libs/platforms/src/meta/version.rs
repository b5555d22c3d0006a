//! Versions of the Graph API, and when they end.

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    /// As in URLs, such as `v26.0`.
    pub(crate) name: &'static str,
    /// The day on which it ends: year, month, day. `None` if it is not announced.
    ends: Option<(i32, u32, u32)>,
}

const WARNING: TimeDelta = TimeDelta::days(90);

impl Version {
    /// The version for Facebook and Instagram. The newest of 2026-07-29; its end is announced when
    /// its successor is released, and versions have lived for at least two years.
    pub(crate) const GRAPH: Self = Self { name: "v26.0", ends: Some((2028, 7, 29)) };

    /// The version for Threads, which has had no other.
    pub(crate) const THREADS: Self = Self { name: "v1.0", ends: None };

    pub(crate) fn warning(self, now: DateTime<Utc>) -> Option<String> {
        let (year, month, day) = self.ends?;
        let ends = NaiveDate::from_ymd_opt(year, month, day)?;
        let name = self.name;
        if ends <= now.date_naive() {
            return Some(format!("version {name} of Meta's API ended on {ends}: update this deployment"));
        }
        let is_near = ends - WARNING <= now.date_naive();
        is_near.then(|| format!("version {name} of Meta's API ends on {ends}: update this deployment before"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operator_is_warned_before_a_version_ends() {
        let on = |day: &str| Version::GRAPH.warning(format!("{day}T12:00:00Z").parse().unwrap());
        assert_eq!(on("2028-04-29"), None);
        assert!(on("2028-04-30").is_some_and(|it| it.contains("ends on 2028-07-29")));
        assert!(on("2028-07-29").is_some_and(|it| it.contains("ended on 2028-07-29")));
        assert_eq!(Version::THREADS.warning("2040-01-01T00:00:00Z".parse().unwrap()), None);
    }
}
