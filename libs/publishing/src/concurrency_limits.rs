//! Fairness: limits how many delivery environments one user, one profile of a user, or one host that users named, occupies.
//!
//! Acquiring and releasing a permit are two writes. So only deliveries that come in a burst acquire
//! one first; a single delivery starts without one and acquires it when its call turns out to be
//! slow. A delivery that gets no permit is rescheduled, and no attempt is counted.

use cloud::queue::Admission;
use domain::delivery::DeliveryIds;
use permits::{ConcurrencyLimiter, PERMIT_WAIT, Permit};
use storage::{DeliveryCalls, LimitSubject, StorageError};

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
    /// How many environments may hold a permit of one user or host: a quarter.
    pub fn permits(self) -> usize {
        self.share(1, 4)
    }

    /// How many environments may hold a permit of one profile: three fifths of its user's. Together with the deliveries
    /// that start without a permit ([`Self::unchecked`]), a slow profile leaves a fifth to the user's other profiles.
    pub fn permits_of_profile(self) -> usize {
        self.share(3, 20)
    }

    /// How many deliveries of one user and second may start without a permit. Until they are known
    /// to be slow, as many more may start in each further second.
    pub fn unchecked(self) -> usize {
        self.share(1, 20)
    }

    fn share(self, part: usize, of: usize) -> usize {
        usize::try_from(self.environments).map_or(usize::MAX, |it| it * part / of).max(1)
    }
}

/// The permits of one delivery.
pub(crate) struct DeliveryPermits {
    of_user: Permit,
    of_profile: Option<Permit>,
}

impl Publishing {
    /// The limiter for deliveries.
    pub(crate) fn limiter(&self) -> ConcurrencyLimiter<'_> {
        ConcurrencyLimiter { store: &self.store, clock: &self.clock, held_permits: &self.held_permits }
    }

    /// Whether no permit will be free soon for deliveries of this user or profile.
    pub(crate) fn is_over_limit(&self, calls: &DeliveryCalls) -> bool {
        self.limiter().is_exhausted(&calls.of_user, self.concurrency_limits.permits())
            || self.limiter().is_exhausted(&calls.of_profile, self.concurrency_limits.permits_of_profile())
    }

    /// The permits of the profile and the user; `None` if one of them has none left.
    pub(crate) async fn acquire_permits(
        &self,
        ids: DeliveryIds,
        calls: DeliveryCalls,
        admission: Admission,
    ) -> Result<Option<DeliveryPermits>, StorageError> {
        // Before the profile's permit costs two writes in vain.
        if self.is_over_limit(&calls) {
            return Ok(None);
        }
        let (limiter, limits) = (self.limiter(), self.concurrency_limits);
        let (needs_permit, wait_until) = (admission != Admission::Immediate, self.clock.now() + PERMIT_WAIT);
        let mut of_profile = None;
        if let Some(profile) = ids.profile_id {
            let (subject, max_permits) = (LimitSubject::profile(ids.user_id, profile), limits.permits_of_profile());
            of_profile = limiter.acquire(subject, calls.of_profile, max_permits, needs_permit, wait_until).await?;
            if of_profile.is_none() {
                return Ok(None);
            }
        }
        let (subject, max_permits) = (LimitSubject::user(ids.user_id), limits.permits());
        match limiter.acquire(subject, calls.of_user, max_permits, needs_permit, wait_until).await {
            Ok(Some(of_user)) => Ok(Some(DeliveryPermits { of_user, of_profile })),
            other => {
                if let Some(permit) = of_profile {
                    limiter.release(permit).await;
                }
                other.map(|_| None)
            }
        }
    }

    pub(crate) async fn with_permits<T>(&self, permits: DeliveryPermits, call: impl Future<Output = T>) -> T {
        let (limiter, DeliveryPermits { of_user, of_profile }) = (self.limiter(), permits);
        let call = limiter.with_permit(of_user, call);
        match of_profile {
            Some(permit) => limiter.with_permit(permit, call).await,
            None => call.await,
        }
    }
}

#[cfg(test)]
mod tests;
