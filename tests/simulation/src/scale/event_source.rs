//! The event source: collects batches of messages, and invokes the function with them.

use super::agenda::{Event, Message};
use super::limits::{COLD_START_MS, INVOKE_MS, MAX_DELAY_S, MAX_IN_FLIGHT, POLLER_CALLS_PER_S, RECEIVE_BATCH};
use super::scale_run::ScaleRun;
use super::time::seconds;
use super::{EventSource, Ms};

/// Interval at which the model checks whether the event source may have scaled up.
const GROWTH_MS: Ms = 200;

impl ScaleRun<'_> {
    /// A call that begins at `begun` puts a message on the queue at `sent`. The message becomes
    /// visible shortly before `for_when`, like `Outgoing::delay_s` in `libs/cloud/src/queue.rs`.
    pub(super) fn send(&mut self, message: Message, for_when: Ms, begun: Ms, sent: Ms) {
        self.tally.messages += 1;
        let delay_s = ((for_when - begun) / 1_000 - self.setting.early_s).clamp(0, MAX_DELAY_S);
        let jitter = self.chance.delay_jitter();
        self.agenda.put(sent + delay_s * 1_000 + jitter, Event::Visible(message));
    }

    pub(super) fn visible(&mut self, message: Message) {
        if message.returned {
            let user = self.posts[message.post as usize].keys.user;
            self.queue.no_longer_in_flight(user);
        }
        if self.setting.receives <= message.receives {
            self.tally.put_aside += 1;
        } else {
            self.queue.backlog.push_back(Message { returned: false, ..message });
            self.queue.since.get_or_insert(self.now);
        }
        self.receive();
    }

    pub(super) fn receive_again(&mut self) {
        self.queue.receive_at = None;
        self.receive();
    }

    /// Receives messages while there are messages, pollers that can collect them, and receive calls
    /// left.
    fn receive(&mut self) {
        let (setting, now) = (self.setting, self.now);
        let pollers = self.queue.pollers(setting, now);
        if pollers.is_finite() {
            let a_second = pollers * POLLER_CALLS_PER_S;
            let since = seconds(now - self.queue.calls_at.unwrap_or(Ms::MIN / 2));
            self.queue.calls = (self.queue.calls + since * a_second).min(pollers);
            self.queue.calls_at = Some(now);
        }
        while !self.queue.is_empty() && self.queue.in_flight < MAX_IN_FLIGHT {
            if pollers.is_finite() && self.queue.calls < 1.0 {
                return self.receive_at(now + 1);
            }
            let Some(batch) = self.open_batch(pollers) else {
                if matches!(setting.source, EventSource::Ready { .. }) {
                    return;
                }
                return self.receive_at(now + GROWTH_MS);
            };
            self.queue.calls -= 1.0;
            self.receive_into(batch);
        }
    }

    fn receive_at(&mut self, at: Ms) {
        if self.queue.receive_at.is_none_or(|it| at < it) {
            self.queue.receive_at = Some(at);
            self.agenda.put(at, Event::Receive);
        }
    }

    /// A free poller starts a new batch; without a free poller, messages are added to the open
    /// batches in turn.
    fn open_batch(&mut self, pollers: f64) -> Option<u32> {
        let open = f64::from(u32::try_from(self.queue.open.len()).unwrap_or(u32::MAX));
        if open < pollers && self.queue.has_room(self.setting, self.now) {
            let batch = self.queue.new_batch(self.now);
            let number = self.queue.batches[batch as usize].number;
            self.agenda.put(self.now + self.setting.window_ms(), Event::WindowEnds { batch, number });
            return Some(batch);
        }
        self.queue.open.rotate_left(usize::from(!self.queue.open.is_empty()));
        self.queue.open.back().copied()
    }

    fn receive_into(&mut self, batch_id: u32) {
        let queue = &mut self.queue;
        let free = self.setting.batch as usize - queue.batches[batch_id as usize].messages.len();
        let most = RECEIVE_BATCH.min(MAX_IN_FLIGHT - queue.in_flight);
        for _ in 0..free.min(most as usize) {
            let Some(message) = queue.receive(self.setting.fair_queue, &self.posts) else { break };
            queue.batches[batch_id as usize].messages.push(Message { receives: message.receives + 1, ..message });
        }
        queue.most_in_flight = queue.most_in_flight.max(queue.in_flight);
        if queue.batches[batch_id as usize].messages.len() == self.setting.batch as usize {
            self.close(batch_id);
        }
    }

    pub(super) fn window_ends(&mut self, batch_id: u32, number: u32) {
        let batch = &self.queue.batches[batch_id as usize];
        if batch.is_open && batch.number == number {
            self.close(batch_id);
        }
    }

    fn close(&mut self, batch_id: u32) {
        let queue = &mut self.queue;
        queue.batches[batch_id as usize].is_open = false;
        queue.open.retain(|it| *it != batch_id);
        queue.invocations += 1;
        let start = if queue.warm == 0 {
            queue.environments += 1;
            COLD_START_MS
        } else {
            queue.warm -= 1;
            0
        };
        self.agenda.put(self.now + INVOKE_MS + start, Event::Begin { batch: batch_id });
    }

    /// Starts all deliveries of a batch concurrently.
    pub(super) fn begin(&mut self, batch_id: u32) {
        let batch = &mut self.queue.batches[batch_id as usize];
        let messages = std::mem::take(&mut batch.messages);
        batch.left = u32::try_from(messages.len()).unwrap_or(u32::MAX);
        for message in messages {
            self.begin_delivery(message, batch_id);
        }
    }

    /// Ends a delivery of a batch. The last one frees the environment.
    pub(super) fn end_delivery(&mut self, batch_id: u32, message: Message, is_done: bool) {
        let queue = &mut self.queue;
        let batch = &mut queue.batches[batch_id as usize];
        batch.left -= 1;
        if is_done {
            batch.done.push(self.posts[message.post as usize].keys.user);
        } else {
            let at = batch.received + self.setting.visibility_ms;
            self.agenda.put(at.max(self.now), Event::Visible(Message { returned: true, ..message }));
        }
        if batch.left == 0 {
            for user in std::mem::take(&mut batch.done) {
                queue.no_longer_in_flight(user);
            }
            queue.busy -= 1;
            queue.warm += 1;
            queue.free.push(batch_id);
            self.receive();
        }
    }
}
