//! The publisher's tick: puts deliveries that are due soon on the queue. Like `libs/publishing/src/plan.rs`.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::ops::Range;

use domain::delivery::{OVERDUE_CHECK_INTERVAL, PLAN_WINDOW};

use super::ScaleRun;
use crate::scale::agenda::{Event, Message};
use crate::scale::due_index::DueIndex;
use crate::scale::limits::{SEND_BATCH, STORE_ATTEMPTS};
use crate::scale::posts::Post;
use crate::scale::setting::copied::{LONGEST_PUT_OFF_S, PERIOD_MS};
use crate::scale::store::{CallOutcome, Keys, units};
use crate::scale::time::in_ms;
use crate::scale::{Ms, Setting};

/// The state of planning.
pub(in crate::scale) struct Publisher {
    pub(in crate::scale) index: DueIndex,
    /// For each shard, the positions of the entries that this tick plans.
    soon: Vec<Range<usize>>,
    pub(in crate::scale) overdue: Vec<Range<usize>>,
    /// For each shard, the page of overdue entries that is being moved.
    pub(in crate::scale) moves: Vec<Moves>,
    pub(in crate::scale) planned_until: Option<Ms>,
    moved_at: Ms,
    /// Number of posts of a user that are due in the same second.
    crowds: HashMap<(u32, Ms), u32>,
    count: u32,
    running: Option<Running>,
}

/// A tick in progress.
#[derive(Clone, Copy)]
pub(in crate::scale) struct Running {
    tick: u32,
    pub(in crate::scale) began: Ms,
    pub(in crate::scale) ends: Ms,
    /// The next shard to start.
    next_shard: u32,
    /// Number of shards that are not finished.
    left: u32,
    /// Whether overdue entries were left to the next tick.
    has_failed: bool,
}

/// The result of reading a page.
pub(in crate::scale) enum PageRead {
    /// The page was read, for this many units.
    Done(f64),
    /// The read was throttled and is retried after a back-off.
    Again,
    /// The read was throttled too often and is given up.
    Failed,
}

/// A page of overdue entries that are being moved.
#[derive(Default)]
pub(in crate::scale) struct Moves {
    /// The entries that are not moved yet, the next one last.
    pub(super) left: Vec<u32>,
    /// Number of concurrent moves; 0 when none is in progress, or when one of them failed.
    pub(super) at_once: u32,
    /// The start of the next page.
    pub(super) next_page: Option<u32>,
}

impl Publisher {
    pub(in crate::scale) fn new(setting: &Setting, posts: &[Post]) -> Self {
        let shards = setting.due_shards as usize;
        Self {
            index: DueIndex::new(posts, setting.due_shards),
            soon: vec![0..0; shards],
            overdue: vec![0..0; shards],
            moves: (0..shards).map(|_| Moves::default()).collect(),
            planned_until: None,
            moved_at: Ms::MIN,
            crowds: HashMap::new(),
            count: 0,
            running: None,
        }
    }

    /// The time of the first tick, early enough that it plans nothing of the full minute.
    pub(in crate::scale) fn first_tick(setting: &Setting) -> Ms {
        let earliest = -in_ms(PLAN_WINDOW) - 2 * PERIOD_MS;
        earliest + setting.tick_ms
    }
}

/// The part of `all` that a page from `from` to `to` covers.
pub(in crate::scale) fn page_of(all: &Range<usize>, from: u32, to: u32) -> Range<usize> {
    let at = |offset: u32| (all.start + offset as usize).min(all.end);
    at(from)..at(to)
}

impl ScaleRun<'_> {
    pub(in crate::scale) fn tick(&mut self) {
        let now = self.now;
        self.agenda.put(now + PERIOD_MS, Event::Tick);
        self.publisher.count += 1;
        let (tick, shards) = (self.publisher.count, self.setting.due_shards);
        let ends = now + self.setting.tick_limit_ms;
        self.agenda.put(ends, Event::TickEnds { tick });
        let running = Running { tick, began: now, ends, next_shard: 0, left: shards, has_failed: false };
        self.publisher.running = Some(running);
        let overdue_at = now - in_ms(OVERDUE_CHECK_INTERVAL);
        let after = self.publisher.planned_until.map_or(overdue_at, |it| it.max(overdue_at));
        let until = now + in_ms(PLAN_WINDOW);
        let most = (self.setting.page * self.setting.overdue_pages) as usize;
        for shard in 0..shards {
            let publisher = &mut self.publisher;
            publisher.index.tidy(shard, publisher.moved_at, &self.posts);
            publisher.soon[shard as usize] = publisher.index.between(shard, (after, until), &self.posts);
            let overdue = publisher.index.between(shard, (Ms::MIN, overdue_at), &self.posts);
            publisher.overdue[shard as usize] = 0..overdue.end.min(most);
        }
        self.publisher.moved_at = now;
        self.publisher.crowds.clear();
        for _ in 0..self.setting.shards_at_once {
            self.begin_shard();
        }
    }

    fn begin_shard(&mut self) {
        let Some(running) = self.publisher.running.as_mut().filter(|it| it.next_shard < self.setting.due_shards) else {
            return;
        };
        let (tick, shard) = (running.tick, running.next_shard);
        running.next_shard += 1;
        self.agenda.put(self.now, Event::PlanSoon { tick, shard, from: 0, attempt: 1 });
    }

    /// Ends a tick whose time limit is over or whose planning failed. The next tick does the
    /// remaining work.
    pub(in crate::scale) fn end_tick(&mut self, tick: u32) {
        if self.running(tick).is_some() {
            self.publisher.running = None;
            self.tally.ticks_cut_off += 1;
        }
    }

    pub(in crate::scale) fn plan_soon(&mut self, tick: u32, shard: u32, (from, attempt): (u32, u32)) {
        let Some(running) = self.running(tick) else { return };
        let (to, shards) = (from + self.setting.page, self.setting.due_shards);
        let soon = self.publisher.soon[shard as usize].clone();
        let first_page = soon.len().min(self.setting.page as usize);
        let is_full = (self.setting.full as usize) < first_page * shards as usize;
        let page = self.publisher.index.at(shard, page_of(&soon, from, to)).to_vec();
        let again = Event::PlanSoon { tick, shard, from, attempt: attempt + 1 };
        let units = match self.read_page(shard, page.len(), attempt, again) {
            PageRead::Done(units) => units,
            PageRead::Again => return,
            PageRead::Failed => return self.end_tick(tick),
        };
        let counted = if page.is_empty() { &mut self.tally.sweep_read_units } else { &mut self.tally.plan_read_units };
        *counted += units;
        let now = self.now + self.chance.store_call();
        let until = running.began + in_ms(PLAN_WINDOW);
        let mut messages = Vec::with_capacity(page.len());
        for (position, post) in (from..).zip(page) {
            let roll_up_from = until + self.roll_up_delay_ms(position);
            let subject = &mut self.posts[post as usize];
            subject.roll_up_from = is_full.then_some(roll_up_from);
            let burst =
                self.publisher.crowds.entry((subject.keys.user, subject.next_step_at.div_euclid(1_000))).or_default();
            *burst += 1;
            let needs_permit = self.setting.share.is_some_and(|it| it.unchecked() < *burst);
            let message = Message { post, receives: 0, deferred: is_full, needs_permit, returned: false };
            messages.push((message, subject.next_step_at));
        }
        let sent = self.send_all(&messages, now, running.ends);
        let next = if soon.len() <= to as usize {
            Event::PlanOverdue { tick, shard, from: 0, attempt: 1 }
        } else {
            Event::PlanSoon { tick, shard, from: to, attempt: 1 }
        };
        self.agenda.put(sent, next);
    }

    /// Delay of the roll-up after the full minute, for the post at this position of its shard.
    fn roll_up_delay_ms(&self, position: u32) -> Ms {
        let ahead = u64::from(position) * u64::from(self.setting.due_shards);
        let wait_s = (ahead / u64::from(self.setting.roll_ups_per_s)).min(LONGEST_PUT_OFF_S.into());
        Ms::try_from(wait_s * 1_000).unwrap_or(Ms::MAX)
    }

    pub(in crate::scale) fn running(&self, tick: u32) -> Option<Running> {
        self.publisher.running.filter(|it| it.tick == tick)
    }

    /// Reads a page; its units are rounded up to half a unit. If the read was throttled and will be
    /// retried, `again` is put on the agenda.
    pub(in crate::scale) fn read_page(&mut self, shard: u32, entries: usize, attempt: u32, again: Event) -> PageRead {
        let each = units(&self.calls.plan).0;
        let entries = f64::from(u32::try_from(entries).unwrap_or(u32::MAX));
        let units = ((entries * each * 2.0).ceil() / 2.0).max(0.5);
        let keys = Keys { user: 0, connection: 0, shard };
        let times = if 0.0 < each { units / each } else { 1.0 };
        if self.store.make(&self.calls.plan, times, &keys, self.now, 1 < attempt) == CallOutcome::Done {
            return PageRead::Done(units);
        }
        if STORE_ATTEMPTS <= attempt {
            return PageRead::Failed;
        }
        let wait = self.chance.back_off(attempt);
        self.agenda.put(self.now + wait, again);
        PageRead::Again
    }

    /// Sends a page with several concurrent calls. Messages beyond the tick's time limit are not
    /// sent. Returns the end of the last call.
    pub(in crate::scale) fn send_all(&mut self, messages: &[(Message, Ms)], from: Ms, ends: Ms) -> Ms {
        let mut free_at: BinaryHeap<_> = (0..self.setting.sends_at_once).map(|_| Reverse(from)).collect();
        let mut sent_all = from;
        for batch in messages.chunks(SEND_BATCH as usize) {
            let begun = free_at.pop().map_or(from, |it| it.0);
            let sent = begun + self.chance.send();
            free_at.push(Reverse(sent));
            sent_all = sent_all.max(sent);
            if sent <= ends {
                for (message, for_when) in batch {
                    self.send(*message, *for_when, begun, sent);
                }
            }
        }
        sent_all
    }

    /// Records that overdue entries of a shard are left to the next tick.
    pub(in crate::scale) fn skip_overdue(&mut self, tick: u32) {
        if let Some(running) = self.publisher.running.as_mut().filter(|it| it.tick == tick) {
            running.has_failed = true;
        }
        self.end_shard(tick);
    }

    /// Finishes a shard, and starts the next one. After the last shard, the tick stores the planned
    /// time, even if overdue entries are left.
    pub(in crate::scale) fn end_shard(&mut self, tick: u32) {
        let Some(running) = self.publisher.running.as_mut().filter(|it| it.tick == tick) else { return };
        running.left -= 1;
        if 0 < running.left {
            return self.begin_shard();
        }
        let Running { began, has_failed, .. } = *running;
        self.publisher.running = None;
        self.publisher.planned_until = Some(began + in_ms(PLAN_WINDOW));
        self.tally.ticks_cut_off += u32::from(has_failed);
        self.tally.longest_tick_ms = self.tally.longest_tick_ms.max(self.now - began);
    }
}
