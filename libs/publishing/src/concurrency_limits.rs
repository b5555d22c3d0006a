//! Fairness: limits how many delivery environments one user, one profile of a user, or one host
//! that users named, occupies.
//!
//! Acquiring and releasing a permit are two writes. So only deliveries that come in a burst acquire
//! one first; a single delivery starts without one and acquires it when its call turns out to be
//! slow. A delivery that gets no permit is rescheduled, and no attempt is counted.

use chrono::{DateTime, TimeDelta, Utc};
use cloud::queue::Admission;
use domain::delivery::DeliveryIds;
use permits::{ConcurrencyLimiter, PERMIT_WAIT, Permit};
use storage::{DeliveryCalls, InFlightCalls, LimitSubject, StorageError};

use crate::Publishing;

/// A slower call counts as a slow call of its host and its profile. Adapter timeouts are longer, or
/// a little shorter for calls whose result can wait.
pub(crate) const SLOW_CALL: TimeDelta = TimeDelta::seconds(10);

/// After this many slow calls in a row, only one environment calls the host, or for the profile, at
/// a time. That ends with a call that is in time, or after [`SLOW_WINDOW`] without one.
pub(crate) const SLOW_CALLS: u32 = 3;
const SLOW_WINDOW: TimeDelta = TimeDelta::minutes(5);

pub(crate) fn is_slow(calls: &InFlightCalls, now: DateTime<Utc>) -> bool {
    SLOW_CALLS <= calls.slow_calls && calls.last_slow_call_at.is_some_and(|it| now < it + SLOW_WINDOW)
}

/// Number of environments of a deployment, and the share of them that one user or host may occupy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConcurrencyLimits {
    pub environments: u32,
}

impl Default for ConcurrencyLimits {
    /// Like `DeliveryConcurrency` in `template.yaml`.
    fn default() -> Self {
        Self { environments: 20 }
    }
}

impl ConcurrencyLimits {
    /// A quarter of the environments, for one user or host.
    pub fn permits(self) -> usize {
        self.share(1, 4)
    }

    /// Half of the permits of the profile's user, so that one customer leaves some to the others.
    pub fn permits_of_profile(self) -> usize {
        self.share(1, 8)
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

pub(crate) struct DeliveryPermits {
    of_user: Permit,
    of_profile: Option<Permit>,
}

impl Publishing {
    pub(crate) fn limiter(&self) -> ConcurrencyLimiter<'_> {
        ConcurrencyLimiter { store: &self.store, clock: &self.clock, held_permits: &self.held_permits }
    }

    /// If no permit will be free soon for deliveries of this user or profile: how the delivery is admitted next.
    pub(crate) fn next_admission(&self, calls: &DeliveryCalls, admission: Admission) -> Option<Admission> {
        if self.limiter().is_exhausted(&calls.of_profile, self.permits_of_profile(&calls.of_profile)) {
            return Some(Admission::Backlog);
        }
        let of_user = self.limiter().is_exhausted(&calls.of_user, self.concurrency_limits.permits());
        of_user.then(|| Admission::WithPermits.max(admission))
    }

    /// The inner error: the profile or the user has no permit left, and the delivery is admitted in
    /// this way when it is rescheduled.
    pub(crate) async fn acquire_permits(
        &self,
        ids: DeliveryIds,
        calls: DeliveryCalls,
        admission: Admission,
    ) -> Result<Result<DeliveryPermits, Admission>, StorageError> {
        // Before the profile's permit costs two writes in vain.
        if let Some(next) = self.next_admission(&calls, admission) {
            return Ok(Err(next));
        }
        let (limiter, needs_permit) = (self.limiter(), admission != Admission::Immediate);
        // An environment that waits for one of many deliveries delays those of others.
        let wait = if admission == Admission::Backlog { TimeDelta::zero() } else { PERMIT_WAIT };
        let wait_until = self.clock.now() + wait;
        let mut of_profile = None;
        if let Some(profile) = ids.profile_id {
            let subject = LimitSubject::profile(ids.user_id, profile);
            let max_permits = self.permits_of_profile(&calls.of_profile);
            of_profile = limiter.acquire(subject, calls.of_profile, max_permits, needs_permit, wait_until).await?;
            if of_profile.is_none() {
                return Ok(Err(Admission::Backlog));
            }
        }
        let (subject, max_permits) = (LimitSubject::user(ids.user_id), self.concurrency_limits.permits());
        match limiter.acquire(subject, calls.of_user, max_permits, needs_permit, wait_until).await {
            Ok(Some(of_user)) => Ok(Ok(DeliveryPermits { of_user, of_profile })),
            other => {
                if let Some(permit) = of_profile {
                    limiter.release(permit).await;
                }
                other.map(|_| Err(Admission::WithPermits.max(admission)))
            }
        }
    }

    /// One for a profile with repeated slow calls.
    fn permits_of_profile(&self, calls: &InFlightCalls) -> usize {
        if is_slow(calls, self.clock.now()) { 1 } else { self.concurrency_limits.permits_of_profile() }
    }

    /// A call that was in time resets the count. Preparations are not counted: a large upload is no
    /// sign of a slow server.
    pub(crate) async fn record_pace(&self, ids: DeliveryIds, took: TimeDelta, slow_calls: u32) {
        let Some(profile) = ids.profile_id else { return };
        let subject = LimitSubject::profile(ids.user_id, profile);
        let recorded = if SLOW_CALL <= took {
            self.store.record_slow_call(&subject, self.clock.now()).await
        } else if 0 < slow_calls {
            self.store.clear_slow_calls(&subject).await
        } else {
            Ok(())
        };
        if let Err(error) = recorded {
            tracing::warn!(%error, "slow call of a profile not recorded");
        }
    }

    pub(crate) async fn with_permits<T>(&self, permits: DeliveryPermits, call: impl Future<Output = T>) -> T {
        let (limiter, DeliveryPermits { of_user, of_profile }) = (self.limiter(), permits);
        // Boxed, because a permit that is counted later is large.
        let call = Box::pin(limiter.with_permit(of_user, call));
        match of_profile {
            Some(permit) => limiter.with_permit(permit, call).await,
            None => call.await,
        }
    }
}

#[cfg(test)]
mod tests;
