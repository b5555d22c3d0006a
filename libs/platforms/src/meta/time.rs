use chrono::{DateTime, Utc};

/// A time in Meta's format, such as `2026-11-23T12:00:00+0000`.
pub(crate) fn read(written: &str) -> Option<DateTime<Utc>> {
    let read = DateTime::parse_from_str(written, "%Y-%m-%dT%H:%M:%S%z");
    read.or_else(|_| DateTime::parse_from_rfc3339(written)).ok().map(|it| it.to_utc())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_of_both_formats_are_parsed() {
        let noon = "2026-11-23T12:00:00Z".parse().ok();
        assert_eq!(read("2026-11-23T12:00:00+0000"), noon);
        assert_eq!(read("2026-11-23T13:00:00+01:00"), noon);
        assert_eq!(read("yesterday"), None);
    }
}
