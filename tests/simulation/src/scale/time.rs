//! Time as the model counts it.

use chrono::TimeDelta;

use super::Ms;

/// The next whole millisecond.
#[expect(clippy::cast_possible_truncation, reason = "minutes in milliseconds are far from the ends")]
pub(super) fn whole_ms(ms: f64) -> Ms {
    ms.ceil() as Ms
}

/// Milliseconds in seconds.
pub(super) fn seconds(ms: Ms) -> f64 {
    f64::from(ms) / 1_000.0
}

/// A duration of the code in milliseconds.
#[expect(clippy::cast_possible_truncation, reason = "minutes in milliseconds are far from the ends")]
pub(super) const fn in_ms(delta: TimeDelta) -> Ms {
    delta.num_milliseconds() as Ms
}
