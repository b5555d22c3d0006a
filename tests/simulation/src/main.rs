//! The simulator as a command: see `--help`.

#![expect(clippy::print_stdout, reason = "what a command says, it prints")]

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::thread::available_parallelism;
use std::time::Duration;

use chrono::TimeDelta;

use clap::Parser;
use clap::builder::PossibleValuesParser;
use serde_json::{Value, json};
use simulation::mutations::{self, Verdict};
use simulation::scale::{self, Figures, Load, NoisyUser, Parameters, Profile};
use simulation::{
    CrashMatrix, Crashes, Fairness, FaultPlan, Report, Scenario, crash_matrix, fairness, lateness, platforms, run,
    side_by_side,
};

/// A run allocates constantly; this allocator reduces its time by a seventh.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Simulates publishing with injected faults of every kind.
///
/// Without options: random seeds, a crash at every port call, lateness, and the arithmetic of the
/// largest loads.
#[derive(Parser)]
#[command(name = "simulate")]
struct Options {
    /// Number of seeds to run
    #[arg(long, default_value_t = 1_000)]
    seeds: u64,
    /// The first seed to run
    #[arg(long, default_value_t = 1)]
    from: u64,
    /// Run only this seed and print everything that happens in it
    #[arg(long)]
    seed: Option<u64>,
    /// Write the figures to this file
    #[arg(long)]
    json: Option<PathBuf>,
    /// Kill at these points: about 2,600, 9,200 or 20,000 runs
    #[arg(long, value_enum, default_value = "pairs")]
    crashes: Crashes,
    /// Only break the protocol in every way of the list, and check that the simulation notices
    #[arg(long)]
    mutations: bool,
    /// Run only mutations whose names contain one of these
    #[arg(long, requires = "mutations")]
    only: Vec<String>,
    /// Run only seeds, until an invariant is broken
    #[arg(long)]
    until_broken: bool,
    /// Put all accounts of the seeds on this platform, and run only seeds
    #[arg(long, value_parser = PossibleValuesParser::new(platforms()))]
    on: Option<String>,
    /// Posts of the profile whose platform is slow, next to a hundred other profiles
    #[arg(long, default_value_t = 10_000)]
    slow_posts: i64,
    /// Run only these posts, due in one second and spread over 200, next to a hundred other profiles
    #[arg(long)]
    fairness: bool,
    /// Run only crashes, in the flows whose names contain this
    #[arg(long, conflicts_with = "on")]
    flow: Option<String>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let on = options.on.as_deref().and_then(|name| platforms().find(|it| *it == name));
    let has_passed = match options.seed {
        Some(seed) => replay(seed, &random_scenario(on)),
        None if let Some(flow) = &options.flow => {
            let matrix = crash_matrix(threads(), options.crashes, flow, options.until_broken);
            println!("{} crashes", matrix.points);
            print_broken(&matrix.broken) && matrix.points != 0
        }
        None if options.on.is_some() || options.until_broken => {
            print_broken(&Seeds::run(options.seeds(), options.until_broken, &random_scenario(on)).broken)
        }
        None if options.fairness => SlowProfile::measure(options.slow_posts).print(),
        None if options.mutations => mutate(&options.only, options.json.as_deref()),
        None => run_all(&options),
    };
    if has_passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

impl Options {
    const fn seeds(&self) -> RangeInclusive<u64> {
        self.from..=self.from.saturating_add(self.seeds).saturating_sub(1)
    }
}

fn random_scenario(on: Option<&'static str>) -> Scenario {
    Scenario { plot: None, on, faults: FaultPlan::Random }
}

fn threads() -> usize {
    available_parallelism().map_or(2, std::num::NonZero::get)
}

fn replay(seed: u64, scenario: &Scenario) -> bool {
    let report = run(seed, scenario);
    for line in report.trace.lines() {
        println!("{line}");
    }
    println!("\n{} port calls, {} faults, {} posts public", report.port_calls, report.faults, report.published);
    for broken in &report.broken {
        println!("\n{broken}");
    }
    report.broken.is_empty()
}

/// Returns whether there are none.
fn print_broken(broken: &[String]) -> bool {
    for it in broken {
        println!("{it}");
    }
    broken.is_empty()
}

#[derive(Default)]
struct Seeds {
    count: u64,
    port_calls: u64,
    faults: u64,
    published: u64,
    lost: u64,
    doubled: u64,
    stuck: u64,
    early: u64,
    broken: Vec<String>,
}

impl Seeds {
    fn run(seeds: RangeInclusive<u64>, until_broken: bool, scenario: &Scenario) -> Self {
        let all = Mutex::new(Self::default());
        let seeds: Vec<_> = seeds.collect();
        side_by_side(&seeds, threads(), until_broken, |seed| {
            let report = run(*seed, scenario);
            if let Ok(mut all) = all.lock() {
                all.add(&report);
            }
            report.broken.is_empty()
        });
        all.into_inner().unwrap_or_default()
    }

    fn add(&mut self, report: &Report) {
        self.count += 1;
        self.port_calls += report.port_calls;
        self.faults += report.faults;
        self.published += report.published;
        self.lost += report.lost;
        self.doubled += report.doubled;
        self.stuck += report.stuck;
        self.early += report.early;
        let replay = format!("again with: tests/simulate --seed {}", report.seed);
        self.broken.extend(report.broken.iter().map(|it| format!("seed {}: {it}\n{replay}", report.seed)));
    }
}

/// Milliseconds.
struct Lateness {
    posts: usize,
    earliest: i64,
    p50: i64,
    p99: i64,
    latest: i64,
    broken: Vec<String>,
}

impl Lateness {
    fn measure() -> Self {
        let reports: Vec<_> = (1..=20).map(lateness).collect();
        let mut all: Vec<_> =
            reports.iter().flat_map(|it| it.lateness.iter().map(chrono::TimeDelta::num_milliseconds)).collect();
        all.sort_unstable();
        let at = |percent: usize| all.get((all.len() * percent).div_ceil(100).saturating_sub(1)).copied().unwrap_or(-1);
        let broken = reports.iter().flat_map(|it| it.broken.iter().map(|b| format!("lateness {}: {b}", it.seed)));
        Self {
            posts: all.len(),
            earliest: all.first().copied().unwrap_or(-1),
            p50: at(50),
            p99: at(99),
            latest: all.last().copied().unwrap_or(-1),
            broken: broken.collect(),
        }
    }
}

/// A slow profile next to others: all its posts due in one second, and spread over 200 seconds.
struct SlowProfile([Fairness; 2]);

impl SlowProfile {
    fn measure(slow_posts: i64) -> Self {
        let (burst, spread) = std::thread::scope(|scope| {
            let burst = scope.spawn(|| fairness(1, slow_posts, 1));
            (burst.join(), fairness(1, slow_posts, 200))
        });
        Self([burst.unwrap_or_default(), spread])
    }

    fn p99(&self) -> TimeDelta {
        self.0.iter().map(Fairness::p99).max().unwrap_or(TimeDelta::MAX)
    }

    /// Returns whether the others are on time.
    fn print(&self) -> bool {
        for (how, it) in ["in one second", "over 200 s"].iter().zip(&self.0) {
            println!(
                "next to a slow profile with posts {how}: {} of {} posts, p99 {} ms, latest {} ms; {} slow calls",
                it.others_late.len(),
                it.others_posts,
                it.p99().num_milliseconds(),
                it.others_late.last().copied().unwrap_or_default().num_milliseconds(),
                it.slow_calls
            );
        }
        self.p99() <= TimeDelta::milliseconds(100)
    }
}

const SHOWN: usize = 5;

fn run_all(options: &Options) -> bool {
    let seeds = Seeds::run(options.seeds(), false, &random_scenario(None));
    let matrix = crash_matrix(threads(), options.crashes, "", false);
    let late = Lateness::measure();
    let profile = Profile::measured();
    let million = Figures::compute(Load::MILLION, Parameters::LARGEST, &profile);
    let noisy_user = Parameters::default().noisy_user();

    println!("a million posts in a minute, computed: {million:#?}");
    println!("docs/scale.md\n{}", scale::table(&profile));
    println!("deaths of a process, by flow");
    for (flow, points) in &matrix.flows {
        println!("  {flow:40} {points:>6}");
    }
    let broken: Vec<_> = seeds.broken.iter().chain(&matrix.broken).chain(&late.broken).collect();
    for it in broken.iter().take(SHOWN) {
        println!("\n{it}");
    }
    println!("\n{}\n", table(&seeds, &matrix, &late));
    let missed = targets_missed(&late, &million, noisy_user);
    for it in &missed {
        println!("target missed: {it}");
    }
    if let Some(file) = &options.json
        && !written(file, &figures(&seeds, &matrix, &late, &million, noisy_user))
    {
        return false;
    }
    let failed = broken.len() + missed.len();
    let checks = usize::try_from(seeds.count).unwrap_or(usize::MAX) + matrix.points;
    println!("{} passed, {failed} failed", checks - failed.min(checks));
    failed == 0
}

fn written(file: &Path, figures: &Value) -> bool {
    let written = std::fs::write(file, format!("{figures:#}\n"));
    if let Err(error) = &written {
        println!("{}: {error}", file.display());
    }
    written.is_ok()
}

fn mutate(only: &[String], json: Option<&Path>) -> bool {
    let print_verdict = |mutation: &mutations::Mutation, verdict, took: Duration| {
        let verdict = if verdict == Verdict::Caught { "caught" } else { "MISSED" };
        println!("{verdict} {:5.1} s  {}", took.as_secs_f64(), mutation.name);
    };
    let caught = match mutations::run(Path::new("."), only, print_verdict) {
        Ok(caught) => caught,
        Err(error) => {
            println!("{error}");
            0
        }
    };
    let tried = mutations::named(only).count();
    let kept = json.is_none_or(|it| written(it, &json!({ "mutations": tried, "mutations_caught": caught })));
    println!("{caught} passed, {} failed", tried - caught);
    kept && caught == tried
}

fn table(seeds: &Seeds, matrix: &CrashMatrix, late: &Lateness) -> String {
    let rows = [
        ("seeds", seeds.count.to_string()),
        ("port calls", seeds.port_calls.to_string()),
        ("faults injected", seeds.faults.to_string()),
        ("posts public", seeds.published.to_string()),
        ("crash points", matrix.points.to_string()),
        ("lost", (seeds.lost + matrix.lost).to_string()),
        ("doubled", (seeds.doubled + matrix.doubled).to_string()),
        ("stuck", (seeds.stuck + matrix.stuck).to_string()),
        ("early", (seeds.early + matrix.early).to_string()),
        ("other invariants broken", (seeds.broken.len() + matrix.broken.len() + late.broken.len()).to_string()),
        (
            "lateness of posts, ms",
            format!(
                "{} posts: earliest {}, p50 {}, p99 {}, latest {}",
                late.posts, late.earliest, late.p50, late.p99, late.latest
            ),
        ),
    ];
    let row = |(name, value): &(&str, String)| format!("{name:32} {value}");
    rows.iter().map(row).collect::<Vec<_>>().join("\n")
}

fn targets_missed(late: &Lateness, million: &Figures, noisy_user: NoisyUser) -> Vec<String> {
    let mut missed = Vec::new();
    let mut expect = |holds: bool, what: &str| {
        if !holds {
            missed.push(what.to_owned());
        }
    };
    expect(0 <= late.earliest, "no post early");
    expect(late.p50 <= 100, "half of the posts within 100 ms");
    expect(late.p99 <= 1_000, "99 of 100 posts within a second");
    expect(million.begun_s <= 60.0, "a million posts begun within the minute");
    expect(million.write_units_per_post < 4.01, "4 write units per post in the full minute");
    expect(million.read_units_to_plan <= 20_000.0, "20,000 read units to plan a million posts");
    expect(million.hottest_partition.share() <= 0.5, "no partition above half of its limit");
    let half = Parameters::default().delivery_concurrency / 2;
    expect(noisy_user.environments <= half, "half of the environments despite a user with slow servers");
    missed
}

fn figures(seeds: &Seeds, matrix: &CrashMatrix, late: &Lateness, million: &Figures, noisy_user: NoisyUser) -> Value {
    json!({
        "seeds": seeds.count,
        "faults": seeds.faults,
        "crash_points": matrix.points,
        "lost": seeds.lost + matrix.lost,
        "doubled": seeds.doubled + matrix.doubled,
        "stuck": seeds.stuck + matrix.stuck,
        "early": seeds.early + matrix.early,
        "broken": seeds.broken.len() + matrix.broken.len() + late.broken.len(),
        "lateness_p50_ms": late.p50,
        "lateness_p99_ms": late.p99,
        "million_drained_s": million.begun_s,
        "million_drained_from_idle_s": million.begun_from_idle_s,
        "write_units_per_post": million.write_units_per_post,
        "read_units_to_plan": million.read_units_to_plan,
        "hottest_partition_share": million.hottest_partition.share(),
        "environments_of_a_noisy_user": noisy_user.environments,
        "beside_a_noisy_user_at_most_ms": (1_000.0 * noisy_user.others_late_s).round(),
    })
}
