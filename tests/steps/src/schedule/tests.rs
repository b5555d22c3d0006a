use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

fn step(name: &'static str, kind: Kind, needs: &'static [&'static str]) -> ScheduledStep {
    ScheduledStep { name, kind, needs, after: &[] }
}

/// Returns the names in the order in which the steps began, and their outcomes.
fn run_schedule(places: &[ScheduledStep], failing: &[&str]) -> (Vec<&'static str>, Vec<Outcome<bool>>) {
    let begun = Mutex::new(Vec::new());
    let outcomes = run(
        places,
        |index| {
            begun.lock().expect("nobody panics").push(places[index].name);
            !failing.contains(&places[index].name)
        },
        |passed| *passed,
    );
    (begun.into_inner().expect("nobody panics"), outcomes)
}

#[test]
fn needed_steps_run_first() {
    let places =
        [step("deploy", Kind::Waits, &["build"]), step("build", Kind::Computes, &[]), step("x", Kind::Computes, &[])];

    let (begun, outcomes) = run_schedule(&places, &[]);

    let at = |name| begun.iter().position(|it| *it == name);
    assert!(at("build") < at("deploy"), "{begun:?}");
    assert!(outcomes.iter().all(|it| matches!(it, Outcome::Ran { result: true, .. })));
}

#[test]
fn step_that_lacks_something_is_skipped_with_its_dependents() {
    let places = [
        step("build", Kind::Computes, &[]),
        step("deploy", Kind::Waits, &["build"]),
        step("look", Kind::Waits, &["deploy"]),
        step("other", Kind::Waits, &[]),
    ];

    let (begun, outcomes) = run_schedule(&places, &["build"]);

    assert_eq!(begun.len(), 2, "{begun:?}");
    assert_eq!(outcomes[1], Outcome::NotRun { lacks: "build" });
    assert_eq!(outcomes[2], Outcome::NotRun { lacks: "deploy" });
    assert!(matches!(outcomes[3], Outcome::Ran { result: true, .. }));
}

#[test]
fn later_step_runs_even_if_the_earlier_one_failed() {
    let mut places = [step("first", Kind::Waits, &[]), step("second", Kind::Waits, &[])];
    places[1].after = &["first", "what is not in this run"];

    let (begun, outcomes) = run_schedule(&places, &["first"]);

    assert_eq!(begun, ["first", "second"]);
    assert!(matches!(outcomes[1], Outcome::Ran { result: true, .. }));
}

#[test]
fn one_step_computes_at_a_time_and_measurements_run_alone() {
    let kinds = [Kind::Computes, Kind::Waits, Kind::Computes, Kind::Waits, Kind::Computes, Kind::Measures];
    let places = kinds.map(|kind| step("it", kind, &[]));
    let (computing, all) = (AtomicUsize::new(0), AtomicUsize::new(0));

    let outcomes = run(
        &places,
        |index| {
            let kind = places[index].kind;
            let computes = usize::from(kind == Kind::Computes);
            let together = (computing.fetch_add(computes, Ordering::SeqCst), all.fetch_add(1, Ordering::SeqCst));
            thread::yield_now();
            computing.fetch_sub(computes, Ordering::SeqCst);
            all.fetch_sub(1, Ordering::SeqCst);
            match kind {
                Kind::Computes => together.0 == 0,
                Kind::Waits => true,
                Kind::Measures => together.1 == 0,
            }
        },
        |well| *well,
    );

    assert!(outcomes.iter().all(|it| matches!(it, Outcome::Ran { result: true, .. })), "{outcomes:?}");
}

#[test]
#[should_panic(expected = "a step breaks")]
fn panicking_step_ends_the_run() {
    let places = [step("first", Kind::Waits, &[]), step("second", Kind::Waits, &[])];

    run(&places, |index| assert!(index == 0, "a step breaks"), |()| true);
}
