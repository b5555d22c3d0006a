//! Permits: limit how many environments one user, or one host that users named, occupies.
//!
//! The number of environments is limited, and the slowest call of an environment occupies it. While
//! an environment makes calls for a user, it holds a permit of that user in the store, and there
//! are fewer permits than environments. Permits are in the store and not in a process, because each
//! environment is a process of its own.
//!
//! `publishing`, `webhook_delivery` and `api` decide which calls need permits, how many there are,
//! and what follows if none is free.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use cloud::timer::sleep_until;
use domain::backoff::Backoff;
use domain::clock::Clock;
use domain::delivery::LEASE_DURATION;
use domain::random::Random;
use storage::{InFlightCalls, LimitSubject, StorageError, Store};

/// A call that takes longer is slow: its permit is not expected to be released soon.
const SLOW: TimeDelta = TimeDelta::seconds(1);

/// A call without a permit is counted once it takes longer than this. Few calls do, and all others
/// save two writes.
const RECORDED_AFTER: Duration = Duration::from_secs(3);

/// How long a call waits for a permit that faster calls will release. Others may wait for the same
/// one.
pub const PERMIT_WAIT: TimeDelta = TimeDelta::seconds(3);

#[derive(Clone, Debug)]
pub struct HeldPermits {
    environment: Arc<str>,
    held: Arc<Mutex<HashMap<LimitSubject, Arc<HeldPermit>>>>,
    random: Random,
}

#[derive(Debug, Default)]
struct HeldPermit {
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
    pub fn new(random: Random) -> Self {
        Self { environment: format!("{:016x}", random.u64()).into(), held: Arc::default(), random }
    }

    fn subject_permit(&self, subject: &LimitSubject) -> StoredPermit {
        let held = Arc::clone(self.all().entry(subject.clone()).or_default());
        StoredPermit { process: self.clone(), subject: subject.clone(), held, is_counted: false }
    }

    /// Shares the permit of this process if there is one.
    async fn acquire(
        &self,
        store: &Store,
        subject: &LimitSubject,
        in_flight: &InFlightCalls,
        lease: TimeDelta,
        now: DateTime<Utc>,
    ) -> Result<Option<StoredPermit>, StorageError> {
        let mut permit = self.subject_permit(subject);
        let held = Arc::clone(&permit.held);
        let mut reacquire_at = held.until.lock().await;
        let is_held = 0 < held.calls.load(Ordering::SeqCst) && now < *reacquire_at;
        if !is_held
            && !store
                .acquire_permit(subject, in_flight, &self.environment, lease, now, self.random.u64())
                .await?
                .is_applied()
        {
            return Ok(None);
        }
        if !is_held {
            // A call that shares the permit from now on ends before the permit expires.
            *reacquire_at = now + lease / 4;
        }
        permit.count();
        Ok(Some(permit))
    }

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

    /// Returns whether this was the last share.
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

#[derive(Debug)]
pub struct Permit {
    subject: LimitSubject,
    stored: Option<StoredPermit>,
}

impl Permit {
    pub fn subject(&self) -> &LimitSubject {
        &self.subject
    }
}

#[derive(Clone, Copy, Debug)]
pub struct ConcurrencyLimiter<'a> {
    pub store: &'a Store,
    pub clock: &'a Clock,
    pub held_permits: &'a HeldPermits,
}

impl ConcurrencyLimiter<'_> {
    /// `None` if `max_permits` environments already hold a permit and no fast call releases one by
    /// `wait_until`, which is usually [`PERMIT_WAIT`] ahead. Without `needs_permit`, the permit is
    /// stored only when the call turns out to be slow: acquiring and releasing it are two writes.
    pub async fn acquire(
        &self,
        subject: LimitSubject,
        in_flight: InFlightCalls,
        max_permits: usize,
        needs_permit: bool,
        wait_until: DateTime<Utc>,
    ) -> Result<Option<Permit>, StorageError> {
        let mut in_flight = in_flight;
        let mut backoff = Backoff::until(wait_until, self.held_permits.random.clone());
        loop {
            let now = self.clock.now();
            if in_flight.others(&self.held_permits.environment, now) < max_permits {
                if !needs_permit {
                    return Ok(Some(Permit { subject, stored: None }));
                }
                let stored = self.held_permits.acquire(self.store, &subject, &in_flight, LEASE_DURATION, now).await?;
                if stored.is_some() {
                    return Ok(Some(Permit { subject, stored }));
                }
            } else if in_flight.are_older_than(SLOW, now) {
                return Ok(None);
            }
            let Some(retry_at) = backoff.next(now) else { return Ok(None) };
            sleep_until(self.clock, retry_at).await;
            in_flight = self.store.in_flight_calls(&subject).await?;
        }
    }

    /// `None` if `max_permits` environments already hold a permit; waits for none. If another
    /// caller was faster, tries again, up to `tries` times in all. The permit expires after
    /// `lease`.
    pub async fn try_acquire(
        &self,
        subject: LimitSubject,
        max_permits: usize,
        lease: TimeDelta,
        tries: usize,
    ) -> Result<Option<Permit>, StorageError> {
        for _ in 0..tries {
            let in_flight = self.store.in_flight_calls(&subject).await?;
            let now = self.clock.now();
            if max_permits <= in_flight.others(&self.held_permits.environment, now) {
                return Ok(None);
            }
            let stored = self.held_permits.acquire(self.store, &subject, &in_flight, lease, now).await?;
            if stored.is_some() {
                return Ok(Some(Permit { subject, stored }));
            }
        }
        Ok(None)
    }

    /// `None` if there is another call. Unlike other permits, this one is not shared within an
    /// environment.
    pub async fn acquire_exclusive(
        &self,
        subject: LimitSubject,
        in_flight: &InFlightCalls,
    ) -> Result<Option<Permit>, StorageError> {
        let (alone, now) = (HeldPermits::new(self.held_permits.random.clone()), self.clock.now());
        if 0 < in_flight.others(&alone.environment, now) {
            return Ok(None);
        }
        let stored = alone.acquire(self.store, &subject, in_flight, LEASE_DURATION, now).await?;
        Ok(stored.map(|stored| Permit { subject, stored: Some(stored) }))
    }

    /// Whether `max_permits` other environments hold permits, and none will be released soon.
    pub fn is_exhausted(&self, in_flight: &InFlightCalls, max_permits: usize) -> bool {
        let now = self.clock.now();
        max_permits <= in_flight.others(&self.held_permits.environment, now) && in_flight.are_older_than(SLOW, now)
    }

    /// Counts the call once it is slow.
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

    pub async fn release(&self, permit: Permit) {
        self.release_stored(permit.stored).await;
    }

    async fn release_stored(&self, stored: Option<StoredPermit>) {
        if let Some(stored) = stored {
            log_failure(stored.release(self.store).await);
        }
    }
}

/// A failed write of a count is only logged: the count expires, and the call continues.
fn log_failure<T>(counted: Result<T, StorageError>) -> Option<T> {
    counted.inspect_err(|error| tracing::warn!(%error, "in-flight call could not be counted")).ok()
}

#[cfg(test)]
mod tests;
