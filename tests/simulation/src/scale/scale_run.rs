//! The whole model, from the first tick until the roll-up of the last post.

mod deliver;
mod fairness;
mod publisher;
mod sweep;

use std::collections::BTreeMap;

use self::deliver::Tasks;
use self::publisher::Publisher;
use super::agenda::{Agenda, Event};
use super::chance::Random;
use super::posts::{self, Post};
use super::queue::Queue;
use super::store::{Call, Store};
use super::user_permits::UserPermits;
use super::{Ms, PeakPartition, ScaleFigures, Setting};

/// No run takes this long: a model that still runs at this time is stuck.
const LONGEST_MS: Ms = 24 * 3_600_000;

/// The calls to the store.
pub(super) struct Calls {
    pub(super) plan: Call,
    pub(super) move_on: Call,
    pub(super) read: Call,
    pub(super) intend: Call,
    pub(super) settle: Call,
    pub(super) place: Call,
    pub(super) roll_up: Call,
}

/// Counters of the run.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) plan_read_units: f64,
    pub(super) sweep_read_units: f64,
    pub(super) deliver_read_units: f64,
    pub(super) hot_write_units: f64,
    pub(super) roll_up_write_units: f64,
    pub(super) sweep_write_units: f64,
    pub(super) messages: u32,
    pub(super) put_aside: u32,
    pub(super) ticks_cut_off: u32,
    pub(super) longest_tick_ms: Ms,
    pub(super) deliveries_cut_off: u32,
    pub(super) deferred: u32,
    pub(super) calls_begun: u32,
    pub(super) settled: u32,
    pub(super) last_settled: Ms,
    pub(super) rolled_up: u32,
    pub(super) rolled_up_meanwhile: u32,
    pub(super) last_roll_up: Ms,
}

/// The highest loads, and the throttled calls, until the last post was settled.
#[derive(Default)]
pub(super) struct PeakLoad {
    pub(super) partition: PeakPartition,
    pub(super) table: PeakPartition,
    pub(super) throttled: BTreeMap<String, u32>,
}

pub(super) struct ScaleRun<'a> {
    pub(super) setting: &'a Setting,
    pub(super) chance: Random,
    pub(super) now: Ms,
    pub(super) agenda: Agenda,
    pub(super) store: Store,
    pub(super) calls: Calls,
    pub(super) posts: Vec<Post>,
    pub(super) publisher: Publisher,
    pub(super) queue: Queue,
    pub(super) tasks: Tasks,
    pub(super) places: UserPermits,
    pub(super) tally: Tally,
}

impl<'a> ScaleRun<'a> {
    pub(super) fn new(setting: &'a Setting) -> Self {
        let mut chance = Random::new(setting.seed);
        let posts = posts::make(setting, &mut chance);
        let mut store = Store::new(setting);
        let profile = &setting.profile;
        let calls = Calls {
            plan: store.call(&profile.plan),
            move_on: store.call(&profile.move_on),
            read: store.call(&profile.deliver.read),
            intend: store.call(&profile.deliver.intend),
            settle: store.call(&profile.deliver.settle),
            place: store.call(&profile.place),
            roll_up: store.call(&profile.roll_up),
        };
        Self {
            setting,
            chance,
            now: Ms::MIN,
            agenda: Agenda::default(),
            store,
            calls,
            publisher: Publisher::new(setting, &posts),
            posts,
            queue: Queue::new(setting),
            tasks: Tasks::default(),
            places: UserPermits::new(setting.users),
            tally: Tally::default(),
        }
    }

    pub(super) fn run(mut self) -> ScaleFigures {
        self.agenda.put(Publisher::first_tick(self.setting), Event::Tick);
        let mut hot = None;
        while self.tally.rolled_up < self.setting.posts {
            let Some((at, event)) = self.agenda.next().filter(|it| it.0 < LONGEST_MS) else { break };
            self.now = at;
            self.happen(event);
            if hot.is_none() && !self.is_hot() {
                hot = Some(self.heat());
            }
        }
        let hot = hot.unwrap_or_else(|| self.heat());
        let rest = self.heat();
        ScaleFigures::from_model(&self, hot, rest)
    }

    /// Whether any post is not settled yet.
    pub(super) fn is_hot(&self) -> bool {
        self.tally.settled < self.setting.posts
    }

    fn heat(&mut self) -> PeakLoad {
        let (partition, table) = self.store.take_hottest();
        PeakLoad { partition, table, throttled: self.store.throttled() }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Tick => self.tick(),
            Event::TickEnds { tick } => self.end_tick(tick),
            Event::PlanSoon { tick, shard, from, attempt } => self.plan_soon(tick, shard, (from, attempt)),
            Event::PlanOverdue { tick, shard, from, attempt } => self.plan_overdue(tick, shard, (from, attempt)),
            Event::Move { tick, post, attempt } => self.move_on(tick, post, attempt),
            Event::MoveNext { tick, shard } => self.move_next(tick, shard),
            Event::Visible(message) => self.visible(message),
            Event::Receive => self.receive_again(),
            Event::WindowEnds { batch, number } => self.window_ends(batch, number),
            Event::Begin { batch } => self.begin(batch),
            Event::Step { task } => self.step(task),
        }
    }
}
