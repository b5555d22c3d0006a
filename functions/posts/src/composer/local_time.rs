//! The value of a `datetime-local` field, which has no offset.

use chrono::{DateTime, NaiveDateTime, Utc};
use domain::time_zone::TimeZone;

/// The formats in which browsers send the field.
const FORMATS: [&str; 3] = ["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S%.f"];

pub(super) fn parse(raw: &str) -> Option<NaiveDateTime> {
    FORMATS.iter().find_map(|it| NaiveDateTime::parse_from_str(raw, it).ok())
}

/// With seconds only if there are some.
pub(super) fn show(at: DateTime<Utc>, zone: &TimeZone) -> String {
    let format = if at.timestamp_millis() % 60_000 == 0 { FORMATS[0] } else { FORMATS[2] };
    zone.local(at).format(format).to_string()
}
