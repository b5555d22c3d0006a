//! The queue: messages arrive late, twice, out of order, or not at all. A received message is
//! redelivered unless its consumer deletes it. The queue is fair: the messages of the groups with
//! the fewest messages in progress are received first.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use cloud::queue::{DeliveryMessage, Outgoing, Queue, QueueError};
use tokio::sync::Notify;

use crate::faults::FaultProbabilities;
use crate::port::Port;
use crate::world::{InjectedFault, SimulatedWorld, lock};

/// How long a received message stays hidden: `VisibilityTimeout` in `template.yaml`.
const HIDDEN: TimeDelta = TimeDelta::seconds(361);

/// How often a message is received before it goes to the dead-letter queue: `maxReceiveCount` in
/// `template.yaml`.
const MAX_RECEIVES: u32 = 5;

const BATCH: usize = 10;

/// Beyond the requested delay, without any fault.
const JITTER: Duration = Duration::from_secs(1);

const LATE: Duration = Duration::from_mins(1);

#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceivedMessage {
    pub(crate) id: u64,
    pub(crate) message: DeliveryMessage,
    receives: u32,
}

pub(crate) struct SimulatedQueue {
    world: Arc<SimulatedWorld>,
    messages: Mutex<Messages>,
    came: Notify,
}

#[derive(Default)]
struct Messages {
    waiting: BTreeMap<(DateTime<Utc>, u64), ReceivedMessage>,
    /// Received and not deleted, by group.
    in_progress: HashMap<String, usize>,
    last_id: u64,
}

impl SimulatedQueue {
    pub(crate) fn new(world: Arc<SimulatedWorld>) -> Self {
        Self { world, messages: Mutex::default(), came: Notify::new() }
    }

    /// Waits for the next message, then collects more for `window`, and returns up to `most` of
    /// them.
    pub(crate) async fn take(&self, most: usize, window: Duration) -> Vec<ReceivedMessage> {
        loop {
            let next = lock(&self.messages).waiting.keys().next().map(|it| it.0);
            let arrival = self.came.notified();
            match next {
                Some(at) if at <= self.world.now() => {
                    if !window.is_zero() {
                        tokio::time::sleep(window).await;
                    }
                    return self.take_now(most);
                }
                Some(at) => {
                    let left = (at - self.world.now()).to_std().unwrap_or_default();
                    // A message that arrives meanwhile may be due earlier.
                    let _ = tokio::time::timeout(left, arrival).await;
                }
                None => arrival.await,
            }
        }
    }

    fn take_now(&self, most: usize) -> Vec<ReceivedMessage> {
        let now = self.world.now();
        let mut messages = lock(&self.messages);
        let ready = messages.waiting.iter().take_while(|it| it.0.0 <= now);
        let in_progress = |it: &ReceivedMessage| messages.in_progress.get(&it.message.group()).copied();
        let mut ready: Vec<_> = ready.map(|(key, it)| (in_progress(it), *key)).collect();
        ready.sort_unstable();
        ready.truncate(most);
        let mut taken: Vec<_> = ready.iter().filter_map(|it| messages.waiting.remove(&it.1)).collect();
        for it in &mut taken {
            it.receives += 1;
            *messages.in_progress.entry(it.message.group()).or_default() += 1;
            // It is redelivered unless it is deleted by then.
            if it.receives < MAX_RECEIVES {
                messages.waiting.insert((now + HIDDEN, it.id), *it);
            }
        }
        taken
    }

    /// Deleted messages are not redelivered.
    pub(crate) fn delete(&self, done: &[ReceivedMessage]) {
        let mut messages = lock(&self.messages);
        for it in done {
            if let Some(count) = messages.in_progress.get_mut(&it.message.group()) {
                *count -= 1;
            }
        }
        messages.waiting.retain(|_, it| done.iter().all(|done| done.id != it.id));
    }

    pub(crate) fn is_empty(&self) -> bool {
        lock(&self.messages).waiting.is_empty()
    }

    fn put(&self, outgoing: &Outgoing, delay: Duration) {
        let now = self.world.now();
        let delay = TimeDelta::from_std(delay).unwrap_or_default() + TimeDelta::seconds(outgoing.delay_s(now).into());
        let mut messages = lock(&self.messages);
        messages.last_id += 1;
        let id = messages.last_id;
        let taken = ReceivedMessage { id, message: outgoing.message, receives: 0 };
        messages.waiting.insert((now + delay, id), taken);
    }

    /// The message may be lost, duplicated or late.
    fn accept(&self, outgoing: &Outgoing) {
        let world = &self.world;
        let mut copies = 1;
        let mut longest = JITTER;
        if world.happens(world.probabilities.message_fault_probability) {
            world.count_fault();
            match world.dice().u32(0..4) {
                0 => copies = 0,
                1 => copies = 2,
                _ => longest = LATE,
            }
            let what = [("lost", 0), ("sent twice", 2)].iter().find(|it| it.1 == copies).map_or("late", |it| it.0);
            let message = &outgoing.message;
            world.note(format!("message {}/{} is {what}", message.ids.post_id, message.ids.target_id));
        }
        for _ in 0..copies {
            self.put(outgoing, world.up_to(longest));
        }
    }
}

/// For calls that send messages, to this queue or to that of webhooks.
#[derive(Clone, Copy)]
pub(crate) enum QueueFault {
    Fine,
    Unsent,
    ResponseLost,
}

impl InjectedFault for QueueFault {
    const FINE: Self = Self::Fine;
    const DOWN: Self = Self::Unsent;

    fn name(self) -> &'static str {
        match self {
            Self::Fine => "",
            Self::Unsent => "not sent",
            Self::ResponseLost => "response lost",
        }
    }
}

impl QueueFault {
    pub(crate) fn chances(probabilities: &FaultProbabilities) -> [(f64, Self); 2] {
        let chance = probabilities.call_failure_probability / 2.0;
        [(chance, Self::Unsent), (chance, Self::ResponseLost)]
    }
}

#[async_trait]
impl Queue for SimulatedQueue {
    async fn send(&self, messages: &[Outgoing]) -> Result<(), QueueError> {
        // One call per batch, as in the real queue; without messages there is no call.
        for batch in messages.chunks(BATCH) {
            let what: Vec<_> = batch
                .iter()
                .map(|Outgoing { message: it, at }| {
                    format!(
                        "{}/{} r{} for {}",
                        it.ids.post_id,
                        it.ids.target_id,
                        it.revision,
                        at.format("%H:%M:%S%.3f")
                    )
                })
                .collect();
            let what = format!("send {}", what.join(" "));
            let (call, fault) = self.world.call(Port::Queue, what, &QueueFault::chances(&self.world.probabilities));
            call.go().await;
            if !matches!(fault, QueueFault::Unsent) {
                for outgoing in batch {
                    self.accept(outgoing);
                }
                self.came.notify_one();
            }
            call.respond().await;
            if !matches!(fault, QueueFault::Fine) {
                return Err(QueueError("the connection was reset".to_owned()));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use domain::testing::{a_delivery, noon};

    use super::*;
    use crate::faults::FaultPlan;

    fn outgoing(after_s: i64) -> Outgoing {
        let it = a_delivery();
        let message = DeliveryMessage::for_delivery(&it);
        Outgoing { message, at: noon() + TimeDelta::seconds(after_s) }
    }

    #[tokio::test(start_paused = true)]
    async fn message_is_redelivered_until_done_or_dead_lettered() {
        let world = Arc::new(SimulatedWorld::new(1, &FaultPlan::None, TimeDelta::zero()));
        let queue = SimulatedQueue::new(Arc::clone(&world));
        queue.send(&[outgoing(0), outgoing(60)]).await.unwrap();

        let mut came = Vec::new();
        for _ in 0..MAX_RECEIVES {
            came.push(queue.take(10, Duration::ZERO).await);
        }
        let second = came.iter().flatten().find(|it| it.id == 2).copied().unwrap();
        queue.delete(&[second]);

        let first: Vec<_> = came.iter().flatten().filter(|it| it.id == 1).collect();
        assert!(1 < first.len(), "{came:?}");
        while !queue.is_empty() {
            assert!(queue.take(10, Duration::ZERO).await.iter().all(|it| it.id == 1 && it.receives <= MAX_RECEIVES));
        }
    }
}
