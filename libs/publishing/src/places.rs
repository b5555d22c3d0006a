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
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::backoff::Backoff;
use domain::delivery::LEASE;
use domain::token::random_u64;
use storage::{CallsOf, OpenCalls, Store};

use crate::{Publishing, PublishingError};

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
    held: Arc<Mutex<HashMap<CallsOf, Held>>>,
}

/// How many calls share a place of this process, and when it has to be taken
/// anew. Locked while it is taken, so that the others wait for the outcome.
type Held = Arc<tokio::sync::Mutex<(u32, DateTime<Utc>)>>;

impl Default for Places {
    fn default() -> Self {
        Self { environment: format!("{:016x}", random_u64()).into(), held: Arc::default() }
    }
}

impl Places {
    fn of(&self, of: &CallsOf) -> Held {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(held.entry(of.clone()).or_default())
    }

    /// Takes a place, or shares that of this process.
    async fn take(
        &self,
        store: &Store,
        of: &CallsOf,
        open: &OpenCalls,
        now: DateTime<Utc>,
    ) -> Result<bool, PublishingError> {
        let held = self.of(of);
        let mut held = held.lock().await;
        let is_held = 0 < held.0 && now < held.1;
        if !is_held && !store.take_place(of, open, &self.environment, now, random_u64()).await?.is_won() {
            return Ok(false);
        }
        // A call that shares it from now on ends before the place does.
        *held = (held.0 + 1, if is_held { held.1 } else { now + LEASE / 4 });
        Ok(true)
    }

    /// Counts a call that turned out to be slow.
    async fn add(&self, store: &Store, of: &CallsOf, began: DateTime<Utc>) -> Result<(), PublishingError> {
        let held = self.of(of);
        let mut held = held.lock().await;
        if held.0 == 0 {
            store.add_place(of, &self.environment, began, random_u64()).await?;
            held.1 = began + LEASE / 4;
        }
        held.0 += 1;
        Ok(())
    }

    async fn give_back(&self, store: &Store, of: &CallsOf) -> Result<(), PublishingError> {
        let held = self.of(of);
        let mut count = held.lock().await;
        count.0 = count.0.saturating_sub(1);
        if count.0 == 0 {
            store.give_back_place(of, &self.environment).await?;
            let mut all = self.held.lock().unwrap_or_else(PoisonError::into_inner);
            // One is here and one in the map: nobody else waits for it.
            if Arc::strong_count(&held) == 2 {
                all.remove(of);
            }
        }
        Ok(())
    }
}

/// Leave to make a call.
#[derive(Clone, Debug)]
pub(crate) struct Leave {
    of: CallsOf,
    has_place: bool,
}

/// Leave to call a host that users named.
#[derive(Clone, Debug)]
pub(crate) struct HostLeave {
    leave: Leave,
    /// How long it may take, where it was too slow before.
    within: Option<Duration>,
    has_strikes: bool,
}

impl Publishing {
    /// Whether no place will be free soon for what is delivered to this user.
    pub(crate) fn is_crowded_out(&self, open: &OpenCalls) -> bool {
        let now = self.clock.now();
        self.share.places() <= open.others(&self.places.environment, now) && open.are_older_than(SLOW, now)
    }

    /// Leave to make a call; `None` when too many are open. One that comes in a
    /// crowd takes a place first.
    pub(crate) async fn leave(
        &self,
        of: CallsOf,
        open: OpenCalls,
        most: usize,
        in_a_crowd: bool,
    ) -> Result<Option<Leave>, PublishingError> {
        let mut open = open;
        let mut looks = Backoff::until(self.clock.now() + WAITS_FOR_A_PLACE);
        loop {
            let now = self.clock.now();
            if open.others(&self.places.environment, now) < most {
                if !in_a_crowd || self.places.take(&self.store, &of, &open, now).await? {
                    return Ok(Some(Leave { of, has_place: in_a_crowd }));
                }
            } else if open.are_older_than(SLOW, now) {
                return Ok(None);
            }
            let Some(again_at) = looks.next(now) else { return Ok(None) };
            self.sleep_until(again_at).await;
            open = self.store.open_calls(&of).await?;
        }
    }

    /// The same for a host that users named; the inner `None` for one that
    /// stands in the code or in the settings.
    pub(crate) async fn leave_for_host(
        &self,
        host: Option<String>,
    ) -> Result<Option<Option<HostLeave>>, PublishingError> {
        let Some(host) = host else { return Ok(Some(None)) };
        let of = CallsOf::host(&host);
        let open = self.store.open_calls(&of).await?;
        let now = self.clock.now();
        let is_struck = STRIKES <= open.strikes && open.struck_at.is_some_and(|it| now < it + STRUCK_FOR);
        let most = if is_struck { 1 } else { self.share.places() };
        let has_strikes = 0 < open.strikes;
        let leave = self.leave(of, open, most, is_struck).await?;
        let within = is_struck.then_some(STRUCK_WITHIN);
        Ok(leave.map(|leave| Some(HostLeave { leave, within, has_strikes })))
    }

    /// Makes a call with leave, and counts it once it is slow.
    pub(crate) async fn counted<T>(&self, leave: Leave, call: impl Future<Output = T>) -> T {
        let began = self.clock.now();
        let mut call = std::pin::pin!(call);
        let mut has_place = leave.has_place;
        if !has_place && let Ok(ended) = tokio::time::timeout(COUNTED_AFTER, &mut call).await {
            return ended;
        }
        let ended = if has_place {
            call.await
        } else {
            let added = self.places.add(&self.store, &leave.of, began);
            let (ended, added) = futures::join!(call, added);
            has_place = added.is_ok();
            noted(added);
            ended
        };
        if has_place {
            noted(self.places.give_back(&self.store, &leave.of).await);
        }
        ended
    }

    /// The same for a call to a host; `None` when it took too long and was cut
    /// off.
    pub(crate) async fn within<T>(&self, host: Option<HostLeave>, call: impl Future<Output = T>) -> Option<T> {
        let Some(HostLeave { leave, within, has_strikes }) = host else { return Some(call.await) };
        let (of, began) = (leave.of.clone(), self.clock.now());
        let ended = match within {
            Some(within) => self.counted(leave, tokio::time::timeout(within, call)).await.ok(),
            None => Some(self.counted(leave, call).await),
        };
        let now = self.clock.now();
        if began + TOO_SLOW <= now {
            noted(self.store.strike(&of, now).await.map_err(Into::into));
        } else if has_strikes {
            noted(self.store.forget_strikes(&of).await.map_err(Into::into));
        }
        ended
    }
}

/// A count that could not be written ends by itself; the call it is about goes
/// on.
fn noted(counted: Result<(), PublishingError>) {
    if let Err(error) = counted {
        tracing::warn!(%error, "an open call is not counted");
    }
}

#[cfg(test)]
mod tests;
