//! The sweep, the other half of the tick: puts overdue deliveries on the queue again, and moves
//! them to a later time in the due index. Like `libs/publishing/src/plan.rs`.

use domain::delivery::OVERDUE_CHECK_INTERVAL;

use super::ScaleRun;
use super::publisher::{Moves, PageRead, page_of};
use crate::scale::agenda::{Event, Message};
use crate::scale::limits::STORE_ATTEMPTS;
use crate::scale::posts::State;
use crate::scale::store::{CallOutcome, units};
use crate::scale::time::in_ms;

impl ScaleRun<'_> {
    pub(in crate::scale) fn plan_overdue(&mut self, tick: u32, shard: u32, (from, attempt): (u32, u32)) {
        let Some(running) = self.running(tick) else { return };
        let to = from + self.setting.page;
        let entries = self.publisher.overdue[shard as usize].clone();
        let page = self.publisher.index.at(shard, page_of(&entries, from, to));
        let overdue_at = running.began - in_ms(OVERDUE_CHECK_INTERVAL);
        let (mut read, mut overdue) = (0, Vec::new());
        for number in page {
            let post = &self.posts[*number as usize];
            read += usize::from(post.state != State::RolledUp);
            if post.state != State::RolledUp && post.next_step_at <= overdue_at {
                overdue.push(*number);
            }
        }
        let again = Event::PlanOverdue { tick, shard, from, attempt: attempt + 1 };
        match self.read_page(shard, read, attempt, again) {
            PageRead::Done(units) => self.tally.sweep_read_units += units,
            PageRead::Again => return,
            PageRead::Failed => return self.skip_overdue(tick),
        }
        let now = self.now + self.chance.store_call();
        let message = |post: &u32| {
            (Message { post: *post, receives: 0, deferred: false, needs_permit: true, returned: false }, now)
        };
        let messages: Vec<_> = overdue.iter().map(message).collect();
        let sent = self.send_all(&messages, now, running.ends);
        overdue.reverse();
        let next_page = ((to as usize) < entries.len()).then_some(to);
        // Even without entries to move, one event is needed to continue with the next page.
        let at_once = self.setting.moves_at_once.min(u32::try_from(overdue.len()).unwrap_or(u32::MAX)).max(1);
        self.publisher.moves[shard as usize] = Moves { left: overdue, at_once, next_page };
        for _ in 0..at_once {
            self.agenda.put(sent, Event::MoveNext { tick, shard });
        }
    }

    pub(in crate::scale) fn move_next(&mut self, tick: u32, shard: u32) {
        if self.running(tick).is_none() {
            return;
        }
        let moves = &mut self.publisher.moves[shard as usize];
        if moves.at_once == 0 {
            return;
        }
        if let Some(post) = moves.left.pop() {
            return self.move_on(tick, post, 1);
        }
        moves.at_once -= 1;
        match moves.next_page {
            _ if 0 < moves.at_once => {}
            Some(from) => self.agenda.put(self.now, Event::PlanOverdue { tick, shard, from, attempt: 1 }),
            None => self.end_shard(tick),
        }
    }

    pub(in crate::scale) fn move_on(&mut self, tick: u32, number: u32, attempt: u32) {
        let Some(running) = self.running(tick) else { return };
        let post = &mut self.posts[number as usize];
        let shard = post.keys.shard;
        if self.publisher.moves[shard as usize].at_once == 0 {
            return;
        }
        if self.store.make(&self.calls.move_on, 1.0, &post.keys, self.now, 1 < attempt) == CallOutcome::Done {
            post.due_at = running.began;
            let written = units(&self.calls.move_on).1;
            let is_hot = self.is_hot();
            let counted = if is_hot { &mut self.tally.hot_write_units } else { &mut self.tally.sweep_write_units };
            *counted += written;
            let at = self.now + self.chance.store_call();
            self.agenda.put(at, Event::MoveNext { tick, shard });
        } else if attempt < STORE_ATTEMPTS {
            let wait = self.chance.back_off(attempt);
            self.agenda.put(self.now + wait, Event::Move { tick, post: number, attempt: attempt + 1 });
        } else {
            // Moves in progress are dropped as well.
            self.publisher.moves[shard as usize] = Moves::default();
            self.skip_overdue(tick);
        }
    }
}
