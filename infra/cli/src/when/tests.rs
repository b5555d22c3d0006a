#![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

use proptest::prelude::*;

use super::*;

/// A Monday, 10:00 in Berlin.
fn now() -> DateTime<Utc> {
    "2026-11-23T09:00:00Z".parse().unwrap()
}

fn berlin() -> Zone {
    Zone::parse("Europe/Berlin").unwrap()
}

fn read(text: &str) -> String {
    parse(text, now(), &berlin()).unwrap_or_else(|it| panic!("{text}: {it}")).to_rfc3339()
}

#[test]
fn time_with_a_zone_is_absolute() {
    for text in [
        "2026-12-24T18:00:00+01:00",
        "2026-12-24T17:00:00Z",
        "2026-12-24T17:00:00.000Z",
        "2026-12-24 18:00 Europe/Berlin",
        "2026-12-24T18:00 europe/berlin",
        "2026-12-24 12:00 America/New_York",
        "2026-12-24 18:00+01:00",
        "2026-12-24 17:00 UTC",
        "2026-12-24 6pm",
        "2026-12-24 at 6:00 pm Europe/Berlin",
    ] {
        assert_eq!(read(text), "2026-12-24T17:00:00+00:00", "{text}");
    }
    assert_eq!(read("2026-12-24T17:00:01.25Z"), "2026-12-24T17:00:01.250+00:00");
}

#[test]
fn words_refer_to_the_calendar_of_the_zone() {
    for (text, expected) in [
        ("now", "2026-11-23T09:00:00+00:00"),
        ("in 2 hours", "2026-11-23T11:00:00+00:00"),
        ("in an hour", "2026-11-23T10:00:00+00:00"),
        ("in 1 hour 30 minutes", "2026-11-23T10:30:00+00:00"),
        ("in 45 s", "2026-11-23T09:00:45+00:00"),
        ("tomorrow 9:00", "2026-11-24T08:00:00+00:00"),
        ("Tomorrow 9am", "2026-11-24T08:00:00+00:00"),
        ("today 18:30", "2026-11-23T17:30:00+00:00"),
        // It is 22:00 of the day before in Honolulu.
        ("tomorrow 9:00 Pacific/Honolulu", "2026-11-23T19:00:00+00:00"),
        ("friday 17:30", "2026-11-27T16:30:00+00:00"),
        ("fri 17:30 UTC", "2026-11-27T17:30:00+00:00"),
        ("monday 11:00", "2026-11-23T10:00:00+00:00"),
        ("monday 10:00", "2026-11-30T09:00:00+00:00"),
        ("10:01", "2026-11-23T09:01:00+00:00"),
        ("9:59", "2026-11-24T08:59:00+00:00"),
        ("12am", "2026-11-23T23:00:00+00:00"),
    ] {
        assert_eq!(read(text), expected, "{text}");
    }
}

#[test]
fn skipped_or_repeated_local_time_is_an_error() {
    let message = |text| parse(text, now(), &berlin()).unwrap_err().to_string();
    assert_eq!(
        message("2027-03-28 02:30"),
        "2027-03-28 02:30:00 does not exist in Europe/Berlin, because its clocks go forward then"
    );
    assert_eq!(
        message("2027-10-31 02:30"),
        "2027-10-31 02:30:00 occurs twice in Europe/Berlin, because its clocks go back then; use \
         2027-10-31T02:30:00+02:00 or 2027-10-31T02:30:00+01:00"
    );
    assert_eq!(read("2027-10-31T02:30:00+02:00"), "2027-10-31T00:30:00+00:00");
}

#[test]
fn text_that_is_not_a_time_is_an_error() {
    let zone = berlin();
    for text in [
        "",
        "soon",
        "18",
        "25:00",
        "9:60",
        "2026-13-01 9:00",
        "2026-12-24 9:00 UTC later",
        "in",
        "in two hours",
        "in 2",
        "in 99999999999 days",
        "13pm",
        "0am",
        "9:00:99",
        "-5:00",
        "2026-12-24T",
        "24:00",
        "é",
    ] {
        assert!(parse(text, now(), &zone).is_err(), "{text}");
    }
    assert!(matches!(parse("tomorrow", now(), &zone), Err(InvalidTime::NotATime(_))));
    assert!(matches!(parse("9:00 Europe/Berlun", now(), &zone), Err(InvalidTime::UnknownZone(_))));
}

#[test]
fn parse_fixed_rejects_relative_times() {
    let zone = berlin();
    assert_eq!(parse_fixed("2026-12-24 18:00", &zone).unwrap().to_rfc3339(), "2026-12-24T17:00:00+00:00");
    assert_eq!(parse_fixed("2026-12-24T18:00:00Z", &zone).unwrap().to_rfc3339(), "2026-12-24T18:00:00+00:00");
    for text in ["now", "in 2 hours", "tomorrow 9:00", "friday 9:00", "18:00", "today 9:00"] {
        assert!(matches!(parse_fixed(text, &zone), Err(InvalidTime::Moving(_))), "{text}");
    }
}

proptest! {
    #[test]
    fn any_text_parses_or_is_an_error(text in "\\PC{0,30}") {
        let _ = parse(&text, now(), &berlin());
        let _ = parse_fixed(&text, &berlin());
    }

    #[test]
    fn rfc_3339_time_is_read_unchanged(millis in 1_700_000_000_000_i64..1_900_000_000_000, hours in -12_i32..=14) {
        let at = DateTime::from_timestamp_millis(millis).unwrap();
        let offset = chrono::FixedOffset::east_opt(hours * 3600).unwrap();
        let text = at.with_timezone(&offset).to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
        prop_assert_eq!(parse(&text, now(), &berlin()).unwrap(), at);
    }
}
