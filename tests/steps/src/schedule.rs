//! Decides which steps run when: as many at the same time as do not disturb each other.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// All cores. One such step runs at a time, in the order of the list.
    Computes,
    /// Mostly time. Such a step begins as soon as the steps that it needs have passed.
    Waits,
    /// The whole machine, because it measures.
    Measures,
}

#[derive(Clone, Copy, Debug)]
pub struct ScheduledStep {
    pub name: &'static str,
    pub kind: Kind,
    /// Steps that must have passed before; without them this one cannot run.
    pub needs: &'static [&'static str],
    /// Steps that must have ended before, if they run at all.
    pub after: &'static [&'static str],
}

#[derive(Debug, PartialEq, Eq)]
pub enum Outcome<T> {
    Ran {
        waited: Duration,
        result: T,
    },
    /// It did not run, because a step that it needs did not pass.
    NotRun {
        lacks: &'static str,
    },
}

/// Returns the outcomes in the order of the list. `passed` decides whether the result of a step is
/// good.
pub fn run<T: Send>(
    steps: &[ScheduledStep],
    run: impl Fn(usize) -> T + Sync,
    passed: impl Fn(&T) -> bool,
) -> Vec<Outcome<T>> {
    let began = Instant::now();
    let mut outcomes: Vec<Option<Outcome<T>>> = steps.iter().map(|_| None).collect();
    let mut running: Vec<usize> = Vec::new();
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        loop {
            while let Some(next) = next(steps, &outcomes, &running, &passed) {
                match next {
                    Next::Skip(index, lacks) => outcomes[index] = Some(Outcome::NotRun { lacks }),
                    Next::Run(index) => {
                        running.push(index);
                        let (sender, run, waited) = (sender.clone(), &run, began.elapsed());
                        scope.spawn(move || {
                            let result = catch_unwind(AssertUnwindSafe(|| run(index)));
                            sender.send((index, waited, result))
                        });
                    }
                }
            }
            if running.is_empty() {
                break;
            }
            let Ok((index, waited, result)) = receiver.recv() else { break };
            running.retain(|it| *it != index);
            // Otherwise the schedule would wait forever.
            let result = result.unwrap_or_else(|panic| resume_unwind(panic));
            outcomes[index] = Some(Outcome::Ran { waited, result });
        }
    });
    outcomes.into_iter().map(|it| it.unwrap_or(Outcome::NotRun { lacks: "a place in the order" })).collect()
}

enum Next {
    Run(usize),
    Skip(usize, &'static str),
}

fn next<T>(
    steps: &[ScheduledStep],
    outcomes: &[Option<Outcome<T>>],
    running: &[usize],
    passed: &impl Fn(&T) -> bool,
) -> Option<Next> {
    let index_of = |name: &str| steps.iter().position(|it| it.name == name);
    let waiting = |index: &usize| outcomes[*index].is_none() && !running.contains(index);
    let is_running = |kind: Kind| running.iter().any(|it| steps[*it].kind == kind);
    for index in (0..steps.len()).filter(waiting) {
        let step = &steps[index];
        let missing = step.needs.iter().find(|it| {
            let outcome = index_of(it).and_then(|it| outcomes[it].as_ref());
            matches!(outcome, Some(Outcome::NotRun { .. }))
                || matches!(outcome, Some(Outcome::Ran { result, .. }) if !passed(result))
        });
        if let Some(missing) = missing {
            return Some(Next::Skip(index, missing));
        }
        let mut before = step.needs.iter().chain(step.after).filter_map(|it| index_of(it));
        if before.any(|it| outcomes[it].is_none()) {
            continue;
        }
        let free = match step.kind {
            Kind::Computes => !is_running(Kind::Computes) && !is_running(Kind::Measures),
            Kind::Waits => !is_running(Kind::Measures),
            // Every step listed before it must have ended.
            Kind::Measures => running.is_empty() && (0..index).all(|it| outcomes[it].is_some()),
        };
        if free {
            return Some(Next::Run(index));
        }
    }
    None
}

#[cfg(test)]
mod tests;
