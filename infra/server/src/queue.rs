//! The queue in this process: a timer for each message. Messages are lost when the process ends, as
//! in any queue; the sweep queues them again.
//!
//! Like the queue of a deployment, it is fair: users with messages take turns, and each has a limit of
//! concurrent deliveries.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use cloud::queue::{DeliveryMessage, Outgoing, Queue, QueueError};
use domain::clock::Clock;
use domain::id::UserId;
use platforms::{Publish, Registry};
use publishing::Publishing;
use tokio::sync::Notify;

/// Concurrent deliveries, including deliveries that wait for their due second.
const CONCURRENCY: usize = 2_000;

/// Concurrent deliveries of one user.
const OF_ONE_USER: usize = CONCURRENCY / 4;

/// Delay before a message is received again after an error.
const BROUGHT_AGAIN_AFTER: Duration = Duration::from_secs(10);

/// A queue with timers for delays.
pub(crate) struct LocalQueue {
    lanes: Arc<UserQueues>,
    clock: Clock,
}

impl LocalQueue {
    /// An empty queue.
    pub(crate) fn new(clock: Clock) -> Arc<Self> {
        Arc::new(Self { lanes: Arc::new(UserQueues::new(CONCURRENCY, OF_ONE_USER)), clock })
    }

    pub(crate) fn lanes(&self) -> Arc<UserQueues> {
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

/// Messages that are due, by user.
pub(crate) struct UserQueues {
    state: Mutex<QueueState>,
    /// A message arrived, or a delivery ended.
    changed: Notify,
    places: usize,
    max_per_user: usize,
}

#[derive(Default)]
struct QueueState {
    waiting: HashMap<UserId, VecDeque<DeliveryMessage>>,
    /// The users with waiting messages, in the order of their turns.
    turns: VecDeque<UserId>,
    under_way: HashMap<UserId, usize>,
    all_under_way: usize,
    is_closed: bool,
}

impl UserQueues {
    fn new(places: usize, of_one_user: usize) -> Self {
        Self { state: Mutex::default(), changed: Notify::new(), places, max_per_user: of_one_user }
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Messages stay in the queue from now on.
    pub(crate) fn close(&self) {
        self.state().is_closed = true;
    }

    /// The number of messages that wait, and of those in progress.
    pub(crate) fn sizes(&self) -> (usize, usize) {
        let state = self.state();
        (state.waiting.values().map(VecDeque::len).sum(), state.all_under_way)
    }

    fn put(&self, message: DeliveryMessage) {
        let mut state = self.state();
        let queue = state.waiting.entry(message.user_id).or_default();
        queue.push_back(message);
        if queue.len() == 1 {
            state.turns.push_back(message.user_id);
        }
        drop(state);
        self.changed.notify_one();
    }

    /// The next message whose user is below the limit.
    fn take(&self) -> Option<DeliveryMessage> {
        let mut state = self.state();
        if state.is_closed || self.places <= state.all_under_way {
            return None;
        }
        let has_capacity = |user: &UserId| state.under_way.get(user).is_none_or(|it| *it < self.max_per_user);
        let turn = state.turns.iter().position(has_capacity)?;
        let user = state.turns.remove(turn)?;
        let queue = state.waiting.get_mut(&user)?;
        let message = queue.pop_front()?;
        if queue.is_empty() {
            state.waiting.remove(&user);
        } else {
            state.turns.push_back(user);
        }
        *state.under_way.entry(user).or_default() += 1;
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

    fn end(&self, user: UserId) {
        let mut state = self.state();
        state.all_under_way -= 1;
        if let Some(count) = state.under_way.get_mut(&user) {
            *count -= 1;
            if *count == 0 {
                state.under_way.remove(&user);
            }
        }
        drop(state);
        self.changed.notify_one();
    }
}

/// A slot of a message, released even when its delivery panics.
struct Slot {
    lanes: Arc<UserQueues>,
    user: UserId,
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.lanes.end(self.user);
    }
}

/// Runs the delivery of each message until the process ends.
pub(crate) async fn work(publishing: Publishing, platforms: Registry<dyn Publish>, queues: Arc<UserQueues>) {
    loop {
        let message = queues.next().await;
        let slot = Slot { lanes: Arc::clone(&queues), user: message.user_id };
        let (publishing, platforms) = (publishing.clone(), platforms.clone());
        tokio::spawn(async move {
            if let Err(error) = publishing.deliver(&platforms, message).await {
                tracing::warn!(%error, post_id = %message.post_id, "a delivery failed and is tried again");
                drop(slot);
                tokio::time::sleep(BROUGHT_AGAIN_AFTER).await;
                if let Err(error) = publishing.deliver(&platforms, message).await {
                    tracing::error!(%error, post_id = %message.post_id, "a delivery failed, and the sweep continues it");
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use domain::testing::a_delivery;

    use super::*;

    fn message(user: u64, revision: u64) -> DeliveryMessage {
        let user_id = UserId::new(user).unwrap();
        DeliveryMessage { user_id, revision, ..DeliveryMessage::for_delivery(&a_delivery()) }
    }

    fn taken(lanes: &UserQueues) -> Vec<(u64, u64)> {
        std::iter::from_fn(|| lanes.take()).map(|it| (it.user_id.get(), it.revision)).collect()
    }

    #[test]
    fn users_take_turns_within_their_share() {
        let lanes = UserQueues::new(8, 4);
        for revision in 1..=100 {
            lanes.put(message(1, revision));
        }
        assert_eq!(taken(&lanes), [(1, 1), (1, 2), (1, 3), (1, 4)]);

        for revision in 1..=2 {
            lanes.put(message(2, revision));
            lanes.put(message(3, revision));
        }
        assert_eq!(taken(&lanes), [(2, 1), (3, 1), (2, 2), (3, 2)]);
        lanes.end(UserId::new(3).unwrap());
        assert_eq!(taken(&lanes), [], "the first user has its share");
        lanes.end(UserId::new(1).unwrap());
        assert_eq!(taken(&lanes), [(1, 5)]);
        lanes.close();
        lanes.end(UserId::new(1).unwrap());
        assert_eq!((taken(&lanes), lanes.sizes()), (vec![], (95, 6)));
    }

    #[tokio::test]
    async fn released_slot_admits_the_next_message() {
        let lanes = Arc::new(UserQueues::new(1, 1));
        lanes.put(message(1, 1));
        lanes.put(message(2, 1));
        let place = Slot { user: lanes.next().await.user_id, lanes: Arc::clone(&lanes) };
        let next = tokio::spawn({
            let lanes = Arc::clone(&lanes);
            async move { lanes.next().await }
        });
        tokio::task::yield_now().await;
        drop(place);

        assert_eq!(next.await.unwrap().user_id, UserId::new(2).unwrap());
    }
}
