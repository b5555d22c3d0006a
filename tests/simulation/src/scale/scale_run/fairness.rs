//! Permits: a user whose calls hold a share of the environments waits. Like
//! `libs/permits` and `libs/publishing/src/concurrency_limits.rs`.

use super::ScaleRun;
use crate::scale::Ms;
use crate::scale::agenda::Event;
use crate::scale::store::{CallOutcome, units};
use crate::scale::user_permits::{Acquisition, COUNTED_AFTER_MS, WAITS_MS};

/// Minimum and maximum deferral of a delivery, which is half of its lateness.
const PUT_OFF_MS: (Ms, Ms) = (10_000, 180_000);

impl ScaleRun<'_> {
    fn user_of(&self, task_id: u32) -> u32 {
        self.posts[self.tasks.tasks[task_id as usize].message.post as usize].keys.user
    }

    /// Whether slow calls hold all permits of the user.
    pub(super) fn is_blocked_by_slow_calls(&self, task_id: u32) -> bool {
        let batch = self.tasks.tasks[task_id as usize].batch;
        self.setting
            .share
            .is_some_and(|it| self.places.is_held_by_slow_calls(self.user_of(task_id), batch, it, self.now))
    }

    /// Tries to acquire a permit; `took` is the duration of the store call.
    pub(super) fn ask_for_leave(&mut self, task_id: u32, took: Ms) {
        let (user, now) = (self.user_of(task_id), self.now);
        let task = &mut self.tasks.tasks[task_id as usize];
        let acquisition = match self.setting.share {
            Some(limits) => self.places.leave(user, task.batch, task.message.needs_permit, limits, now),
            None => Acquisition::Uncounted,
        };
        let first_looked_at = *task.first_looked_at.get_or_insert(now);
        let waits = domain::backoff::waits(task.looks);
        let wait = waits.start + self.chance.below(waits.end - waits.start);
        let again_at = now + Ms::try_from(wait).unwrap_or_default();
        task.looks += 1;
        task.has_leave = matches!(acquisition, Acquisition::Uncounted | Acquisition::Shared | Acquisition::Acquired);
        task.is_counted = matches!(acquisition, Acquisition::Shared | Acquisition::Acquired);
        let at = match acquisition {
            Acquisition::Wait if again_at < first_looked_at + WAITS_MS => again_at + took,
            Acquisition::Wait | Acquisition::None => return self.defer(task_id, now),
            Acquisition::Acquired => {
                self.write_permit(task_id);
                now + took
            }
            Acquisition::Uncounted | Acquisition::Shared => now,
        };
        self.agenda.put(at, Event::Step { task: task_id });
    }

    /// Ends the delivery and repeats it later, before any call has begun.
    pub(super) fn defer(&mut self, task_id: u32, at: Ms) {
        let message = self.tasks.tasks[task_id as usize].message;
        let took = self.chance.store_call();
        let post = &mut self.posts[message.post as usize];
        if self.store.make(&self.calls.move_on, 1.0, &post.keys, self.now, false) == CallOutcome::Throttled {
            return self.throttled(task_id, took);
        }
        let wait = ((at - post.due).abs() / 2).clamp(PUT_OFF_MS.0, PUT_OFF_MS.1);
        let wait = wait + wait / 4 * Ms::try_from(self.chance.below(1_024)).unwrap_or_default() / 1_024;
        post.next_step_at = at + wait;
        post.write_id += 1;
        let for_when = post.next_step_at;
        self.tally.deferred += 1;
        self.tally.hot_write_units += units(&self.calls.move_on).1;
        let message = &mut self.tasks.tasks[task_id as usize].message;
        (message.deferred, message.needs_permit) = (false, true);
        self.send_later(task_id, for_when, at + took);
    }

    /// A call that began without a permit acquires one when it turns out to be slow.
    pub(super) fn count_if_slow(&mut self, task_id: u32, began: Ms, took: Ms) {
        let user = self.user_of(task_id);
        let task = &mut self.tasks.tasks[task_id as usize];
        if self.setting.share.is_none() || task.is_counted || took <= COUNTED_AFTER_MS {
            return;
        }
        task.is_counted = true;
        if self.places.add(user, task.batch, (began, began + COUNTED_AFTER_MS)) {
            self.write_permit(task_id);
        }
    }

    pub(super) fn no_longer_counted(&mut self, task_id: u32) {
        let user = self.user_of(task_id);
        let task = &mut self.tasks.tasks[task_id as usize];
        if std::mem::take(&mut task.is_counted) && self.places.give_back(user, task.batch) {
            self.write_permit(task_id);
        }
    }

    /// Counts the cost of writing a permit. The SDK repeats a throttled write, independently of the
    /// delivery.
    fn write_permit(&mut self, task_id: u32) {
        let keys = self.posts[self.tasks.tasks[task_id as usize].message.post as usize].keys;
        let _: CallOutcome = self.store.make(&self.calls.place, 1.0, &keys, self.now, false);
        self.tally.hot_write_units += units(&self.calls.place).1;
    }
}
