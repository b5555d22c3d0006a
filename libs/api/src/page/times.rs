//! Formats times for pages. A page runs no script and does not know the user's time zone, so times
//! are marked as UTC, with the distance from now next to them.

use chrono::{DateTime, TimeDelta, Utc};

/// "21 November 2026".
pub fn date(at: DateTime<Utc>) -> String {
    at.format("%-d %B %Y").to_string()
}

/// "Saturday, 21 November 2026".
pub fn day(at: DateTime<Utc>) -> String {
    at.format("%A, %-d %B %Y").to_string()
}

/// "09:30 UTC".
pub fn time(at: DateTime<Utc>) -> String {
    at.format("%H:%M UTC").to_string()
}

/// "21 November 2026, 09:30 UTC".
pub fn date_and_time(at: DateTime<Utc>) -> String {
    at.format("%-d %B %Y, %H:%M UTC").to_string()
}

/// "in 2 hours", "3 days ago".
pub fn distance(at: DateTime<Utc>, now: DateTime<Utc>) -> String {
    let difference = at - now;
    let seconds = difference.abs().num_seconds();
    let (count, unit) = match seconds {
        ..60 if difference <= TimeDelta::zero() => return "just now".to_owned(),
        ..60 => return "in less than a minute".to_owned(),
        60..3600 => (seconds / 60, "minute"),
        3600..86_400 => (seconds / 3600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    let plural = if count == 1 { "" } else { "s" };
    if difference < TimeDelta::zero() {
        format!("{count} {unit}{plural} ago")
    } else {
        format!("in {count} {unit}{plural}")
    }
}

#[cfg(test)]
mod tests {
    use domain::testing::noon;

    use super::*;

    #[test]
    fn distance_uses_the_largest_whole_unit() {
        let distances = |seconds| distance(noon() + TimeDelta::seconds(seconds), noon());
        let distances: Vec<_> =
            [0, 59, 60, 7199, 86_400, 700_000, -30, -60, -90_000].into_iter().map(distances).collect();
        assert_eq!(
            distances,
            [
                "just now",
                "in less than a minute",
                "in 1 minute",
                "in 1 hour",
                "in 1 day",
                "in 8 days",
                "just now",
                "1 minute ago",
                "1 day ago"
            ]
        );
    }
}
