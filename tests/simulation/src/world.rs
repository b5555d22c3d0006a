//! The ground of a run: virtual time, the random generator, the faults, and the
//! trace of what happened.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::clock::Clock;
use tokio::time::Instant;

use crate::faults::{FaultPlan, FaultProbabilities, Kill, When};
use crate::port::Port;
use crate::process::{self, Process};
use crate::trace::Trace;

/// What becomes of a call, in terms of its port.
pub(crate) trait InjectedFault: Copy {
    /// The call succeeds.
    const FINE: Self;
    /// The port is down: the call has no effect, and no answer comes.
    const DOWN: Self;

    /// Its name in the trace.
    fn name(self) -> &'static str;
}

/// A call on its way.
pub(crate) struct Call {
    process: Option<Arc<Process>>,
    /// How long it takes to arrive.
    pub(crate) there: Duration,
    back: Duration,
    /// On which side of the call its process dies, if it does.
    pub(crate) dies: Option<When>,
}

impl Call {
    /// Waits until the call has arrived.
    pub(crate) async fn go(&self) {
        self.die(When::Before).await;
        wait(self.there).await;
    }

    /// Waits until its answer has arrived.
    pub(crate) async fn come_back(&self) {
        self.die(When::After).await;
        wait(self.back).await;
    }

    /// Ends the process, if it is to die on this side of the call.
    pub(crate) async fn die(&self, when: When) {
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

/// The ground of a run.
#[derive(Debug)]
pub(crate) struct SimulatedWorld {
    began: Instant,
    /// When the run begins.
    pub(crate) start: DateTime<Utc>,
    /// The time from which on nothing goes wrong any more.
    pub(crate) quiet_at: DateTime<Utc>,
    pub(crate) weather: FaultProbabilities,
    kills: Vec<Kill>,
    /// The number of the one tick that is missed.
    missed_tick: Option<u32>,
    dice: Mutex<fastrand::Rng>,
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
        let (weather, kills) = match faults {
            FaultPlan::None | FaultPlan::MissedTick => (FaultProbabilities::default(), Vec::new()),
            FaultPlan::Chance => (FaultProbabilities::drawn(&mut dice, start, quiet_at), Vec::new()),
            FaultPlan::Script(kills) => (FaultProbabilities::default(), kills.clone()),
        };
        let ticks = u32::try_from(quiet_after.num_minutes()).unwrap_or(0).max(1);
        let missed_tick = (*faults == FaultPlan::MissedTick).then(|| dice.u32(1..=ticks));
        Self {
            began: Instant::now(),
            start,
            quiet_at,
            weather,
            kills,
            missed_tick,
            dice: Mutex::new(dice),
            trace: Mutex::default(),
            calls: AtomicU64::new(0),
            faults: AtomicU64::new(0),
            processes: AtomicU64::new(0),
            running: AtomicU64::new(0),
            deaths: AtomicU64::new(0),
            last_death: Mutex::new(None),
        }
    }

    /// The virtual time.
    pub(crate) fn now(&self) -> DateTime<Utc> {
        self.start + TimeDelta::from_std(self.began.elapsed()).unwrap_or_default()
    }

    /// The same virtual time, for the code under test.
    pub(crate) fn clock(self: &Arc<Self>) -> Clock {
        let world = Arc::clone(self);
        Clock::of(move || world.now())
    }

    /// Waits until then.
    pub(crate) async fn sleep_until(&self, at: DateTime<Utc>) {
        if let Ok(left) = (at - self.now()).to_std() {
            tokio::time::sleep(left).await;
        }
    }

    /// Whether nothing goes wrong any more.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet_at <= self.now()
    }

    /// Whether all people have finished long ago.
    pub(crate) fn is_long_quiet(&self) -> bool {
        self.quiet_at + TimeDelta::minutes(20) < self.now()
    }

    /// Whether something with this chance happens; never once nothing goes
    /// wrong any more.
    pub(crate) fn befalls(&self, chance: f64) -> bool {
        0.0 < chance && !self.weather.is_fault_free() && !self.is_quiet() && lock(&self.dice).f64() < chance
    }

    /// Whether the tick with this number is missed.
    pub(crate) fn misses_tick(&self, number: u32) -> bool {
        self.missed_tick == Some(number) || self.befalls(self.weather.missed)
    }

    /// The random generator, for what is no fault.
    pub(crate) fn dice(&self) -> MutexGuard<'_, fastrand::Rng> {
        lock(&self.dice)
    }

    /// A random duration up to this long.
    pub(crate) fn up_to(&self, longest: Duration) -> Duration {
        self.between(Duration::ZERO, longest)
    }

    fn between(&self, least: Duration, most: Duration) -> Duration {
        let millis = |it: Duration| u64::try_from(it.as_millis()).unwrap_or(u64::MAX);
        Duration::from_millis(lock(&self.dice).u64(millis(least)..=millis(most)))
    }

    /// Counts a fault that is not the fate of a call.
    pub(crate) fn count_fault(&self) {
        self.faults.fetch_add(1, Ordering::Relaxed);
    }

    /// Adds a line to the trace.
    pub(crate) fn note(&self, what: impl Into<String>) {
        lock(&self.trace).note(self.now(), what.into());
    }

    /// Begins a port call and decides what becomes of it. `fates` are the
    /// alternatives to success, each with its chance.
    pub(crate) fn call<F: InjectedFault>(&self, port: Port, what: String, fates: &[(f64, F)]) -> (Call, F) {
        let Some(process) = process::current() else {
            let call = Call { process: None, there: Duration::ZERO, back: Duration::ZERO, dies: None };
            return (call, F::FINE);
        };
        let number = 1 + self.calls.fetch_add(1, Ordering::Relaxed);
        let now = self.now();
        let fate = self.fate(port, fates);
        let dies = self.death(number);
        let slow = self.befalls(self.weather.slow);
        let (least, usual) = port.pace();
        let duration = if slow { self.between(usual, port.slowest()) } else { self.between(least, usual) };
        let there = self.up_to(duration);

        let mut name = fate.name();
        if dies.is_some() || slow || !name.is_empty() {
            self.count_fault();
        }
        match dies {
            Some(When::Before) => name = "dies before",
            Some(When::After) => name = "dies after",
            None if slow && name.is_empty() => name = "slow",
            None => {}
        }
        lock(&self.trace).call(now, Arc::clone(&process), number, what, name);
        (Call { process: Some(process), there, back: duration.saturating_sub(there), dies }, fate)
    }

    fn fate<F: InjectedFault>(&self, port: Port, fates: &[(f64, F)]) -> F {
        if self.is_quiet() {
            return F::FINE;
        }
        let now = self.now();
        if self.weather.outages.iter().any(|it| it.port == port && it.from <= now && now < it.until) {
            return F::DOWN;
        }
        if self.weather.is_fault_free() {
            return F::FINE;
        }
        let mut thrown = lock(&self.dice).f64();
        for (chance, fate) in fates {
            if thrown < *chance {
                return *fate;
            }
            thrown -= chance;
        }
        F::FINE
    }

    fn death(&self, number: u64) -> Option<When> {
        if let Some(kill) = self.kills.iter().find(|it| it.call == number) {
            return Some(kill.when);
        }
        let dies = self.befalls(self.weather.deadly);
        dies.then(|| if lock(&self.dice).bool() { When::Before } else { When::After })
    }

    /// Does `work` as a process of a function with this time limit; `None` when
    /// it died or was cut off.
    pub(crate) fn process<T>(
        &self,
        function: &str,
        limit: Duration,
        work: impl Future<Output = T>,
    ) -> impl Future<Output = Option<T>> {
        let number = 1 + self.processes.fetch_add(1, Ordering::Relaxed);
        let name = format!("{function}#{number}");
        // On the heap, because a request's future is large and every future
        // that awaits it would be as large.
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

    /// How many processes have died or were cut off.
    pub(crate) fn deaths(&self) -> u64 {
        self.deaths.load(Ordering::Relaxed)
    }

    /// When a process last died.
    pub(crate) fn last_death(&self) -> Option<DateTime<Utc>> {
        *lock(&self.last_death)
    }

    /// Whether any process runs.
    pub(crate) fn is_busy(&self) -> bool {
        0 < self.running.load(Ordering::Relaxed)
    }

    /// Port calls so far.
    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Faults so far.
    pub(crate) fn faults(&self) -> u64 {
        self.faults.load(Ordering::Relaxed)
    }

    pub(crate) fn take_trace(&self) -> Trace {
        std::mem::take(&mut lock(&self.trace))
    }
}

/// Locks a mutex. A run has one thread, so this never waits.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
