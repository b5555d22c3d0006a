use std::time::Duration;

use reqwest::header::{HeaderMap, RETRY_AFTER};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Not counting calls that exceeded a limit.
    pub tries: u32,
    /// Each further wait is twice as long.
    pub first_wait: Duration,
    /// Applies to one call.
    pub timeout: Duration,
    /// How often a call waits after a 429. The window of a limit is a minute.
    pub limits: u32,
    /// The longest wait after a 429; if the service asks for more, the call fails at once.
    pub longest_wait: Duration,
}

impl Default for RetryPolicy {
    /// Four calls within some seconds, and three windows of a limit.
    fn default() -> Self {
        Self {
            tries: 4,
            first_wait: Duration::from_millis(500),
            // A function of the service runs for 30 seconds at most.
            timeout: Duration::from_secs(35),
            limits: 3,
            longest_wait: Duration::from_secs(70),
        }
    }
}

impl RetryPolicy {
    /// One call, no waits.
    pub const NONE: Self = Self {
        tries: 1,
        first_wait: Duration::ZERO,
        timeout: Duration::from_secs(35),
        limits: 0,
        longest_wait: Duration::ZERO,
    };

    pub(crate) fn wait_after(&self, attempts: u32) -> Duration {
        self.first_wait.saturating_mul(2_u32.saturating_pow(attempts.saturating_sub(1).min(6)))
    }

    /// Without `Retry-After`, a 429 ends with its window of a minute.
    pub(crate) fn asked_wait(headers: &HeaderMap) -> Option<Duration> {
        let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
        Some(Duration::from_secs(seconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_limit() {
        let retry_policy = RetryPolicy { first_wait: Duration::from_millis(500), ..RetryPolicy::default() };
        let waits: Vec<_> = (1..=4).map(|it| retry_policy.wait_after(it).as_millis()).collect();
        assert_eq!(waits, [500, 1000, 2000, 4000]);
        assert_eq!(retry_policy.wait_after(4_000_000_000), Duration::from_secs(32));
    }
}
