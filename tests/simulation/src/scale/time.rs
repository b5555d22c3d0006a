//! Time in the model.

use chrono::TimeDelta;

use super::Ms;

/// Rounds up to whole milliseconds.
#[expect(clippy::cast_possible_truncation, reason = "minutes in milliseconds are far from the ends")]
pub(super) fn whole_ms(ms: f64) -> Ms {
    ms.ceil() as Ms
}

/// Converts milliseconds to seconds.
pub(super) fn seconds(ms: Ms) -> f64 {
    f64::from(ms) / 1_000.0
}

/// Converts a duration to milliseconds.
#[expect(clippy::cast_possible_truncation, reason = "minutes in milliseconds are far from the ends")]
pub(super) const fn in_ms(delta: TimeDelta) -> Ms {
    delta.num_milliseconds() as Ms
}
