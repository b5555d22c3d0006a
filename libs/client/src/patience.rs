//! How long a call is tried.

use std::time::Duration;

use reqwest::header::{HeaderMap, RETRY_AFTER};

/// How long a call is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// How often a call is made at most, waits for a limit not counted.
    pub tries: u32,
    /// The wait before the second time; it doubles from one to the next.
    pub first_wait: Duration,
    /// How long one answer may take.
    pub answer_within: Duration,
    /// How often a limit (429) is waited out. Its window is a minute.
    pub limits: u32,
    /// The longest wait for a limit; a longer one is an error at once.
    pub longest_wait: Duration,
}

impl Default for Patience {
    /// Four tries within some seconds, and three windows of a limit.
    fn default() -> Self {
        Self {
            tries: 4,
            first_wait: Duration::from_millis(500),
            // A function of the service runs for 30 seconds at most.
            answer_within: Duration::from_secs(35),
            limits: 3,
            longest_wait: Duration::from_secs(70),
        }
    }
}

impl Patience {
    /// One try, and no waiting.
    pub const NONE: Self = Self {
        tries: 1,
        first_wait: Duration::ZERO,
        answer_within: Duration::from_secs(35),
        limits: 0,
        longest_wait: Duration::ZERO,
    };

    /// The wait after the `made`th call.
    pub(crate) fn wait_after(&self, made: u32) -> Duration {
        self.first_wait.saturating_mul(2_u32.saturating_pow(made.saturating_sub(1).min(6)))
    }

    /// How long an answer asks to wait; a limit that does not say so is over
    /// with its window.
    pub(crate) fn asked_wait(headers: &HeaderMap) -> Option<Duration> {
        let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
        Some(Duration::from_secs(seconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_and_end() {
        let patience = Patience { first_wait: Duration::from_millis(500), ..Patience::default() };
        let waits: Vec<_> = (1..=4).map(|it| patience.wait_after(it).as_millis()).collect();
        assert_eq!(waits, [500, 1000, 2000, 4000]);
        assert_eq!(patience.wait_after(4_000_000_000), Duration::from_secs(32));
    }
}
