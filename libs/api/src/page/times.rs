//! Formats times for pages, in the zone of the user.

use chrono::{DateTime, TimeDelta, Utc};
use domain::time_zone::TimeZone;

/// "21 November 2026".
pub fn date(at: DateTime<Utc>, zone: &TimeZone) -> String {
    zone.local(at).format("%-d %B %Y").to_string()
}

/// "Saturday, 21 November 2026".
pub fn day(at: DateTime<Utc>, zone: &TimeZone) -> String {
    zone.local(at).format("%A, %-d %B %Y").to_string()
}

/// "10:30 Berlin (09:30 UTC)", or "09:30 UTC".
pub fn time(at: DateTime<Utc>, zone: &TimeZone) -> String {
    in_both(at, zone, "%H:%M")
}

/// "10:30:05 Berlin (09:30:05 UTC)", or "09:30:05 UTC".
pub fn time_with_seconds(at: DateTime<Utc>, zone: &TimeZone) -> String {
    in_both(at, zone, "%H:%M:%S")
}

fn in_both(at: DateTime<Utc>, zone: &TimeZone, format: &str) -> String {
    let utc = at.format(format);
    if zone.is_utc() {
        return format!("{utc} UTC");
    }
    format!("{} {} ({utc} UTC)", zone.local(at).format(format), zone.city())
}

/// "21 November 2026, 10:30 Berlin (09:30 UTC)".
pub fn date_and_time(at: DateTime<Utc>, zone: &TimeZone) -> String {
    format!("{}, {}", date(at, zone), time(at, zone))
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
    fn time_is_shown_in_the_zone_and_in_utc() {
        let zone = TimeZone::parse("America/New_York").unwrap();
        assert_eq!(date_and_time(noon(), &zone), "21 November 2026, 07:00 New York (12:00 UTC)");
        assert_eq!(date_and_time(noon(), &TimeZone::utc()), "21 November 2026, 12:00 UTC");
        let auckland = TimeZone::parse("Pacific/Auckland").unwrap();
        assert_eq!(day(noon(), &auckland), "Sunday, 22 November 2026");
    }

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
