//! Timestamps in the API's format, and the permitted times of a post.

use chrono::{DateTime, Months, SecondsFormat, TimeDelta, Timelike, Utc};
use thiserror::Error;

/// The API's format: UTC, milliseconds, `Z`.
pub fn show(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum InvalidSchedule {
    /// Not in the form of RFC 3339, without an offset, or a leap second.
    #[error("must be a date and time with an offset, such as 2026-11-21T09:30:00Z")]
    NotAnInstant,
    /// Like [`InvalidSchedule::NotAnInstant`], for a post's time, which may also be [`NOW`].
    #[error("must be a date and time with an offset, such as 2026-11-21T09:30:00Z, or now")]
    NotATime,
    #[error("is in the past; use a later time")]
    Past,
    #[error("is more than 5 years ahead; use an earlier time")]
    TooFar,
}

/// Publishes at once. A request with it means the same whenever it is sent, so it can be repeated
/// under its idempotency key.
pub const NOW: &str = "now";

/// How far in the past a time may be to mean "now".
pub const GRACE: TimeDelta = TimeDelta::minutes(5);

const HORIZON: Months = Months::new(5 * 12);

/// In chrono, the nanoseconds of a leap second, `23:59:60`, start here.
const LEAP_SECOND: u32 = 1_000_000_000;

/// Parses an RFC 3339 timestamp with an offset, truncated to milliseconds.
pub fn parse_instant(raw: &str) -> Result<DateTime<Utc>, InvalidSchedule> {
    // chrono also accepts U+2212 as the sign of an offset.
    let at = Some(raw).filter(|it| it.is_ascii()).and_then(|it| DateTime::parse_from_rfc3339(it).ok());
    let at = at.filter(|it| it.nanosecond() < LEAP_SECOND).ok_or(InvalidSchedule::NotAnInstant)?;
    DateTime::from_timestamp_millis(at.timestamp_millis()).ok_or(InvalidSchedule::NotAnInstant)
}

pub fn parse_schedule(raw: &str, now: DateTime<Utc>) -> Result<DateTime<Utc>, InvalidSchedule> {
    if raw == NOW {
        return Ok(now);
    }
    let at = parse_instant(raw).map_err(|_| InvalidSchedule::NotATime)?;
    if at < now - GRACE {
        return Err(InvalidSchedule::Past);
    }
    if now.checked_add_months(HORIZON).is_some_and(|latest| latest < at) {
        return Err(InvalidSchedule::TooFar);
    }
    Ok(at)
}

#[cfg(test)]
mod tests {
    use chrono::Months;

    use super::*;
    use crate::testing::noon;

    #[test]
    fn timestamp_without_an_offset_is_refused() {
        for raw in ["2026-11-21T12:00:00", "2026-11-21", "noon", "1795262400", ""] {
            assert_eq!(parse_instant(raw), Err(InvalidSchedule::NotAnInstant), "{raw}");
        }
    }

    #[test]
    fn any_offset_is_read_and_shown_in_utc() {
        let at = parse_instant("2026-11-21T10:30:00.1239+01:00").unwrap();
        assert_eq!(show(at), "2026-11-21T09:30:00.123Z");
    }

    #[test]
    fn instant_with_second_60_or_without_ascii_is_refused() {
        for raw in [
            "2026-11-21T23:59:60Z",
            "2026-11-21T12:00:60.5+01:00",
            "2026-11-21T12:00:00\u{2212}01:00",
            "2026-11-21T12:00:00Z\u{a0}",
        ] {
            assert_eq!(parse_instant(raw), Err(InvalidSchedule::NotAnInstant), "{raw}");
        }
        assert!(parse_instant("2026-11-21T12:00:59.999-00:00").is_ok());
    }

    #[test]
    fn fraction_may_have_any_number_of_digits() {
        let at = parse_instant(&format!("2026-11-21T10:30:00.{}+01:00", "1239".repeat(1000))).unwrap();
        assert_eq!(show(at), "2026-11-21T09:30:00.123Z");
        assert_eq!(parse_instant("2026-11-21T10:30:00.Z"), Err(InvalidSchedule::NotAnInstant));
    }

    #[test]
    fn five_years_ahead_is_a_calendar_date() {
        let now = "2027-03-01T12:00:00Z".parse().unwrap();
        assert!(parse_schedule("2032-03-01T12:00:00Z", now).is_ok());
        assert_eq!(parse_schedule("2032-03-01T12:00:00.001Z", now), Err(InvalidSchedule::TooFar));
    }

    #[test]
    fn now_is_accepted_as_a_time() {
        assert_eq!(parse_schedule("now", noon()), Ok(noon()));
        assert_eq!(parse_schedule("Now", noon()), Err(InvalidSchedule::NotATime));
        assert_eq!(parse_instant("now"), Err(InvalidSchedule::NotAnInstant));
    }

    #[test]
    fn schedule_may_be_five_minutes_past() {
        assert!(parse_schedule(&show(noon() - GRACE), noon()).is_ok());
        let past = noon() - GRACE - TimeDelta::milliseconds(1);
        assert_eq!(parse_schedule(&show(past), noon()), Err(InvalidSchedule::Past));
    }

    #[test]
    fn schedule_is_at_most_five_years_ahead() {
        let latest = noon() + Months::new(60);
        assert!(parse_schedule(&show(latest), noon()).is_ok());
        let far = latest + TimeDelta::milliseconds(1);
        assert_eq!(parse_schedule(&show(far), noon()), Err(InvalidSchedule::TooFar));
    }
}
