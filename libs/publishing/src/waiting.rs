//! Waiting for a time.

use chrono::{DateTime, Utc};
use domain::clock::Clock;

/// Waits until the clock says so, and returns its time. A timer may go off a
/// little early; then the rest is waited for. In tests a clock that is moved
/// by hand is moved on instead.
pub(crate) async fn sleep_until(clock: &Clock, at: DateTime<Utc>) -> DateTime<Utc> {
    loop {
        let now = clock.now();
        let Ok(left) = (at - now).to_std() else { return now };
        if left.is_zero() {
            return now;
        }
        if !clock.skip_to(at) {
            tokio::time::sleep(left).await;
        }
    }
}
