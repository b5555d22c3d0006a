//! Fairness: limits how many delivery environments one user, or one host that users named,
//! occupies.
//!
//! The number of environments is limited, and the slowest call of an environment occupies it. While
//! an environment makes calls for a user, it holds a permit of that user in the store, and there
//! are fewer permits than environments. Acquiring and releasing a permit are two writes. So only
//! deliveries that come in a burst acquire one first; a single delivery starts without one and
//! acquires it when its call retries out to be slow. A delivery that gets no permit is rescheduled,
//! and no attempt is counted.
//!
//! Permits are in the store and not in a process, because each environment is a process of its own.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use cloud::waiting::sleep_until;
use domain::backoff::Backoff;
use domain::clock::Clock;
use domain::delivery::LEASE_DURATION;
use domain::random::Random;
use storage::{InFlightCalls, LimitSubject, StorageError, Store};

use crate::Publishing;

/// A call that takes longer is slow: its permit is not expected to be released soon.
const SLOW: TimeDelta = TimeDelta::seconds(1);

/// A call without a permit is counted once it takes longer than this. Few calls do, and all others
/// save two writes.
const RECORDED_AFTER: Duration = Duration::from_secs(3);

/// How long a delivery waits for a permit that faster calls will release. Others may wait for the
/// same one.
const PERMIT_WAIT: TimeDelta = TimeDelta::seconds(3);

/// A call to a host that takes longer counts as a slow call of the host. Adapter timeouts are
/// longer, or a little shorter for calls whose result can wait.
const SLOW_CALL: TimeDelta = TimeDelta::seconds(10);

/// After this many slow calls in a row, only one environment calls the host at a time, for at most
/// `SLOW_HOST_TIMEOUT`. That ends when the host responds in time or was not called for
/// [`SLOW_HOST_WINDOW`].
const SLOW_CALLS: u32 = 3;
const SLOW_HOST_TIMEOUT: Duration = Duration::from_secs(10);
const SLOW_HOST_WINDOW: TimeDelta = TimeDelta::minutes(5);

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

/// The permits that this process holds.
#[derive(Clone, Debug)]
pub struct HeldPermits {
    environment: Arc<str>,
    held: Arc<Mutex<HashMap<LimitSubject, Arc<HeldPermit>>>>,
    random: Random,
}

/// A permit of this process, shared by its calls.
#[derive(Debug, Default)]
struct HeldPermit {
    /// How many calls share the permit.
    calls: AtomicU32,
    /// When the permit has to be acquired again. Locked while it is acquired or released, so that
    /// other calls wait for the result.
    until: tokio::sync::Mutex<DateTime<Utc>>,
}

/// A share of a permit. If it is dropped without a release, because its delivery panicked or was
/// cut off, the process no longer counts it, and the permit in the store expires.
#[derive(Debug)]
struct StoredPermit {
    process: HeldPermits,
    subject: LimitSubject,
    held: Arc<HeldPermit>,
    is_counted: bool,
}

impl HeldPermits {
    /// No permits yet, of an environment with a random name.
    pub fn new(random: Random) -> Self {
        Self { environment: format!("{:016x}", random.u64()).into(), held: Arc::default(), random }
    }

    /// A share that is not counted yet.
    fn subject_permit(&self, subject: &LimitSubject) -> StoredPermit {
        let held = Arc::clone(self.all().entry(subject.clone()).or_default());
        StoredPermit { process: self.clone(), subject: subject.clone(), held, is_counted: false }
    }

    /// Acquires a permit, or shares the one of this process.
    async fn acquire(
        &self,
        store: &Store,
        subject: &LimitSubject,
        in_flight: &InFlightCalls,
        now: DateTime<Utc>,
    ) -> Result<Option<StoredPermit>, StorageError> {
        let mut permit = self.subject_permit(subject);
        let held = Arc::clone(&permit.held);
        let mut reacquire_at = held.until.lock().await;
        let is_held = 0 < held.calls.load(Ordering::SeqCst) && now < *reacquire_at;
        if !is_held
            && !store.acquire_permit(subject, in_flight, &self.environment, now, self.random.u64()).await?.is_applied()
        {
            return Ok(None);
        }
        if !is_held {
            // A call that shares the permit from now on ends before the permit expires.
            *reacquire_at = now + LEASE_DURATION / 4;
        }
        permit.count();
        Ok(Some(permit))
    }

    /// Counts a call that turned out to be slow.
    async fn record(
        &self,
        store: &Store,
        subject: &LimitSubject,
        began_at: DateTime<Utc>,
    ) -> Result<StoredPermit, StorageError> {
        let mut permit = self.subject_permit(subject);
        let held = Arc::clone(&permit.held);
        let mut reacquire_at = held.until.lock().await;
        if held.calls.load(Ordering::SeqCst) == 0 {
            store.record_permit(subject, &self.environment, began_at, self.random.u64()).await?;
            *reacquire_at = began_at + LEASE_DURATION / 4;
        }
        permit.count();
        Ok(permit)
    }

    fn all(&self) -> MutexGuard<'_, HashMap<LimitSubject, Arc<HeldPermit>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StoredPermit {
    fn count(&mut self) {
        self.held.calls.fetch_add(1, Ordering::SeqCst);
        self.is_counted = true;
    }

    /// Whether this was the last share.
    fn uncount(&mut self) -> bool {
        std::mem::take(&mut self.is_counted) && self.held.calls.fetch_sub(1, Ordering::SeqCst) == 1
    }

    /// The last share releases the permit in the store.
    async fn release(mut self, store: &Store) -> Result<(), StorageError> {
        let held = Arc::clone(&self.held);
        let _until = held.until.lock().await;
        if self.uncount() {
            store.release_permit(&self.subject, &self.process.environment).await?;
        }
        Ok(())
    }
}

impl Drop for StoredPermit {
    fn drop(&mut self) {
        self.uncount();
        let mut all = self.process.all();
        // One reference is here and one in the map, so no other call shares it.
        if Arc::strong_count(&self.held) == 2 {
            all.remove(&self.subject);
        }
    }
}

/// The right to make a call.
#[derive(Debug)]
pub struct Permit {
    subject: LimitSubject,
    stored: Option<StoredPermit>,
}

/// The right to call a host. Hosts in the code or in the settings need no permit; hosts that users
/// name do.
#[derive(Debug, Default)]
pub(crate) struct HostPermit(Option<LimitedHost>);

#[derive(Debug)]
struct LimitedHost {
    permit: Permit,
    /// The timeout of the call, if the host had too many slow calls.
    within: Option<Duration>,
    has_slow_calls: bool,
}

/// Limits how many environments of a function call for one subject at the same time.
#[derive(Clone, Copy, Debug)]
pub struct ConcurrencyLimiter<'a> {
    /// Where in-flight calls are counted.
    pub store: &'a Store,
    pub clock: &'a Clock,
    pub held_permits: &'a HeldPermits,
}

impl ConcurrencyLimiter<'_> {
    /// A permit, or `None` if `most` environments already hold one. Without `needs_permit`, it is
    /// stored only when the call retries out to be slow.
    pub async fn acquire(
        &self,
        subject: LimitSubject,
        in_flight: InFlightCalls,
        max_permits: usize,
        needs_permit: bool,
    ) -> Result<Option<Permit>, StorageError> {
        let mut in_flight = in_flight;
        let mut backoff = Backoff::until(self.clock.now() + PERMIT_WAIT, self.held_permits.random.clone());
        loop {
            let now = self.clock.now();
            if in_flight.others(&self.held_permits.environment, now) < max_permits {
                if !needs_permit {
                    return Ok(Some(Permit { subject, stored: None }));
                }
                if let Some(stored) = self.held_permits.acquire(self.store, &subject, &in_flight, now).await? {
                    return Ok(Some(Permit { subject, stored: Some(stored) }));
                }
            } else if in_flight.are_older_than(SLOW, now) {
                return Ok(None);
            }
            let Some(retry_at) = backoff.next(now) else { return Ok(None) };
            sleep_until(self.clock, retry_at).await;
            in_flight = self.store.in_flight_calls(&subject).await?;
        }
    }

    /// A permit for the only call in flight, or `None` if there is another call. Unlike other
    /// permits, it is not shared within an environment.
    pub async fn acquire_exclusive(
        &self,
        subject: LimitSubject,
        in_flight: &InFlightCalls,
    ) -> Result<Option<Permit>, StorageError> {
        let (alone, now) = (HeldPermits::new(self.held_permits.random.clone()), self.clock.now());
        if 0 < in_flight.others(&alone.environment, now) {
            return Ok(None);
        }
        let stored = alone.acquire(self.store, &subject, in_flight, now).await?;
        Ok(stored.map(|stored| Permit { subject, stored: Some(stored) }))
    }

    /// Makes a call with a permit, and counts the call once it is slow.
    pub async fn with_permit<T>(&self, permit: Permit, call: impl Future<Output = T>) -> T {
        let began_at = self.clock.now();
        let Permit { subject, mut stored } = permit;
        let mut call = std::pin::pin!(call);
        if stored.is_none()
            && let Ok(ended) = tokio::time::timeout(RECORDED_AFTER, &mut call).await
        {
            return ended;
        }
        let ended = if stored.is_some() {
            call.await
        } else {
            let (ended, added) = futures::join!(call, self.held_permits.record(self.store, &subject, began_at));
            stored = log_failure(added);
            ended
        };
        self.release_stored(stored).await;
        ended
    }

    /// Releases a permit whose call is not made.
    pub async fn release(&self, permit: Permit) {
        self.release_stored(permit.stored).await;
    }

    async fn release_stored(&self, stored: Option<StoredPermit>) {
        if let Some(stored) = stored {
            log_failure(stored.release(self.store).await);
        }
    }
}

impl Publishing {
    /// The limiter for deliveries.
    pub(crate) fn limiter(&self) -> ConcurrencyLimiter<'_> {
        ConcurrencyLimiter { store: &self.store, clock: &self.clock, held_permits: &self.held_permits }
    }

    /// Whether no permit will be free soon for deliveries of this user.
    pub(crate) fn is_over_limit(&self, in_flight: &InFlightCalls) -> bool {
        let now = self.clock.now();
        self.concurrency_limits.permits() <= in_flight.others(&self.held_permits.environment, now)
            && in_flight.are_older_than(SLOW, now)
    }

    /// A permit to call a host that users named.
    pub(crate) async fn acquire_host_permit(&self, host: Option<String>) -> Result<Option<HostPermit>, StorageError> {
        let Some(host) = host else { return Ok(Some(HostPermit::default())) };
        let subject = LimitSubject::host(&host);
        let in_flight = self.store.in_flight_calls(&subject).await?;
        let now = self.clock.now();
        let is_slow = SLOW_CALLS <= in_flight.slow_calls
            && in_flight.last_slow_call_at.is_some_and(|it| now < it + SLOW_HOST_WINDOW);
        let max_permits = if is_slow { 1 } else { self.concurrency_limits.permits() };
        let has_slow_calls = 0 < in_flight.slow_calls;
        let permit = self.limiter().acquire(subject, in_flight, max_permits, is_slow).await?;
        let timeout = is_slow.then_some(SLOW_HOST_TIMEOUT);
        Ok(permit.map(|permit| HostPermit(Some(LimitedHost { permit, within: timeout, has_slow_calls }))))
    }

    /// Calls a host with a permit; `None` if the call exceeded its timeout. A call that took too
    /// long is recorded as slow if `counts` returns true.
    pub(crate) async fn with_host_permit<T>(
        &self,
        host: HostPermit,
        call: impl Future<Output = T>,
        is_counted: impl FnOnce(&T) -> bool,
    ) -> Option<T> {
        let HostPermit(Some(LimitedHost { permit, within: timeout, has_slow_calls })) = host else {
            return Some(call.await);
        };
        let (subject, began_at) = (permit.subject.clone(), self.clock.now());
        let timed = async {
            let ended = match timeout {
                Some(timeout) => tokio::time::timeout(timeout, call).await.ok(),
                None => Some(call.await),
            };
            (ended, self.clock.now())
        };
        let (ended, ended_at) = self.limiter().with_permit(permit, timed).await;
        if began_at + SLOW_CALL <= ended_at {
            if ended.as_ref().is_none_or(is_counted) {
                log_failure(self.store.record_slow_call(&subject, ended_at).await);
            }
        } else if has_slow_calls {
            log_failure(self.store.clear_slow_calls(&subject).await);
        }
        ended
    }

    /// Releases a permit whose call is not made.
    pub(crate) async fn release_host_permit(&self, host: HostPermit) {
        if let Some(limited) = host.0 {
            self.limiter().release(limited.permit).await;
        }
    }
}

/// A failed write of a count is only logged: the count expires, and the call continues.
fn log_failure<T>(counted: Result<T, StorageError>) -> Option<T> {
    counted.inspect_err(|error| tracing::warn!(%error, "in-flight call could not be counted")).ok()
}

#[cfg(test)]
mod tests;
