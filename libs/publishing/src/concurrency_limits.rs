//! Fairness: limits how many delivery environments one user, or one host that users named,
//! occupies.
//!
//! Acquiring and releasing a permit are two writes. So only deliveries that come in a burst acquire
//! one first; a single delivery starts without one and acquires it when its call turns out to be
//! slow. A delivery that gets no permit is rescheduled, and no attempt is counted.

use permits::ConcurrencyLimiter;
use storage::InFlightCalls;

use crate::Publishing;

/// Number of environments of a deployment, and the share of them that one user or host may occupy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConcurrencyLimits {
    /// How many batches of deliveries run at the same time.
    pub environments: u32,
}

impl Default for ConcurrencyLimits {
    /// Like `DeliveryConcurrency` in `template.yaml`.
    fn default() -> Self {
        Self { environments: 20 }
    }
}

impl ConcurrencyLimits {
    /// How many environments may hold a permit of one subject: a quarter.
    pub fn permits(self) -> usize {
        usize::try_from(self.environments / 4).unwrap_or(usize::MAX).max(1)
    }

    /// How many deliveries of one user and second may start without a permit. Until they are known
    /// to be slow, as many more may start in each further second.
    pub fn unchecked(self) -> u32 {
        (self.environments / 20).max(1)
    }
}

impl Publishing {
    /// The limiter for deliveries.
    pub(crate) fn limiter(&self) -> ConcurrencyLimiter<'_> {
        ConcurrencyLimiter { store: &self.store, clock: &self.clock, held_permits: &self.held_permits }
    }

    /// Whether no permit will be free soon for deliveries of this user.
    pub(crate) fn is_over_limit(&self, in_flight: &InFlightCalls) -> bool {
        self.limiter().is_exhausted(in_flight, self.concurrency_limits.permits())
    }
}

#[cfg(test)]
mod tests;
