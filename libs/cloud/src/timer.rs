use chrono::{DateTime, Utc};
use domain::clock::Clock;

/// Returns the time of the clock. A timer may fire a little early, so the rest is waited too. In
/// tests, a manual clock is advanced instead.
pub async fn sleep_until(clock: &Clock, at: DateTime<Utc>) -> DateTime<Utc> {
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
