//! Kills a process at every port call of each flow, one crash per run; and, in short flows, at pairs
//! of calls (see [`Crashes`]).

mod flows;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use clap::ValueEnum;

use self::flows::Flow;
use crate::faults::{FaultPlan, Kill, KillTime};
use crate::report::Report;
use crate::run::run;
use crate::scenario::Scenario;
use crate::world::lock;

/// All runs share one seed, so that they differ only in their crash points.
const SEED: u64 = 1;

#[derive(Clone, Debug, Default)]
pub struct CrashMatrix {
    /// Each with its number of crash points.
    pub flows: Vec<(&'static str, usize)>,
    /// Each with one or two crashes.
    pub points: usize,
    /// The sum over all runs, as in a [`Report`].
    pub lost: u64,
    /// Likewise.
    pub doubled: u64,
    /// Likewise.
    pub stuck: u64,
    /// Likewise.
    pub early: u64,
    pub broken: Vec<String>,
}

/// The crash points that are tried. A process that dies before a call has done as much as one that
/// dies after its previous call, only later; before its first call, it has done nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Crashes {
    /// After each call.
    After,
    /// Before and after each call, and in short flows after each pair of calls.
    Pairs,
    /// Likewise, and in short flows before and after each pair of calls.
    EveryPair,
}

impl Crashes {
    /// On which sides of a call a process dies in runs with one crash.
    const fn of_one(self) -> &'static [KillTime] {
        match self {
            Self::After => &[KillTime::After],
            Self::Pairs | Self::EveryPair => &[KillTime::Before, KillTime::After],
        }
    }

    /// Likewise, in runs with two crashes. There are none without a side.
    const fn of_two(self) -> &'static [KillTime] {
        match self {
            Self::After => &[],
            Self::Pairs => &[KillTime::After],
            Self::EveryPair => &[KillTime::Before, KillTime::After],
        }
    }
}

/// Kills in the flows whose names contain `name`, on this many threads. With `until_broken`, stops at
/// the first run that breaks an invariant.
pub fn crash_matrix(threads: usize, crashes: Crashes, name: &str, until_broken: bool) -> CrashMatrix {
    let mut matrix = CrashMatrix::default();
    for flow in flows::all().into_iter().filter(|it| it.name.contains(name)) {
        let before = matrix.points;
        matrix.kill_once(&flow, threads, crashes.of_one(), until_broken);
        if flow.pairs {
            matrix.kill_twice(&flow, threads, crashes.of_two(), until_broken);
        }
        matrix.flows.push((flow.name, matrix.points - before));
        if until_broken && !matrix.broken.is_empty() {
            break;
        }
    }
    matrix
}

impl CrashMatrix {
    fn kill_once(&mut self, flow: &Flow, threads: usize, sides: &[KillTime], until_broken: bool) {
        let calls = flow.run(Vec::new()).port_calls;
        let kills: Vec<_> = kill_points(1, calls, sides).map(|it| vec![it]).collect();
        self.kill(flow, &kills, threads, until_broken);
    }

    /// The second crash is at a call after the first one, in a run that the first one has already
    /// changed.
    fn kill_twice(&mut self, flow: &Flow, threads: usize, sides: &[KillTime], until_broken: bool) {
        let calls = flow.run(Vec::new()).port_calls;
        let firsts: Vec<_> = kill_points(1, calls, sides).map(|it| vec![it]).collect();
        let continued = Mutex::new(Vec::new());
        side_by_side(&firsts, threads, false, |kills| {
            let calls = flow.run(kills.clone()).port_calls;
            lock(&continued).push((kills[0], calls));
            true
        });
        let mut pairs: Vec<_> = lock(&continued).clone();
        // Threads finish in any order; sorting makes the order equal every time.
        pairs.sort_by_key(|(first, _)| (first.call, first.when == KillTime::After));
        let pairs: Vec<_> = pairs
            .into_iter()
            .flat_map(|(first, calls)| kill_points(first.call + 1, calls, sides).map(move |second| vec![first, second]))
            .collect();
        self.kill(flow, &pairs, threads, until_broken);
    }

    fn kill(&mut self, flow: &Flow, kills: &[Vec<Kill>], threads: usize, until_broken: bool) {
        let all = Mutex::new(std::mem::take(self));
        side_by_side(kills, threads, until_broken, |kills| {
            let report = flow.run(kills.clone());
            let is_correct = report.broken.is_empty();
            lock(&all).add(flow.name, kills, &report);
            is_correct
        });
        *self = all.into_inner().unwrap_or_default();
    }

    fn add(&mut self, flow: &str, kills: &[Kill], report: &Report) {
        self.points += 1;
        self.lost += report.lost;
        self.doubled += report.doubled;
        self.stuck += report.stuck;
        self.early += report.early;
        let at =
            |it: &Kill| format!("{} call {}", if it.when == KillTime::Before { "before" } else { "after" }, it.call);
        let killed: Vec<_> = kills.iter().map(at).collect();
        self.broken.extend(report.broken.iter().map(|it| format!("{flow}, killed {}: {it}", killed.join(" and "))));
    }
}

impl Flow {
    fn run(&self, kills: Vec<Kill>) -> Report {
        let faults = if kills.is_empty() { FaultPlan::None } else { FaultPlan::Script(kills) };
        run(SEED, &Scenario { plot: Some(self.plot.clone()), on: None, faults })
    }
}

fn kill_points(from: u64, to: u64, sides: &[KillTime]) -> impl Iterator<Item = Kill> {
    (from..=to).flat_map(|call| sides.iter().map(move |when| Kill { call, when: *when }))
}

/// Calls `work` for each item, on this many threads. With `until_false`, no further item is started
/// after `work` returns false.
pub fn side_by_side<T: Sync>(items: &[T], threads: usize, until_false: bool, work: impl Fn(&T) -> bool + Sync) {
    let (next, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
    let worker = || {
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            if !work(item) && until_false {
                stopped.store(true, Ordering::Relaxed);
            }
            if stopped.load(Ordering::Relaxed) {
                break;
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(worker);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flow_succeeds_without_a_crash() {
        for flow in flows::all() {
            let report = flow.run(Vec::new());
            assert_eq!(report.broken, Vec::<String>::new(), "{}", flow.name);
            assert!(0 < report.port_calls, "{}", flow.name);
        }
    }

    #[test]
    fn crash_at_any_call_of_a_publication_is_invisible_to_the_user() {
        let flow = flows::all().into_iter().find(|it| it.name == "publish, listed").unwrap();
        let mut matrix = CrashMatrix::default();

        matrix.kill_once(&flow, 2, Crashes::Pairs.of_one(), false);

        assert!(20 < matrix.points, "{}", matrix.points);
        assert_eq!(matrix.broken, Vec::<String>::new());
    }
}
