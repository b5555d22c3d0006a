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
use domain::delivery::LEASE;
use domain::token::random_u64;
use storage::{CallsOf, OpenCalls, StorageError, Store};

use crate::Publishing;
use crate::waiting::sleep_until;

/// A call that takes longer is slow: its place is not expected back soon.
const SLOW: TimeDelta = TimeDelta::seconds(1);

/// A call that takes longer is counted although nobody asked for a place. Hardly
/// any does, and the two writes are spared for all others.
const COUNTED_AFTER: Duration = Duration::from_secs(3);

/// How long a delivery waits for a place that calls which are not slow will give
/// back, and that others wait for too.
const WAITS_FOR_A_PLACE: TimeDelta = TimeDelta::seconds(3);

/// A call to a host that takes longer is a strike against it. The time-outs of
/// adapters are longer, or a little shorter for what need not be waited for.
const TOO_SLOW: TimeDelta = TimeDelta::seconds(10);

/// After so many strikes in a row, a host is called by one environment at a
/// time, and for no longer than this, until it answers in time or is left alone
/// for as long as [`STRUCK_FOR`].
const STRIKES: u32 = 3;
const STRUCK_WITHIN: Duration = Duration::from_secs(10);
const STRUCK_FOR: TimeDelta = TimeDelta::minutes(5);

/// The environments of a deployment, and the share of them that one user or one
/// host may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// How many batches of deliveries are made at the same time.
    pub environments: u32,
}

impl Default for Share {
    /// As `DeliveryConcurrency` in `template.yaml`.
    fn default() -> Self {
        Self { environments: 20 }
    }
}

impl Share {
    /// How many environments may hold a place: a quarter.
    pub fn places(self) -> usize {
        usize::try_from(self.environments / 4).unwrap_or(usize::MAX).max(1)
    }

    /// How many deliveries of one user and second need not ask for a place. Until
    /// they are known to be slow, this many more may be begun each second.
    pub fn unasked(self) -> u32 {
        (self.environments / 20).max(1)
    }
}

/// The places that this process holds.
#[derive(Clone, Debug)]
pub struct Places {
    environment: Arc<str>,
    held: Arc<Mutex<HashMap<CallsOf, Arc<Held>>>>,
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
struct Place {
    places: Places,
    of: CallsOf,
    held: Arc<Held>,
    is_counted: bool,
}

impl Default for Places {
    fn default() -> Self {
        Self { environment: format!("{:016x}", random_u64()).into(), held: Arc::default() }
    }
}

impl Places {
    /// A share that is not counted yet.
    fn share(&self, of: &CallsOf) -> Place {
        let held = Arc::clone(self.all().entry(of.clone()).or_default());
        Place { places: self.clone(), of: of.clone(), held, is_counted: false }
    }

    /// Takes a place, or shares that of this process.
    async fn take(
        &self,
        store: &Store,
        of: &CallsOf,
        open: &OpenCalls,
        now: DateTime<Utc>,
    ) -> Result<Option<Place>, StorageError> {
        let mut place = self.share(of);
        let held = Arc::clone(&place.held);
        let mut until = held.until.lock().await;
        let is_held = 0 < held.calls.load(Ordering::SeqCst) && now < *until;
        if !is_held && !store.take_place(of, open, &self.environment, now, random_u64()).await?.is_won() {
            return Ok(None);
        }
        if !is_held {
            // A call that shares it from now on ends before the place does.
            *until = now + LEASE / 4;
        }
        place.count();
        Ok(Some(place))
    }

    /// Counts a call that turned out to be slow.
    async fn add(&self, store: &Store, of: &CallsOf, began: DateTime<Utc>) -> Result<Place, StorageError> {
        let mut place = self.share(of);
        let held = Arc::clone(&place.held);
        let mut until = held.until.lock().await;
        if held.calls.load(Ordering::SeqCst) == 0 {
            store.add_place(of, &self.environment, began, random_u64()).await?;
            *until = began + LEASE / 4;
        }
        place.count();
        Ok(place)
    }

    fn all(&self) -> MutexGuard<'_, HashMap<CallsOf, Arc<Held>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    fn count(&mut self) {
        self.held.calls.fetch_add(1, Ordering::SeqCst);
        self.is_counted = true;
    }

    /// Whether it was the last share.
    fn uncount(&mut self) -> bool {
        std::mem::take(&mut self.is_counted) && self.held.calls.fetch_sub(1, Ordering::SeqCst) == 1
    }

    /// The last share gives the place back.
    async fn give_back(mut self, store: &Store) -> Result<(), StorageError> {
        let held = Arc::clone(&self.held);
        let _until = held.until.lock().await;
        if self.uncount() {
            store.give_back_place(&self.of, &self.places.environment).await?;
        }
        Ok(())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.uncount();
        let mut all = self.places.all();
        // One is here and one in the map: nobody else has a share.
        if Arc::strong_count(&self.held) == 2 {
            all.remove(&self.of);
        }
    }
}

/// Leave to make a call.
#[derive(Debug)]
pub struct Leave {
    of: CallsOf,
    place: Option<Place>,
}

/// Leave to call a host that users named; nothing is asked for one that stands
/// in the code or in the settings.
#[derive(Debug, Default)]
pub(crate) struct HostLeave(Option<Named>);

#[derive(Debug)]
struct Named {
    leave: Leave,
    /// How long it may take, where it was too slow before.
    within: Option<Duration>,
    has_strikes: bool,
}

/// Limits the calls that the environments of a function make at the same time.
#[derive(Clone, Copy, Debug)]
pub struct ConcurrencyLimiter<'a> {
    /// Where open calls are counted.
    pub store: &'a Store,
    /// The time.
    pub clock: &'a Clock,
    /// The places that this process holds.
    pub places: &'a Places,
}

impl ConcurrencyLimiter<'_> {
    /// Leave to make a call; `None` when `most` environments hold a place already. A call that
    /// does not come in a crowd takes a place only when it turns out to be slow.
    pub async fn leave(
        &self,
        of: CallsOf,
        open: OpenCalls,
        most: usize,
        in_a_crowd: bool,
    ) -> Result<Option<Leave>, StorageError> {
        let mut open = open;
        let mut looks = Backoff::until(self.clock.now() + WAITS_FOR_A_PLACE);
        loop {
            let now = self.clock.now();
            if open.others(&self.places.environment, now) < most {
                if !in_a_crowd {
                    return Ok(Some(Leave { of, place: None }));
                }
                if let Some(place) = self.places.take(self.store, &of, &open, now).await? {
                    return Ok(Some(Leave { of, place: Some(place) }));
                }
            } else if open.are_older_than(SLOW, now) {
                return Ok(None);
            }
            let Some(again_at) = looks.next(now) else { return Ok(None) };
            sleep_until(self.clock, again_at).await;
            open = self.store.open_calls(&of).await?;
        }
    }

    /// Leave to make the only call that is open; `None` while another one is. Unlike the others
    /// it is not shared by the calls of an environment.
    pub async fn leave_alone(&self, of: CallsOf, open: &OpenCalls) -> Result<Option<Leave>, StorageError> {
        let (alone, now) = (Places::default(), self.clock.now());
        if 0 < open.others(&alone.environment, now) {
            return Ok(None);
        }
        let place = alone.take(self.store, &of, open, now).await?;
        Ok(place.map(|place| Leave { of, place: Some(place) }))
    }

    /// Makes a call with leave, and counts it once it is slow.
    pub async fn counted<T>(&self, leave: Leave, call: impl Future<Output = T>) -> T {
        let began = self.clock.now();
        let Leave { of, mut place } = leave;
        let mut call = std::pin::pin!(call);
        if place.is_none()
            && let Ok(ended) = tokio::time::timeout(COUNTED_AFTER, &mut call).await
        {
            return ended;
        }
        let ended = if place.is_some() {
            call.await
        } else {
            let (ended, added) = futures::join!(call, self.places.add(self.store, &of, began));
            place = noted(added);
            ended
        };
        self.return_place(place).await;
        ended
    }

    /// No call is made after all.
    pub async fn no_call(&self, leave: Leave) {
        self.return_place(leave.place).await;
    }

    async fn return_place(&self, place: Option<Place>) {
        if let Some(place) = place {
            noted(place.give_back(self.store).await);
        }
    }
}

impl Publishing {
    /// The limiter of the calls that deliveries make.
    pub(crate) fn limiter(&self) -> ConcurrencyLimiter<'_> {
        ConcurrencyLimiter { store: &self.store, clock: &self.clock, places: &self.places }
    }

    /// Whether no place will be free soon for what is delivered to this user.
    pub(crate) fn is_crowded_out(&self, open: &OpenCalls) -> bool {
        let now = self.clock.now();
        self.share.places() <= open.others(&self.places.environment, now) && open.are_older_than(SLOW, now)
    }

    /// Leave to call a host that users named.
    pub(crate) async fn leave_for_host(&self, host: Option<String>) -> Result<Option<HostLeave>, StorageError> {
        let Some(host) = host else { return Ok(Some(HostLeave::default())) };
        let of = CallsOf::host(&host);
        let open = self.store.open_calls(&of).await?;
        let now = self.clock.now();
        let is_struck = STRIKES <= open.strikes && open.struck_at.is_some_and(|it| now < it + STRUCK_FOR);
        let most = if is_struck { 1 } else { self.share.places() };
        let has_strikes = 0 < open.strikes;
        let leave = self.limiter().leave(of, open, most, is_struck).await?;
        let within = is_struck.then_some(STRUCK_WITHIN);
        Ok(leave.map(|leave| HostLeave(Some(Named { leave, within, has_strikes }))))
    }

    /// Makes a call to a host with leave; `None` when it took too long and was cut
    /// off. One that took too long is a strike, if it `counts` as one.
    pub(crate) async fn within<T>(
        &self,
        host: HostLeave,
        call: impl Future<Output = T>,
        counts: impl FnOnce(&T) -> bool,
    ) -> Option<T> {
        let HostLeave(Some(Named { leave, within, has_strikes })) = host else { return Some(call.await) };
        let (of, began) = (leave.of.clone(), self.clock.now());
        let timed = async {
            let ended = match within {
                Some(within) => tokio::time::timeout(within, call).await.ok(),
                None => Some(call.await),
            };
            (ended, self.clock.now())
        };
        let (ended, ended_at) = self.limiter().counted(leave, timed).await;
        if began + TOO_SLOW <= ended_at {
            if ended.as_ref().is_none_or(counts) {
                noted(self.store.strike(&of, ended_at).await);
            }
        } else if has_strikes {
            noted(self.store.forget_strikes(&of).await);
        }
        ended
    }

    /// No call is made after all.
    pub(crate) async fn no_call(&self, host: HostLeave) {
        if let Some(named) = host.0 {
            self.limiter().no_call(named.leave).await;
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
