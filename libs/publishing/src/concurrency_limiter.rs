//! Fairness: what one user, or one host that users named, may hold of the
//! environments in which deliveries are made.
//!
//! An environment is held by its slowest call, and there are only so many.
//! While an environment makes calls for a user it holds a place of that user's
//! in the store, and there are fewer places than environments. Taking a place
//! and giving it back are two writes, so only deliveries take one that come in
//! a crowd; a single one is just begun, and takes its place when it turns out
//! to be slow. A delivery that finds no place is put off, with no attempt
//! counted.
//!
//! The count is in the store and not in a process, because each environment is
//! a process, and none sees what the others hold.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::backoff::Backoff;
use domain::clock::Clock;
use domain::delivery::LEASE_DURATION;
use domain::token::random_u64;
use storage::{InFlightCalls, LimitSubject, StorageError, Store};

use crate::Publishing;
use crate::waiting::sleep_until;

/// A call that takes longer is slow: its place is not expected back soon.
const SLOW: TimeDelta = TimeDelta::seconds(1);

/// A call that takes longer is counted although nobody asked for a place. Hardly
/// any does, and the two writes are spared for all others.
const RECORDED_AFTER: Duration = Duration::from_secs(3);

/// How long a delivery waits for a place that calls which are not slow will give
/// back, and that others wait for too.
const PERMIT_WAIT: TimeDelta = TimeDelta::seconds(3);

/// A call to a host that takes longer is a strike against it. The time-outs of
/// adapters are longer, or a little shorter for what need not be waited for.
const SLOW_CALL: TimeDelta = TimeDelta::seconds(10);

/// After so many strikes in a row, a host is called by one environment at a
/// time, and for no longer than this, until it answers in time or is left alone
/// for as long as [`SLOW_HOST_WINDOW`].
const SLOW_CALLS: u32 = 3;
const SLOW_HOST_TIMEOUT: Duration = Duration::from_secs(10);
const SLOW_HOST_WINDOW: TimeDelta = TimeDelta::minutes(5);

/// The environments of a deployment, and the share of them that one user or one
/// host may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConcurrencyLimits {
    /// How many batches of deliveries are made at the same time.
    pub environments: u32,
}

impl Default for ConcurrencyLimits {
    /// As `DeliveryConcurrency` in `template.yaml`.
    fn default() -> Self {
        Self { environments: 20 }
    }
}

impl ConcurrencyLimits {
    /// How many environments may hold a place: a quarter.
    pub fn permits(self) -> usize {
        usize::try_from(self.environments / 4).unwrap_or(usize::MAX).max(1)
    }

    /// How many deliveries of one user and second need not ask for a place. Until
    /// they are known to be slow, this many more may be begun each second.
    pub fn unchecked(self) -> u32 {
        (self.environments / 20).max(1)
    }
}

/// The places that this process holds.
#[derive(Clone, Debug)]
pub struct HeldPermits {
    environment: Arc<str>,
    held: Arc<Mutex<HashMap<LimitSubject, Arc<Held>>>>,
}

/// A place of this process.
#[derive(Debug, Default)]
struct Held {
    /// How many calls share it.
    calls: AtomicU32,
    /// When it has to be taken anew. Locked while it is taken or given back, so
    /// that the others wait for the outcome.
    until: tokio::sync::Mutex<DateTime<Utc>>,
}

/// A share of a place. One that is dropped, because its delivery panicked or was
/// cut off, is no longer counted here, and its place in the store ends by itself.
#[derive(Debug)]
struct StoredPermit {
    process: HeldPermits,
    of: LimitSubject,
    held: Arc<Held>,
    is_counted: bool,
}

impl Default for HeldPermits {
    fn default() -> Self {
        Self { environment: format!("{:016x}", random_u64()).into(), held: Arc::default() }
    }
}

impl HeldPermits {
    /// A share that is not counted yet.
    fn subject_permit(&self, of: &LimitSubject) -> StoredPermit {
        let held = Arc::clone(self.all().entry(of.clone()).or_default());
        StoredPermit { process: self.clone(), of: of.clone(), held, is_counted: false }
    }

    /// Takes a place, or shares that of this process.
    async fn acquire(
        &self,
        store: &Store,
        of: &LimitSubject,
        open: &InFlightCalls,
        now: DateTime<Utc>,
    ) -> Result<Option<StoredPermit>, StorageError> {
        let mut permit = self.subject_permit(of);
        let held = Arc::clone(&permit.held);
        let mut until = held.until.lock().await;
        let is_held = 0 < held.calls.load(Ordering::SeqCst) && now < *until;
        if !is_held && !store.acquire_permit(of, open, &self.environment, now, random_u64()).await?.is_applied() {
            return Ok(None);
        }
        if !is_held {
            // A call that shares it from now on ends before the place does.
            *until = now + LEASE_DURATION / 4;
        }
        permit.count();
        Ok(Some(permit))
    }

    /// Counts a call that turned out to be slow.
    async fn record(
        &self,
        store: &Store,
        of: &LimitSubject,
        began: DateTime<Utc>,
    ) -> Result<StoredPermit, StorageError> {
        let mut permit = self.subject_permit(of);
        let held = Arc::clone(&permit.held);
        let mut until = held.until.lock().await;
        if held.calls.load(Ordering::SeqCst) == 0 {
            store.record_permit(of, &self.environment, began, random_u64()).await?;
            *until = began + LEASE_DURATION / 4;
        }
        permit.count();
        Ok(permit)
    }

    fn all(&self) -> MutexGuard<'_, HashMap<LimitSubject, Arc<Held>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StoredPermit {
    fn count(&mut self) {
        self.held.calls.fetch_add(1, Ordering::SeqCst);
        self.is_counted = true;
    }

    /// Whether it was the last share.
    fn uncount(&mut self) -> bool {
        std::mem::take(&mut self.is_counted) && self.held.calls.fetch_sub(1, Ordering::SeqCst) == 1
    }

    /// The last share gives the place back.
    async fn release(mut self, store: &Store) -> Result<(), StorageError> {
        let held = Arc::clone(&self.held);
        let _until = held.until.lock().await;
        if self.uncount() {
            store.release_permit(&self.of, &self.process.environment).await?;
        }
        Ok(())
    }
}

impl Drop for StoredPermit {
    fn drop(&mut self) {
        self.uncount();
        let mut all = self.process.all();
        // One is here and one in the map: nobody else has a share.
        if Arc::strong_count(&self.held) == 2 {
            all.remove(&self.of);
        }
    }
}

/// Leave to make a call.
#[derive(Debug)]
pub struct Permit {
    of: LimitSubject,
    stored: Option<StoredPermit>,
}

/// Leave to call a host that users named; nothing is asked for one that stands
/// in the code or in the settings.
#[derive(Debug, Default)]
pub(crate) struct HostPermit(Option<LimitedHost>);

#[derive(Debug)]
struct LimitedHost {
    permit: Permit,
    /// How long it may take, where it was too slow before.
    within: Option<Duration>,
    has_slow_calls: bool,
}

/// Limits the calls that the environments of a function make at the same time.
#[derive(Clone, Copy, Debug)]
pub struct ConcurrencyLimiter<'a> {
    /// Where open calls are counted.
    pub store: &'a Store,
    /// The time.
    pub clock: &'a Clock,
    /// The places that this process holds.
    pub held_permits: &'a HeldPermits,
}

impl ConcurrencyLimiter<'_> {
    /// Leave to make a call; `None` when `most` environments hold a place already. A call that
    /// does not come in a crowd takes a place only when it turns out to be slow.
    pub async fn acquire(
        &self,
        of: LimitSubject,
        open: InFlightCalls,
        most: usize,
        needs_permit: bool,
    ) -> Result<Option<Permit>, StorageError> {
        let mut open = open;
        let mut looks = Backoff::until(self.clock.now() + PERMIT_WAIT);
        loop {
            let now = self.clock.now();
            if open.others(&self.held_permits.environment, now) < most {
                if !needs_permit {
                    return Ok(Some(Permit { of, stored: None }));
                }
                if let Some(stored) = self.held_permits.acquire(self.store, &of, &open, now).await? {
                    return Ok(Some(Permit { of, stored: Some(stored) }));
                }
            } else if open.are_older_than(SLOW, now) {
                return Ok(None);
            }
            let Some(again_at) = looks.next(now) else { return Ok(None) };
            sleep_until(self.clock, again_at).await;
            open = self.store.in_flight_calls(&of).await?;
        }
    }

    /// Leave to make the only call that is open; `None` while another one is. Unlike the others
    /// it is not shared by the calls of an environment.
    pub async fn acquire_exclusive(
        &self,
        of: LimitSubject,
        open: &InFlightCalls,
    ) -> Result<Option<Permit>, StorageError> {
        let (alone, now) = (HeldPermits::default(), self.clock.now());
        if 0 < open.others(&alone.environment, now) {
            return Ok(None);
        }
        let stored = alone.acquire(self.store, &of, open, now).await?;
        Ok(stored.map(|stored| Permit { of, stored: Some(stored) }))
    }

    /// Makes a call with leave, and counts it once it is slow.
    pub async fn with_permit<T>(&self, permit: Permit, call: impl Future<Output = T>) -> T {
        let began = self.clock.now();
        let Permit { of, mut stored } = permit;
        let mut call = std::pin::pin!(call);
        if stored.is_none()
            && let Ok(ended) = tokio::time::timeout(RECORDED_AFTER, &mut call).await
        {
            return ended;
        }
        let ended = if stored.is_some() {
            call.await
        } else {
            let (ended, added) = futures::join!(call, self.held_permits.record(self.store, &of, began));
            stored = noted(added);
            ended
        };
        self.release_stored(stored).await;
        ended
    }

    /// No call is made after all.
    pub async fn release(&self, permit: Permit) {
        self.release_stored(permit.stored).await;
    }

    async fn release_stored(&self, stored: Option<StoredPermit>) {
        if let Some(stored) = stored {
            noted(stored.release(self.store).await);
        }
    }
}

impl Publishing {
    /// The limiter of the calls that deliveries make.
    pub(crate) fn limiter(&self) -> ConcurrencyLimiter<'_> {
        ConcurrencyLimiter { store: &self.store, clock: &self.clock, held_permits: &self.held_permits }
    }

    /// Whether no place will be free soon for what is delivered to this user.
    pub(crate) fn is_over_limit(&self, open: &InFlightCalls) -> bool {
        let now = self.clock.now();
        self.concurrency_limits.permits() <= open.others(&self.held_permits.environment, now)
            && open.are_older_than(SLOW, now)
    }

    /// Leave to call a host that users named.
    pub(crate) async fn acquire_host_permit(&self, host: Option<String>) -> Result<Option<HostPermit>, StorageError> {
        let Some(host) = host else { return Ok(Some(HostPermit::default())) };
        let of = LimitSubject::host(&host);
        let open = self.store.in_flight_calls(&of).await?;
        let now = self.clock.now();
        let is_slow =
            SLOW_CALLS <= open.slow_calls && open.last_slow_call_at.is_some_and(|it| now < it + SLOW_HOST_WINDOW);
        let most = if is_slow { 1 } else { self.concurrency_limits.permits() };
        let has_slow_calls = 0 < open.slow_calls;
        let permit = self.limiter().acquire(of, open, most, is_slow).await?;
        let within = is_slow.then_some(SLOW_HOST_TIMEOUT);
        Ok(permit.map(|permit| HostPermit(Some(LimitedHost { permit, within, has_slow_calls }))))
    }

    /// Makes a call to a host with leave; `None` when it took too long and was cut
    /// off. One that took too long is a strike, if it `counts` as one.
    pub(crate) async fn with_host_permit<T>(
        &self,
        host: HostPermit,
        call: impl Future<Output = T>,
        counts: impl FnOnce(&T) -> bool,
    ) -> Option<T> {
        let HostPermit(Some(LimitedHost { permit, within, has_slow_calls })) = host else { return Some(call.await) };
        let (of, began) = (permit.of.clone(), self.clock.now());
        let timed = async {
            let ended = match within {
                Some(within) => tokio::time::timeout(within, call).await.ok(),
                None => Some(call.await),
            };
            (ended, self.clock.now())
        };
        let (ended, ended_at) = self.limiter().with_permit(permit, timed).await;
        if began + SLOW_CALL <= ended_at {
            if ended.as_ref().is_none_or(counts) {
                noted(self.store.record_slow_call(&of, ended_at).await);
            }
        } else if has_slow_calls {
            noted(self.store.clear_slow_calls(&of).await);
        }
        ended
    }

    /// No call is made after all.
    pub(crate) async fn release_host_permit(&self, host: HostPermit) {
        if let Some(named) = host.0 {
            self.limiter().release(named.permit).await;
        }
    }
}

/// A count that could not be written ends by itself; the call it is about goes
/// on.
fn noted<T>(counted: Result<T, StorageError>) -> Option<T> {
    counted.inspect_err(|error| tracing::warn!(%error, "an open call is not counted")).ok()
}

#[cfg(test)]
mod tests;
