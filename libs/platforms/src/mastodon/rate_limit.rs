use chrono::{DateTime, TimeDelta, Utc};
use http::HeaderMap;

/// Numbers from here on are seconds since 1970 (this one is in 2001). Smaller ones are seconds from
/// now.
const EARLIEST_INSTANT: i64 = 1_000_000_000;

/// When the limit resets: `X-RateLimit-Reset`, an ISO 8601 timestamp on Mastodon and seconds since
/// 1970 on `GoToSocial`. Every response has it, even while calls are left.
pub(super) fn ends_at(headers: &HeaderMap, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let text = |name: &str| headers.get(name).and_then(|it| it.to_str().ok()).map(str::trim);
    let is_used_up = text("x-ratelimit-remaining").is_none_or(|it| it == "0");
    text("x-ratelimit-reset").filter(|_| is_used_up).and_then(|it| instant(it, now))
}

fn instant(reset: &str, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let Ok(seconds) = reset.parse::<i64>() else {
        return DateTime::parse_from_rfc3339(reset).ok().map(|it| it.to_utc());
    };
    if seconds < EARLIEST_INSTANT {
        now.checked_add_signed(TimeDelta::try_seconds(seconds)?)
    } else {
        DateTime::from_timestamp(seconds, 0)
    }
}

#[cfg(test)]
mod tests {
    use domain::testing::noon;

    use super::*;

    fn reset_from(headers: &[(&'static str, &str)]) -> Option<DateTime<Utc>> {
        let headers = headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        ends_at(&headers.collect(), noon())
    }

    #[test]
    fn reset_header_is_parsed_in_every_form() {
        let in_a_minute = noon() + TimeDelta::seconds(60);
        for reset in [
            in_a_minute.to_rfc3339_opts(chrono::SecondsFormat::Micros, true),
            in_a_minute.to_rfc3339(),
            in_a_minute.timestamp().to_string(),
            "60".to_owned(),
        ] {
            assert_eq!(reset_from(&[("x-ratelimit-reset", &reset)]), Some(in_a_minute), "{reset}");
            let with = |remaining| reset_from(&[("x-ratelimit-reset", &reset), ("x-ratelimit-remaining", remaining)]);
            assert_eq!((with("0"), with("7")), (Some(in_a_minute), None), "{reset}");
        }
    }

    #[test]
    fn invalid_reset_header_is_none() {
        for reset in ["", "soon", "99999999999999999999", "9223372036854775807", "2026-13-01T00:00:00Z"] {
            assert_eq!(reset_from(&[("x-ratelimit-reset", reset)]), None, "{reset}");
        }
        assert_eq!(reset_from(&[]), None);
    }
}
