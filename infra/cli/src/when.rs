//! Parses times as people write them.

mod zone;

#[cfg(test)]
mod tests;

use chrono::{DateTime, Days, Duration, NaiveDate, NaiveDateTime, NaiveTime, Utc, Weekday};
use thiserror::Error;

pub(crate) use self::zone::Zone;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum InvalidTime {
    #[error(
        "{0:?} isn't a time I understand. Try 'tomorrow 9:00', 'in 2 hours', '2026-12-24 18:00 Europe/Berlin' or 2026-12-24T18:00:00+01:00"
    )]
    Unreadable(String),
    #[error("{0:?} is a day without a time; add one, such as '{0} 9:00'")]
    NotATime(String),
    #[error("{0:?} isn't a time zone; use one such as Europe/Berlin, UTC or +01:00")]
    UnknownZone(String),
    #[error("{at} does not exist in {zone}, because its clocks go forward then")]
    Skipped { at: NaiveDateTime, zone: String },
    #[error("{at} occurs twice in {zone}, because its clocks go back then; use {first} or {second}")]
    Twice {
        at: NaiveDateTime,
        zone: String,
        /// Includes its offset.
        first: String,
        /// Includes its offset.
        second: String,
    },
    /// Relative, so a second run would read another time.
    #[error("use a date and a time here: {0:?} would mean another time if you run the command again")]
    Moving(String),
}

/// Words are relative to `now`; a time without a zone is in `zone`.
pub(crate) fn parse(text: &str, now: DateTime<Utc>, zone: &Zone) -> Result<DateTime<Utc>, InvalidTime> {
    let text = text.trim();
    if text.eq_ignore_ascii_case("now") {
        return Ok(now);
    }
    if let Some(wait) = wait(text) {
        return now.checked_add_signed(wait?).ok_or_else(|| unreadable(text));
    }
    ParsedTime::parse(text, zone)?.resolve(now)
}

pub(crate) fn parse_fixed(text: &str, zone: &Zone) -> Result<DateTime<Utc>, InvalidTime> {
    let text = text.trim();
    let relative = || InvalidTime::Moving(text.to_owned());
    if text.eq_ignore_ascii_case("now") || wait(text).is_some() {
        return Err(relative());
    }
    let reading = ParsedTime::parse(text, zone)?;
    match reading.day {
        Day::Date(date) => reading.zone.resolve(date.and_time(reading.time)),
        Day::Unspecified | Day::Ahead(_) | Day::Weekday(_) => Err(relative()),
    }
}

fn unreadable(text: &str) -> InvalidTime {
    InvalidTime::Unreadable(text.to_owned())
}

/// `in 2 hours`, `in 1 hour 30 minutes`; `None` if the text does not start with `in`.
fn wait(text: &str) -> Option<Result<Duration, InvalidTime>> {
    let words: Vec<_> = text.split_whitespace().map(str::to_lowercase).collect();
    let (first, words) = words.split_first()?;
    if first != "in" {
        return None;
    }
    let parts = words.chunks(2).map(|it| match it {
        [count, unit] => parse_duration_part(count, unit),
        _ => None,
    });
    let sum = parts.reduce(|sum, it| sum?.checked_add(&it?)).flatten();
    Some(sum.ok_or_else(|| unreadable(text)))
}

fn parse_duration_part(count: &str, unit: &str) -> Option<Duration> {
    let count: i64 =
        if matches!(count, "a" | "an") { 1 } else { count.parse().ok().filter(|it| (0..=100_000_000).contains(it))? };
    match unit.trim_end_matches('s') {
        "" | "sec" | "second" => Duration::try_seconds(count),
        "m" | "min" | "minute" => Duration::try_minutes(count),
        "h" | "hour" => Duration::try_hours(count),
        "d" | "day" => Duration::try_days(count),
        "w" | "week" => Duration::try_weeks(count),
        _ => None,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Day {
    Unspecified,
    Date(NaiveDate),
    Ahead(u64),
    Weekday(Weekday),
}

#[derive(Debug)]
struct ParsedTime {
    day: Day,
    time: NaiveTime,
    zone: Zone,
}

impl ParsedTime {
    fn parse(text: &str, zone: &Zone) -> Result<Self, InvalidTime> {
        // Year-month-day and the time may be joined by a T.
        let is_joined = text.as_bytes().get(10).is_some_and(|it| matches!(it, b'T' | b't'))
            && date(text.get(..10).unwrap_or_default()).is_some();
        let separated = if is_joined { format!("{} {}", &text[..10], &text[11..]) } else { text.to_owned() };
        let mut words = separated.split_whitespace().filter(|it| !it.eq_ignore_ascii_case("at")).peekable();

        let mut day = Day::Unspecified;
        if let Some(said) = words.peek().and_then(|it| self::day(it)) {
            day = said;
            words.next();
        }
        let Some(clock) = words.next() else {
            return Err(if day == Day::Unspecified {
                unreadable(text)
            } else {
                InvalidTime::NotATime(text.to_owned())
            });
        };
        let (clock, offset) = split_offset(clock);
        let mut clock = clock.to_lowercase();
        if let Some(meridiem) = words.next_if(|it| it.eq_ignore_ascii_case("am") || it.eq_ignore_ascii_case("pm")) {
            clock.push_str(&meridiem.to_lowercase());
        }
        let time = time(&clock).ok_or_else(|| unreadable(text))?;
        let zone = match offset.or_else(|| words.next()) {
            Some(said) => Zone::parse(said).ok_or_else(|| InvalidTime::UnknownZone(said.to_owned()))?,
            None => zone.clone(),
        };
        if words.next().is_some() {
            return Err(unreadable(text));
        }
        Ok(Self { day, time, zone })
    }

    /// Words refer to the calendar of the zone. A time without a day, or a day of the week, is the
    /// next one in the future.
    fn resolve(&self, now: DateTime<Utc>) -> Result<DateTime<Utc>, InvalidTime> {
        let today = self.zone.local(now).date();
        let at = |date: NaiveDate| self.zone.resolve(date.and_time(self.time));
        let ahead = |days: u64| today.checked_add_days(Days::new(days)).unwrap_or(today);
        match self.day {
            Day::Date(date) => at(date),
            Day::Ahead(days) => at(ahead(days)),
            Day::Unspecified => at(today).and_then(|it| if now < it { Ok(it) } else { at(ahead(1)) }),
            Day::Weekday(day) => {
                use chrono::Datelike;
                let days = u64::from(day.days_since(today.weekday()));
                at(ahead(days)).and_then(|it| if now < it { Ok(it) } else { at(ahead(days + 7)) })
            }
        }
    }
}

/// Splits `18:00Z` and `18:00+01:00` into time and offset.
fn split_offset(clock: &str) -> (&str, Option<&str>) {
    match clock.find(['+', '-', 'Z', 'z']) {
        Some(at) if 0 < at => (&clock[..at], Some(&clock[at..])),
        _ => (clock, None),
    }
}

fn date(text: &str) -> Option<NaiveDate> {
    NaiveDate::parse_from_str(text, "%Y-%m-%d").ok().filter(|_| text.len() == 10)
}

fn day(word: &str) -> Option<Day> {
    match word.to_lowercase().as_str() {
        "today" => Some(Day::Ahead(0)),
        "tomorrow" => Some(Day::Ahead(1)),
        word => date(word).map(Day::Date).or_else(|| word.parse().ok().map(Day::Weekday)),
    }
}

/// `9:00`, `18:30:15`, `9am`, `5:30pm`.
fn time(text: &str) -> Option<NaiveTime> {
    let (text, meridiem_hours) = match (text.strip_suffix("am"), text.strip_suffix("pm")) {
        (Some(text), _) => (text, Some(0)),
        (_, Some(text)) => (text, Some(12)),
        _ => (text, None),
    };
    let text = text.trim();
    let is_complete = text.contains(':') || meridiem_hours.is_some();
    let mut parts = text.splitn(3, ':');
    let hour: u32 = number(parts.next()?)?;
    let minute: u32 = parts.next().map_or(Some(0), number)?;
    let (second, nanos) = parts.next().map_or(Some((0, 0)), seconds)?;
    let hour = match meridiem_hours {
        Some(meridiem_hours) if (1..=12).contains(&hour) => hour % 12 + meridiem_hours,
        Some(_) => return None,
        None => hour,
    };
    NaiveTime::from_hms_nano_opt(hour, minute, second, nanos).filter(|_| is_complete)
}

fn number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|_| text.len() <= 2 && text.bytes().all(|it| it.is_ascii_digit()))
}

/// Seconds and nanoseconds of `15` or `15.250`; at most three decimals.
fn seconds(text: &str) -> Option<(u32, u32)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits: String = fraction.chars().chain("000".chars()).take(3).collect();
    let millis: u32 = digits.parse().ok().filter(|_| fraction.bytes().all(|it| it.is_ascii_digit()))?;
    Some((number(whole)?, millis * 1_000_000))
}
