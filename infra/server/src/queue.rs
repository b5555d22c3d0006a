//! The queue in this process: a timer for each message. Messages are lost when the process ends, as
//! in any queue; the sweep queues them again.
//!
//! Like the queue of a deployment, it is fair: users and their profiles with messages take turns,
//! and each has a limit of concurrent deliveries.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use cloud::queue::{DeliveryMessage, Outgoing, Queue, QueueError};
use domain::clock::Clock;
use domain::delivery::DeliveryIds;
use domain::id::{ProfileId, UserId};
use platforms::{Publish, Registry};
use publishing::Publishing;
use tokio::sync::Notify;

/// Includes deliveries that wait for their due second.
const CONCURRENCY: usize = 2_000;

const OF_ONE_USER: usize = CONCURRENCY / 4;

/// The other deliveries are left to the user's other profiles.
const OF_ONE_PROFILE: usize = OF_ONE_USER * 3 / 5;

/// The wait after an error.
const BROUGHT_AGAIN_AFTER: Duration = Duration::from_secs(10);

pub(crate) struct LocalQueue {
    lanes: Arc<Lanes>,
    clock: Clock,
}

impl LocalQueue {
    pub(crate) fn new(clock: Clock) -> Arc<Self> {
        Arc::new(Self { lanes: Arc::new(Lanes::new(CONCURRENCY, OF_ONE_USER, OF_ONE_PROFILE)), clock })
    }

    pub(crate) fn lanes(&self) -> Arc<Lanes> {
        Arc::clone(&self.lanes)
    }
}

#[async_trait]
impl Queue for LocalQueue {
    async fn send(&self, messages: &[Outgoing]) -> Result<(), QueueError> {
        for outgoing in messages {
            let (lanes, message) = (Arc::clone(&self.lanes), outgoing.message);
            let delay_s = outgoing.delay_s(self.clock.now());
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_secs(delay_s.into())).await;
                lanes.put(message);
            });
        }
        Ok(())
    }
}

/// The user's own, or those of one profile.
type Lane = (UserId, Option<ProfileId>);

pub(crate) struct Lanes {
    state: Mutex<QueueState>,
    /// A message arrived, or a delivery ended.
    changed: Notify,
    places: usize,
    max_per_user: usize,
    max_per_profile: usize,
}

#[derive(Default)]
struct QueueState {
    waiting: HashMap<Lane, VecDeque<DeliveryMessage>>,
    /// The lanes with waiting messages, in the order of their turns.
    turns: VecDeque<Lane>,
    /// For each profile, and for each user with all profiles (`None`).
    under_way: HashMap<Lane, usize>,
    all_under_way: usize,
    is_closed: bool,
}

impl Lanes {
    fn new(places: usize, max_per_user: usize, max_per_profile: usize) -> Self {
        Self { state: Mutex::default(), changed: Notify::new(), places, max_per_user, max_per_profile }
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn close(&self) {
        self.state().is_closed = true;
    }

    pub(crate) fn sizes(&self) -> (usize, usize) {
        let state = self.state();
        (state.waiting.values().map(VecDeque::len).sum(), state.all_under_way)
    }

    fn put(&self, message: DeliveryMessage) {
        let mut state = self.state();
        let lane = (message.ids.user_id, message.ids.profile_id);
        let queue = state.waiting.entry(lane).or_default();
        queue.push_back(message);
        if queue.len() == 1 {
            state.turns.push_back(lane);
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Skips users and profiles at their limits.
    fn take(&self) -> Option<DeliveryMessage> {
        let mut state = self.state();
        if state.is_closed || self.places <= state.all_under_way {
            return None;
        }
        let is_below = |lane: Lane, max: usize| state.under_way.get(&lane).is_none_or(|it| *it < max);
        let has_capacity = |lane: &Lane| {
            is_below((lane.0, None), self.max_per_user) && (lane.1.is_none() || is_below(*lane, self.max_per_profile))
        };
        let turn = state.turns.iter().position(has_capacity)?;
        let lane = state.turns.remove(turn)?;
        let queue = state.waiting.get_mut(&lane)?;
        let message = queue.pop_front()?;
        if queue.is_empty() {
            state.waiting.remove(&lane);
        } else {
            state.turns.push_back(lane);
        }
        for counted in counted(message.ids) {
            *state.under_way.entry(counted).or_default() += 1;
        }
        state.all_under_way += 1;
        Some(message)
    }

    async fn next(&self) -> DeliveryMessage {
        loop {
            let changed = self.changed.notified();
            if let Some(message) = self.take() {
                return message;
            }
            changed.await;
        }
    }

    fn end(&self, ids: DeliveryIds) {
        let mut state = self.state();
        state.all_under_way -= 1;
        for counted in counted(ids) {
            if let Some(count) = state.under_way.get_mut(&counted) {
                *count -= 1;
                if *count == 0 {
                    state.under_way.remove(&counted);
                }
            }
        }
        drop(state);
        self.changed.notify_one();
    }
}

/// A delivery counts for its user and its profile.
fn counted(ids: DeliveryIds) -> impl Iterator<Item = Lane> {
    let of_profile = ids.profile_id.map(|it| (ids.user_id, Some(it)));
    [(ids.user_id, None)].into_iter().chain(of_profile)
}

/// Released even when the delivery panics.
struct Slot {
    lanes: Arc<Lanes>,
    ids: DeliveryIds,
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.lanes.end(self.ids);
    }
}

/// Runs until the process ends.
pub(crate) async fn work(publishing: Publishing, platforms: Registry<dyn Publish>, queues: Arc<Lanes>) {
    loop {
        let message = queues.next().await;
        let slot = Slot { lanes: Arc::clone(&queues), ids: message.ids };
        let (publishing, platforms) = (publishing.clone(), platforms.clone());
        tokio::spawn(async move {
            if let Err(error) = publishing.deliver(&platforms, message).await {
                tracing::warn!(%error, post_id = %message.ids.post_id, "a delivery failed and is tried again");
                drop(slot);
                tokio::time::sleep(BROUGHT_AGAIN_AFTER).await;
                if let Err(error) = publishing.deliver(&platforms, message).await {
                    tracing::error!(%error, post_id = %message.ids.post_id, "a delivery failed, and the sweep continues it");
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use domain::testing::a_delivery;

    use super::*;

    fn ids(user: u64, profile: Option<u64>) -> DeliveryIds {
        let profile_id = profile.and_then(ProfileId::new);
        DeliveryIds { user_id: UserId::new(user).unwrap(), profile_id, ..a_delivery().ids() }
    }

    fn message(ids: DeliveryIds, revision: u64) -> DeliveryMessage {
        DeliveryMessage { ids, revision, ..DeliveryMessage::for_delivery(&a_delivery()) }
    }

    fn taken(lanes: &Lanes) -> Vec<(u64, u64)> {
        std::iter::from_fn(|| lanes.take()).map(|it| (it.ids.user_id.get(), it.revision)).collect()
    }

    #[test]
    fn users_take_turns_within_their_share() {
        let lanes = Lanes::new(8, 4, 3);
        for revision in 1..=100 {
            lanes.put(message(ids(1, None), revision));
        }
        assert_eq!(taken(&lanes), [(1, 1), (1, 2), (1, 3), (1, 4)]);

        for revision in 1..=2 {
            lanes.put(message(ids(2, None), revision));
            lanes.put(message(ids(3, None), revision));
        }
        assert_eq!(taken(&lanes), [(2, 1), (3, 1), (2, 2), (3, 2)]);
        lanes.end(ids(3, None));
        assert_eq!(taken(&lanes), [], "the first user has its share");
        lanes.end(ids(1, None));
        assert_eq!(taken(&lanes), [(1, 5)]);
        lanes.close();
        lanes.end(ids(1, None));
        assert_eq!((taken(&lanes), lanes.sizes()), (vec![], (95, 6)));
    }

    #[test]
    fn profile_with_many_messages_leaves_places_to_others_of_its_user() {
        let lanes = Lanes::new(100, 5, 3);
        for revision in 1..=100 {
            lanes.put(message(ids(1, Some(7)), revision));
        }
        assert_eq!(taken(&lanes), [(1, 1), (1, 2), (1, 3)]);

        for profile in 8..=10 {
            lanes.put(message(ids(1, Some(profile)), profile));
        }
        assert_eq!(taken(&lanes), [(1, 8), (1, 9)], "the user has its share");
        lanes.end(ids(1, Some(8)));
        assert_eq!(taken(&lanes), [(1, 10)]);
        lanes.end(ids(1, Some(7)));
        assert_eq!(taken(&lanes), [(1, 4)]);
    }

    #[tokio::test]
    async fn released_slot_admits_the_next_message() {
        let lanes = Arc::new(Lanes::new(1, 1, 1));
        lanes.put(message(ids(1, None), 1));
        lanes.put(message(ids(2, None), 1));
        let place = Slot { ids: lanes.next().await.ids, lanes: Arc::clone(&lanes) };
        let next = tokio::spawn({
            let lanes = Arc::clone(&lanes);
            async move { lanes.next().await }
        });
        tokio::task::yield_now().await;
        drop(place);

        assert_eq!(next.await.unwrap().ids.user_id, UserId::new(2).unwrap());
    }
}
