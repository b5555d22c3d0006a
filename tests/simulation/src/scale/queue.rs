//! The messages on the queue, and the pollers that receive them.

use std::collections::VecDeque;

use super::agenda::Message;
use super::limits::{
    NOISY_FROM, NOISY_SHARE, POLLER_INVOCATIONS, PROVISIONED_MOST, PROVISIONED_PER_MINUTE, STANDARD_MOST,
    STANDARD_PER_MINUTE, STANDARD_START,
};
use super::posts::Post;
use super::time::seconds;
use super::{EventSource, Ms, Setting};

/// Messages of one invocation.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) messages: Vec<Message>,
    /// When the first message was received.
    pub(super) received: Ms,
    /// Distinguishes the batches that used this slot one after the other.
    pub(super) number: u32,
    pub(super) is_open: bool,
    /// Number of deliveries in progress.
    pub(super) left: u32,
    /// The users whose messages will be deleted.
    pub(super) done: Vec<u32>,
    /// Number of roll-ups in progress in the batch's environment.
    pub(super) telling: u32,
    /// Deliveries that wait to roll up their posts.
    pub(super) to_tell: VecDeque<u32>,
}

/// The queue, and the scaling of the event source.
#[derive(Default)]
pub(super) struct Queue {
    /// Messages that can be received.
    pub(super) backlog: VecDeque<Message>,
    /// Messages of noisy users, which are received when there are no others.
    set_aside: VecDeque<Message>,
    /// Number of messages in flight, by user.
    in_flight_of: Vec<u32>,
    pub(super) batches: Vec<Batch>,
    pub(super) free: Vec<u32>,
    /// Batches that are being collected.
    pub(super) open: VecDeque<u32>,
    /// Number of batches that are being collected or invoked.
    pub(super) busy: u32,
    pub(super) warm: u32,
    pub(super) environments: u32,
    pub(super) in_flight: u32,
    pub(super) most_in_flight: u32,
    pub(super) most_busy: u32,
    /// When the first message could be received.
    pub(super) since: Option<Ms>,
    /// Number of receive calls that are available now.
    pub(super) calls: f64,
    pub(super) calls_at: Option<Ms>,
    /// The time of the next receive on the agenda.
    pub(super) receive_at: Option<Ms>,
    pub(super) invocations: u32,
}

impl Queue {
    pub(super) fn new(setting: &Setting) -> Self {
        let warm = match setting.source {
            EventSource::Ready { .. } => setting.environments,
            EventSource::Standard | EventSource::Provisioned { .. } => 0,
        };
        let in_flight_of = vec![0; setting.users as usize];
        Self { warm, environments: warm, in_flight_of, ..Self::default() }
    }

    /// Whether there is no message to receive.
    pub(super) fn is_empty(&self) -> bool {
        self.backlog.is_empty() && self.set_aside.is_empty()
    }

    /// Receives the next message; a fair queue prefers messages of users with few in flight.
    pub(super) fn receive(&mut self, is_fair: bool, posts: &[Post]) -> Option<Message> {
        let user = |it: Message| posts[it.post as usize].keys.user as usize;
        let message = loop {
            let Some(message) = self.backlog.pop_front() else { break self.set_aside.pop_front()? };
            if !is_fair || !self.is_noisy(user(message)) {
                break message;
            }
            self.set_aside.push_back(message);
        };
        self.in_flight += 1;
        self.in_flight_of[user(message)] += 1;
        Some(message)
    }

    fn is_noisy(&self, user: usize) -> bool {
        let in_flight = self.in_flight_of[user];
        NOISY_FROM <= in_flight && f64::from(self.in_flight) * NOISY_SHARE < f64::from(in_flight)
    }

    /// Records that a message of this user was deleted, or can be received again.
    pub(super) fn no_longer_in_flight(&mut self, user: u32) {
        self.in_flight -= 1;
        self.in_flight_of[user as usize] -= 1;
    }

    /// The current limit of concurrent invocations.
    fn capacity(&self, setting: &Setting, now: Ms) -> f64 {
        let minutes = seconds(now - self.since.unwrap_or(now)) / 60.0;
        match setting.source {
            EventSource::Ready { pollers } => f64::from(pollers) * POLLER_INVOCATIONS,
            EventSource::Standard => (STANDARD_START + STANDARD_PER_MINUTE * minutes).min(STANDARD_MOST),
            EventSource::Provisioned { pollers } => {
                let start = f64::from(pollers) * POLLER_INVOCATIONS;
                (start + PROVISIONED_PER_MINUTE * minutes).min(PROVISIONED_MOST)
            }
        }
    }

    /// Number of pollers that collect batches concurrently. In standard mode, this is the limit of
    /// invocations.
    pub(super) fn pollers(&self, setting: &Setting, now: Ms) -> f64 {
        match setting.source {
            EventSource::Standard => f64::INFINITY,
            EventSource::Ready { .. } | EventSource::Provisioned { .. } => {
                (self.capacity(setting, now) / POLLER_INVOCATIONS).floor()
            }
        }
    }

    /// Whether the limit allows one more invocation.
    pub(super) fn has_room(&self, setting: &Setting, now: Ms) -> bool {
        self.busy < setting.environments && f64::from(self.busy) + 1.0 <= self.capacity(setting, now)
    }

    pub(super) fn new_batch(&mut self, now: Ms) -> u32 {
        let batch_id = self.free.pop().unwrap_or_else(|| {
            self.batches.push(Batch::default());
            u32::try_from(self.batches.len() - 1).unwrap_or(u32::MAX)
        });
        let batch = &mut self.batches[batch_id as usize];
        (batch.received, batch.is_open, batch.left) = (now, true, 0);
        batch.number += 1;
        self.open.push_back(batch_id);
        self.busy += 1;
        self.most_busy = self.most_busy.max(self.busy);
        batch_id
    }
}
