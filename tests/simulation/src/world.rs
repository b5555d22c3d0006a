//! The environment of a run: virtual time, the random generator, the faults, and the trace.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::clock::Clock;
use domain::random::Random;
use tokio::time::Instant;

use crate::faults::{FaultPlan, FaultProbabilities, Kill, KillTime};
use crate::port::Port;
use crate::process::{self, Process};
use crate::trace::Trace;

pub(crate) trait InjectedFault: Copy {
    const FINE: Self;
    /// The port is down: the call has no effect, and no response arrives.
    const DOWN: Self;

    fn name(self) -> &'static str;
}

pub(crate) struct Call {
    process: Option<Arc<Process>>,
    pub(crate) there: Duration,
    back: Duration,
    pub(crate) dies: Option<KillTime>,
}

impl Call {
    pub(crate) async fn go(&self) {
        self.die(KillTime::Before).await;
        wait(self.there).await;
    }

    pub(crate) async fn respond(&self) {
        self.die(KillTime::After).await;
        wait(self.back).await;
    }

    pub(crate) async fn die(&self, when: KillTime) {
        if let (Some(process), true) = (&self.process, self.dies == Some(when)) {
            process.die().await;
        }
    }
}

async fn wait(duration: Duration) {
    if !duration.is_zero() {
        tokio::time::sleep(duration).await;
    }
}

#[derive(Debug)]
pub(crate) struct SimulatedWorld {
    began: Instant,
    pub(crate) start: DateTime<Utc>,
    pub(crate) quiet_at: DateTime<Utc>,
    pub(crate) probabilities: FaultProbabilities,
    kills: Vec<Kill>,
    missed_tick: Option<u32>,
    dice: Mutex<fastrand::Rng>,
    pub(crate) random: Random,
    trace: Mutex<Trace>,
    calls: AtomicU64,
    faults: AtomicU64,
    processes: AtomicU64,
    running: AtomicU64,
    deaths: AtomicU64,
    last_death: Mutex<Option<DateTime<Utc>>>,
}

impl SimulatedWorld {
    pub(crate) fn new(seed: u64, faults: &FaultPlan, quiet_after: TimeDelta) -> Self {
        let start = domain::testing::noon();
        let quiet_at = start + quiet_after;
        let mut dice = fastrand::Rng::with_seed(seed);
        let (probabilities, kills) = match faults {
            FaultPlan::None | FaultPlan::MissedTick => (FaultProbabilities::default(), Vec::new()),
            FaultPlan::Random => (FaultProbabilities::drawn(&mut dice, start, quiet_at), Vec::new()),
            FaultPlan::Script(kills) => (FaultProbabilities::default(), kills.clone()),
        };
        let ticks = u32::try_from(quiet_after.num_minutes()).unwrap_or(0).max(1);
        let missed_tick = (*faults == FaultPlan::MissedTick).then(|| dice.u32(1..=ticks));
        Self {
            began: Instant::now(),
            start,
            quiet_at,
            probabilities,
            kills,
            missed_tick,
            dice: Mutex::new(dice),
            random: Random::seeded(seed),
            trace: Mutex::default(),
            calls: AtomicU64::new(0),
            faults: AtomicU64::new(0),
            processes: AtomicU64::new(0),
            running: AtomicU64::new(0),
            deaths: AtomicU64::new(0),
            last_death: Mutex::new(None),
        }
    }

    pub(crate) fn now(&self) -> DateTime<Utc> {
        self.start + TimeDelta::from_std(self.began.elapsed()).unwrap_or_default()
    }

    pub(crate) fn clock(self: &Arc<Self>) -> Clock {
        let world = Arc::clone(self);
        Clock::from_fn(move || world.now())
    }

    pub(crate) async fn sleep_until(&self, at: DateTime<Utc>) {
        if let Ok(left) = (at - self.now()).to_std() {
            tokio::time::sleep(left).await;
        }
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet_at <= self.now()
    }

    /// Whether the period with faults ended so long ago that all users have finished.
    pub(crate) fn is_long_quiet(&self) -> bool {
        self.quiet_at + TimeDelta::minutes(20) < self.now()
    }

    /// Whether a fault with this probability happens; never after the period with faults.
    pub(crate) fn happens(&self, chance: f64) -> bool {
        0.0 < chance && !self.probabilities.is_fault_free() && !self.is_quiet() && lock(&self.dice).f64() < chance
    }

    pub(crate) fn misses_tick(&self, number: u32) -> bool {
        self.missed_tick == Some(number) || self.happens(self.probabilities.missed_tick_probability)
    }

    /// For draws that are not faults.
    pub(crate) fn dice(&self) -> MutexGuard<'_, fastrand::Rng> {
        lock(&self.dice)
    }

    pub(crate) fn up_to(&self, longest: Duration) -> Duration {
        self.between(Duration::ZERO, longest)
    }

    fn between(&self, least: Duration, most: Duration) -> Duration {
        let millis = |it: Duration| u64::try_from(it.as_millis()).unwrap_or(u64::MAX);
        Duration::from_millis(lock(&self.dice).u64(millis(least)..=millis(most)))
    }

    /// For a fault that is not the outcome of a call.
    pub(crate) fn count_fault(&self) {
        self.faults.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn note(&self, what: impl Into<String>) {
        lock(&self.trace).note(self.now(), what.into());
    }

    /// `faults` are the alternatives to success, each with its probability.
    pub(crate) fn call<F: InjectedFault>(&self, port: Port, what: String, faults: &[(f64, F)]) -> (Call, F) {
        let Some(process) = process::current() else {
            let call = Call { process: None, there: Duration::ZERO, back: Duration::ZERO, dies: None };
            return (call, F::FINE);
        };
        let number = 1 + self.calls.fetch_add(1, Ordering::Relaxed);
        let now = self.now();
        let fault = self.draw_fault(port, faults);
        let kill_point = self.draw_kill(number);
        let is_slow = self.happens(self.probabilities.slow_call_probability);
        let (least, usual) = port.pace();
        let duration = if is_slow { self.between(usual, port.slowest()) } else { self.between(least, usual) };
        let there = self.up_to(duration);

        let mut name = fault.name();
        if kill_point.is_some() || is_slow || !name.is_empty() {
            self.count_fault();
        }
        match kill_point {
            Some(KillTime::Before) => name = "dies before",
            Some(KillTime::After) => name = "dies after",
            None if is_slow && name.is_empty() => name = "slow",
            None => {}
        }
        lock(&self.trace).call(now, Arc::clone(&process), number, what, name);
        (Call { process: Some(process), there, back: duration.saturating_sub(there), dies: kill_point }, fault)
    }

    fn draw_fault<F: InjectedFault>(&self, port: Port, faults: &[(f64, F)]) -> F {
        if self.is_quiet() {
            return F::FINE;
        }
        let now = self.now();
        if self.probabilities.outages.iter().any(|it| it.port == port && it.from <= now && now < it.until) {
            return F::DOWN;
        }
        if self.probabilities.is_fault_free() {
            return F::FINE;
        }
        let mut drawn = lock(&self.dice).f64();
        for (chance, fault) in faults {
            if drawn < *chance {
                return *fault;
            }
            drawn -= chance;
        }
        F::FINE
    }

    fn draw_kill(&self, number: u64) -> Option<KillTime> {
        if let Some(kill) = self.kills.iter().find(|it| it.call == number) {
            return Some(kill.when);
        }
        let dies = self.happens(self.probabilities.crash_probability);
        dies.then(|| if lock(&self.dice).bool() { KillTime::Before } else { KillTime::After })
    }

    /// `None` when the process died or exceeded this time limit.
    pub(crate) fn process<T>(
        &self,
        function: &str,
        limit: Duration,
        work: impl Future<Output = T>,
    ) -> impl Future<Output = Option<T>> {
        let number = 1 + self.processes.fetch_add(1, Ordering::Relaxed);
        let name = format!("{function}#{number}");
        // On the heap, because a request's future is large and every future that awaits it would be
        // as large.
        let work = Box::pin(work);
        async move {
            self.running.fetch_add(1, Ordering::Relaxed);
            let ended = process::run(name.clone(), limit, work).await;
            self.running.fetch_sub(1, Ordering::Relaxed);
            if ended.is_none() {
                *lock(&self.last_death) = Some(self.now());
                self.deaths.fetch_add(1, Ordering::Relaxed);
                self.note(format!("{name} is gone"));
            }
            ended
        }
    }

    /// Includes processes that exceeded their limit.
    pub(crate) fn deaths(&self) -> u64 {
        self.deaths.load(Ordering::Relaxed)
    }

    pub(crate) fn last_death(&self) -> Option<DateTime<Utc>> {
        *lock(&self.last_death)
    }

    pub(crate) fn is_busy(&self) -> bool {
        0 < self.running.load(Ordering::Relaxed)
    }

    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    pub(crate) fn faults(&self) -> u64 {
        self.faults.load(Ordering::Relaxed)
    }

    pub(crate) fn take_trace(&self) -> Trace {
        std::mem::take(&mut lock(&self.trace))
    }
}

/// A run has one thread, so this never waits.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
