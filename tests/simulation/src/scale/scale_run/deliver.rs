//! A delivery: read, wait for the due second, intend, call, settle, roll up. Like
//! `libs/publishing/src/deliver.rs`.

use domain::delivery::LEASE_DURATION;

use super::ScaleRun;
use crate::scale::Ms;
use crate::scale::agenda::{Event, Message};
use crate::scale::limits::STORE_ATTEMPTS;
use crate::scale::posts::{NOISY, State};
use crate::scale::store::{CallOutcome, units};
use crate::scale::time::in_ms;

/// The next step of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Reading the delivery's inputs.
    Read,
    /// Writing the intent, then the publish call.
    Intend,
    /// Acquiring a new lease, then a look-up of the last call.
    Ask,
    /// Writing the outcome of the call.
    RecordPublish,
    /// Rolling up the post.
    RollUp,
    /// Finished.
    End,
}

/// A delivery in progress in an environment.
#[derive(Clone, Copy)]
pub(super) struct Task {
    pub(super) message: Message,
    pub(super) batch: u32,
    step: Step,
    /// Number of times that this step was throttled.
    throttled: u32,
    /// The delivery's write id of the last read or write. A write with an outdated write id fails.
    write_id: u32,
    /// Whether the task holds one of its environment's few roll-up slots.
    tells: bool,
    /// Number of attempts to acquire a permit, and the time of the first one.
    pub(super) looks: u32,
    pub(super) first_looked_at: Option<Ms>,
    /// Whether the task may make its call.
    pub(super) has_leave: bool,
    /// Whether the call is counted.
    pub(super) is_counted: bool,
}

/// Deliveries in progress, in reusable slots.
#[derive(Default)]
pub(in crate::scale) struct Tasks {
    pub(super) tasks: Vec<Task>,
    free: Vec<u32>,
}

impl Tasks {
    fn add(&mut self, task: Task) -> u32 {
        if let Some(task_id) = self.free.pop() {
            self.tasks[task_id as usize] = task;
            return task_id;
        }
        self.tasks.push(task);
        u32::try_from(self.tasks.len() - 1).unwrap_or(u32::MAX)
    }
}

impl ScaleRun<'_> {
    pub(in crate::scale) fn begin_delivery(&mut self, message: Message, batch: u32) {
        let task = self.tasks.add(Task {
            message,
            batch,
            step: Step::Read,
            throttled: 0,
            write_id: 0,
            tells: false,
            looks: 0,
            first_looked_at: None,
            has_leave: false,
            is_counted: false,
        });
        self.step(task);
    }

    pub(in crate::scale) fn step(&mut self, task_id: u32) {
        let task = self.tasks.tasks[task_id as usize];
        if task.step == Step::End {
            return self.end(task_id, true);
        }
        let is_overtaken = self.posts[task.message.post as usize].write_id != task.write_id && task.step != Step::Read;
        let took = self.chance.store_call();
        if is_overtaken {
            return self.schedule_step(task_id, Step::End, self.now + took);
        }
        if task.step == Step::RollUp && !task.tells && !self.may_roll_up(task_id) {
            return;
        }
        if matches!(task.step, Step::Intend | Step::Ask) && !task.has_leave {
            return self.ask_for_leave(task_id, took);
        }
        let post = &self.posts[task.message.post as usize];
        let call = match task.step {
            Step::Read => &self.calls.read,
            Step::Intend | Step::Ask => &self.calls.intend,
            Step::RecordPublish => &self.calls.settle,
            Step::RollUp | Step::End => &self.calls.roll_up,
        };
        if self.store.make(call, 1.0, &post.keys, self.now, 0 < task.throttled) == CallOutcome::Throttled {
            return self.throttled(task_id, took);
        }
        let (read_units, write_units) = units(call);
        let at = self.now + took;
        match task.step {
            Step::Read => {
                self.tally.deliver_read_units += read_units;
                self.decide(task_id, at);
            }
            Step::Intend | Step::Ask => {
                self.tally.hot_write_units += write_units;
                self.call_platform(task_id, at);
            }
            Step::RecordPublish => {
                self.tally.hot_write_units += write_units;
                self.settle(task_id, at);
            }
            Step::RollUp => {
                self.tally.roll_up_write_units += write_units;
                self.roll_up(task_id, at);
            }
            Step::End => {}
        }
    }

    /// Decides the next step from the delivery's state at the last read.
    fn decide(&mut self, task_id: u32, at: Ms) {
        let message = self.tasks.tasks[task_id as usize].message;
        let post = &self.posts[message.post as usize];
        let (step, when) = match post.state {
            State::RolledUp => (Step::End, at),
            State::Settled => (Step::RollUp, post.next_step_at),
            _ if at < post.lease_expires_at => (Step::End, post.lease_expires_at + self.setting.after_lease_ms),
            State::Intended => (Step::Ask, at),
            State::Waiting => (Step::Intend, post.next_step_at),
        };
        self.tasks.tasks[task_id as usize].write_id = post.write_id;
        let is_later = step == Step::End || self.setting.max_wait_ms < when - at;
        if matches!(step, Step::Intend) && self.is_blocked_by_slow_calls(task_id) {
            return self.defer(task_id, at);
        }
        if at < when && is_later {
            return self.send_later(task_id, when, at);
        }
        self.schedule_step(task_id, step, when.max(at));
    }

    /// The intent is written. Starts the publish call, or the look-up of the previous call; both
    /// take a while.
    fn call_platform(&mut self, task_id: u32, at: Ms) {
        let took = self.chance.platform_call();
        let task = self.tasks.tasks[task_id as usize];
        let user = self.posts[task.message.post as usize].keys.user;
        let took = self.setting.noisy.filter(|_| user == NOISY).map_or(took, |it| it.call_ms);
        self.count_if_slow(task_id, at, took);
        let task = &mut self.tasks.tasks[task_id as usize];
        let post = &mut self.posts[task.message.post as usize];
        if task.step == Step::Intend {
            post.state = State::Intended;
            post.begun = Some(at);
            post.public = Some(at + took);
            self.tally.calls_begun += 1;
        }
        post.write_id += 1;
        task.write_id = post.write_id;
        post.lease_expires_at = self.now + in_ms(LEASE_DURATION);
        self.schedule_step(task_id, Step::RecordPublish, at + took);
    }

    fn settle(&mut self, task_id: u32, at: Ms) {
        self.no_longer_counted(task_id);
        let task = &mut self.tasks.tasks[task_id as usize];
        let message = task.message;
        let post = &mut self.posts[message.post as usize];
        post.state = State::Settled;
        post.write_id += 1;
        task.write_id = post.write_id;
        post.lease_expires_at = Ms::MIN;
        self.tally.settled += 1;
        self.tally.last_settled = self.now;
        // The roll-up is deferred if its time was in the future when the publish call began.
        let roll_up_from =
            post.roll_up_from.filter(|it| message.deferred && post.begun.is_some_and(|begun| begun < *it));
        let Some(roll_up_from) = roll_up_from else { return self.schedule_step(task_id, Step::RollUp, at) };
        post.next_step_at = roll_up_from;
        if at < roll_up_from && roll_up_from - at <= self.setting.max_wait_ms {
            return self.schedule_step(task_id, Step::Read, at);
        }
        self.tasks.tasks[task_id as usize].message.deferred = false;
        self.send_later(task_id, roll_up_from, at);
    }

    fn roll_up(&mut self, task_id: u32, at: Ms) {
        let message = self.tasks.tasks[task_id as usize].message;
        let post = &mut self.posts[message.post as usize];
        post.state = State::RolledUp;
        post.write_id += 1;
        self.tally.rolled_up_meanwhile += u32::from(self.is_hot());
        self.tally.rolled_up += 1;
        self.tally.last_roll_up = at;
        self.schedule_step(task_id, Step::End, at);
    }

    /// Sends a message that continues the delivery at `for_when`.
    pub(super) fn send_later(&mut self, task_id: u32, for_when: Ms, now: Ms) {
        let sent = now + self.chance.send();
        let message = Message { receives: 0, ..self.tasks.tasks[task_id as usize].message };
        self.send(message, for_when, now, sent);
        self.schedule_step(task_id, Step::End, sent);
    }

    /// Acquires one of the environment's few roll-up slots. A delivery without a slot is woken when
    /// one is free.
    fn may_roll_up(&mut self, task_id: u32) -> bool {
        let task = &mut self.tasks.tasks[task_id as usize];
        let batch = &mut self.queue.batches[task.batch as usize];
        task.tells = batch.telling < self.setting.roll_ups_at_once;
        if task.tells {
            batch.telling += 1;
        } else {
            batch.to_tell.push_back(task_id);
        }
        task.tells
    }

    /// Passes the slot to the delivery that has waited longest.
    fn release_roll_up_slot(&mut self, task_id: u32) {
        let task = &mut self.tasks.tasks[task_id as usize];
        if !std::mem::take(&mut task.tells) {
            return;
        }
        let batch = &mut self.queue.batches[task.batch as usize];
        let Some(next) = batch.to_tell.pop_front() else {
            batch.telling -= 1;
            return;
        };
        self.tasks.tasks[next as usize].tells = true;
        self.agenda.put(self.now, Event::Step { task: next });
    }

    /// Retries like the SDK: after a back-off, until the last attempt.
    pub(super) fn throttled(&mut self, task_id: u32, took: Ms) {
        let task = &mut self.tasks.tasks[task_id as usize];
        task.throttled += 1;
        if task.throttled < STORE_ATTEMPTS {
            let wait = self.chance.back_off(task.throttled);
            self.agenda.put(self.now + took + wait, Event::Step { task: task_id });
        } else {
            self.tally.deliveries_cut_off += 1;
            self.end(task_id, false);
        }
    }

    fn schedule_step(&mut self, task_id: u32, step: Step, at: Ms) {
        let task = &mut self.tasks.tasks[task_id as usize];
        (task.step, task.throttled) = (step, 0);
        self.agenda.put(at, Event::Step { task: task_id });
    }

    fn end(&mut self, task_id: u32, is_done: bool) {
        self.no_longer_counted(task_id);
        self.release_roll_up_slot(task_id);
        let Task { message, batch, .. } = self.tasks.tasks[task_id as usize];
        self.tasks.free.push(task_id);
        self.end_delivery(batch, message, is_done);
    }
}
