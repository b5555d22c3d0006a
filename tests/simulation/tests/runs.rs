//! Runs of whole seeds: they are reproducible, and their invariants hold.

use simulation::{FaultPlan, Kill, KillTime, Report, Scenario, run};

fn by_chance(seed: u64) -> Report {
    run(seed, &Scenario { plot: None, on: None, faults: FaultPlan::Random })
}

fn trace(report: &Report) -> Vec<String> {
    report.trace.lines().collect()
}

#[test]
fn seed_reproduces_its_run() {
    for seed in [3, 4, 10] {
        let first = by_chance(seed);
        by_chance(seed + 1);
        let again = by_chance(seed);
        let elsewhere = std::thread::spawn(move || by_chance(seed)).join().unwrap();

        for other in [&again, &elsewhere] {
            let lines = first.trace.lines().zip(other.trace.lines());
            let different = lines.into_iter().find(|(one, two)| one != two);
            assert_eq!(different, None, "seed {seed}");
            assert!(first.trace == other.trace);
        }
        assert_eq!((first.faults, first.port_calls), (again.faults, again.port_calls));
    }
}

#[test]
fn invariants_hold_for_some_seeds() {
    let mut faults = 0;
    for seed in 1..=25 {
        let report = by_chance(seed);

        assert_eq!(report.broken, Vec::<String>::new(), "seed {seed}");
        faults += report.faults;
    }
    assert!(0 < faults);
}

#[test]
fn run_without_faults_is_on_time() {
    // None of its platforms is slow or limited.
    let report = run(7, &Scenario { plot: None, on: None, faults: FaultPlan::None });

    assert_eq!(report.broken, Vec::<String>::new());
    assert_eq!(report.faults, 0);
    assert!(report.calm && 0 < report.published);
    assert!(report.lateness.iter().all(|it| it.num_milliseconds() < 1_000), "{:?}", report.lateness);
}

#[test]
fn scripted_crash_happens_at_its_call_and_changes_nothing_before() {
    let calm = run(5, &Scenario { plot: None, on: None, faults: FaultPlan::None });

    for (call, when) in [(1, KillTime::Before), (40, KillTime::Before), (40, KillTime::After)] {
        let killed = run(5, &Scenario { plot: None, on: None, faults: FaultPlan::Script(vec![Kill { call, when }]) });

        assert_eq!(killed.faults, 1);
        let (calm, killed) = (trace(&calm), trace(&killed));
        let death = killed.iter().position(|it| it.contains("-> dies")).unwrap();
        assert_eq!(calm[..death], killed[..death]);
        assert!(calm[death].starts_with(killed[death].split(" -> ").next().unwrap()));
    }
}
