//! Runs every test of the project on this machine.

mod list;
mod log;

use std::{
    fs,
    path::PathBuf,
    process::{Command, ExitCode},
    sync::Mutex,
    time::{Duration, Instant},
};

use clap::Parser;
use serde_json::json;
use steps::{
    ROOT, ensure,
    error::Result,
    program::ended,
    report::say,
    schedule::{self, Kind, Outcome, ScheduledStep},
    tools::run as run_to_end,
};

use self::{
    list::{STEPS, Step},
    log::Log,
};

/// Runs every test of the project: formatting, lints, unit and property tests, black box, crashes,
/// the functions, other platforms, the API document, the template and its deployment, a browser,
/// and the simulation of publishing.
#[derive(Parser)]
#[command(name = "all", after_help = list_of_steps())]
struct Options {
    /// Run only these steps and the steps that they need
    #[arg(long, num_args = 1.., value_name = "NAME", value_parser = names())]
    only: Vec<String>,
    /// Run only this step, those after it in the list, and the steps that they need
    #[arg(long, value_name = "NAME", value_parser = names(), conflicts_with = "only")]
    from: Option<String>,
    /// Write the results to this file
    #[arg(long, default_value = "target/tests/all.json")]
    json: PathBuf,
}

fn names() -> clap::builder::PossibleValuesParser {
    STEPS.map(|it| it.place.name).into()
}

fn list_of_steps() -> String {
    let line = |it: &Step| format!("  {:13} {}", it.place.name, it.about);
    format!("Steps:\n{}", STEPS.iter().map(line).collect::<Vec<_>>().join("\n"))
}

fn main() -> ExitCode {
    ended(run(&Options::parse()))
}

fn run(options: &Options) -> Result<bool> {
    // Every path below is relative to the top of the project.
    std::env::set_current_dir(ROOT)?;
    fs::create_dir_all("target/tests")?;
    let (began, source_version) = (Instant::now(), source_version()?);
    let steps = select_steps(options);
    let infos: Vec<ScheduledStep> = steps.iter().map(|it| it.place).collect();
    let output_lock = Mutex::new(());
    let outcomes = schedule::run(&infos, |index| run_step(&steps[index], &output_lock), |done| done.failed == 0);

    say("\nstep           waited    built      ran  processor   passed  failed");
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for (info, outcome) in infos.iter().zip(&outcomes) {
        match outcome {
            Outcome::Ran { result: StepResult { skipped: Some(why), .. }, .. } => {
                say(&format!("{:13} skipped: {why}", info.name));
                skipped += 1;
            }
            Outcome::Ran { waited, result } => {
                let [waited, built, ran, processor] = [waited, &result.built, &result.ran, &result.processor]
                    .map(|it| format!("{:.0} s", it.as_secs_f64()));
                say(&format!(
                    "{:13} {waited:>7} {built:>8} {ran:>8} {processor:>10}  {:7} {:7}",
                    info.name, result.passed, result.failed
                ));
                passed += result.passed;
                failed += result.failed;
            }
            Outcome::NotRun { lacks } => {
                say(&format!("{:13} not run: {lacks} did not pass", info.name));
                failed += 1;
            }
        }
    }
    let all = began.elapsed().as_secs_f64();
    let left_out = STEPS.len() - steps.len();
    if 0 < left_out {
        say(&format!("{left_out} of {} steps were not asked for", STEPS.len()));
    }
    say(&format!("all together {:.1} minutes", all / 60.0));
    let done: Vec<_> = infos.iter().zip(&outcomes).map(|(info, outcome)| figures(info, outcome)).collect();
    let results = json!({
        "sources": source_version,
        "passed": passed,
        "failed": failed,
        "skipped": skipped,
        "left_out": left_out,
        "seconds": all,
        "steps": done,
    });
    fs::write(&options.json, format!("{results:#}\n"))?;
    say(&format!("\n{passed} passed, {failed} failed, {skipped} skipped"));
    Ok(failed == 0)
}

/// Returns the steps in the order of the list.
fn select_steps(options: &Options) -> Vec<Step> {
    let from = options.from.as_deref().and_then(|name| STEPS.iter().position(|it| it.place.name == name));
    let mut wanted: Vec<&str> = match from {
        Some(from) => STEPS[from..].iter().map(|it| it.place.name).collect(),
        None if options.only.is_empty() => STEPS.iter().map(|it| it.place.name).collect(),
        None => options.only.iter().map(String::as_str).collect(),
    };
    let mut next = 0;
    while let Some(name) = wanted.get(next) {
        let needs = STEPS.iter().filter(|it| it.place.name == *name).flat_map(|it| it.place.needs);
        let more: Vec<_> = needs.copied().filter(|it| !wanted.contains(it)).collect();
        wanted.extend(more);
        next += 1;
    }
    STEPS.into_iter().filter(|it| wanted.contains(&it.place.name)).collect()
}

/// The commit, and whether files differ from it.
fn source_version() -> Result<String> {
    let git = |arguments: &[&str]| run_to_end(Command::new("git").args(arguments));
    let commit = git(&["rev-parse", "--short=10", "HEAD"])?;
    let changed = if git(&["status", "--porcelain"])?.is_empty() { "" } else { " with changes" };
    Ok(format!("{}{changed}", commit.trim()))
}

struct StepResult {
    built: Duration,
    ran: Duration,
    /// Of all processors.
    processor: Duration,
    passed: usize,
    failed: usize,
    /// Such a step counts neither as passed nor as failed.
    skipped: Option<&'static str>,
}

fn run_step(step: &Step, output_lock: &Mutex<()>) -> StepResult {
    let name = step.place.name;
    say(&format!("     {name}: {}", step.about));
    let started = Instant::now();
    // Only a computing step runs with low priority: a measuring step runs alone anyway, and a
    // waiting step must not be delayed.
    let log = Log::new(name, step.place.kind == Kind::Computes);
    let result = log.as_ref().map_err(Clone::clone).and_then(|log| (step.run)(log));
    let took = started.elapsed();
    let text = log.as_ref().map(Log::text).unwrap_or_default();
    let built = log.as_ref().map(Log::built).unwrap_or_default();
    let processor = log.as_ref().map(Log::processor).unwrap_or_default();
    let (mut passed, mut failed) = count_tests(&text);

    // Several steps may end at once; the lock keeps the lines of each together.
    let _together = output_lock.lock();
    let skipped = log.as_ref().ok().and_then(Log::skipped);
    match result.and_then(|()| {
        ensure!(failed == 0, "{failed} failed");
        Ok(())
    }) {
        Ok(()) if let Some(why) = skipped => {
            say(&format!("skip {:6.1} s  {name}: {why}", took.as_secs_f64()));
        }
        Ok(()) => {
            passed = passed.max(1);
            say(&format!("ok   {:6.1} s  {name}", took.as_secs_f64()));
        }
        Err(error) => {
            failed = failed.max(1);
            let end = log.as_ref().map(Log::end).unwrap_or_default();
            say(&format!("{end}\nFAIL {:6.1} s  {name}: {error}", took.as_secs_f64()));
        }
    }
    if let Some(from) = step.shows {
        text.lines().skip_while(|it| !it.starts_with(from)).for_each(say);
    }
    StepResult { built, ran: took.saturating_sub(built), processor, passed, failed, skipped }
}

fn count_tests(log: &str) -> (usize, usize) {
    let mut sum = (0, 0);
    for line in log.lines() {
        let line = line.trim_start_matches("test result: ok. ").trim_start_matches("test result: FAILED. ");
        let words: Vec<_> = line.split([' ', ',', ';']).filter(|it| !it.is_empty()).collect();
        if let [passed, "passed", failed, "failed", ..] = words[..]
            && let (Ok(passed), Ok(failed)) = (passed.parse::<usize>(), failed.parse::<usize>())
        {
            sum = (sum.0 + passed, sum.1 + failed);
        }
    }
    sum
}

fn figures(info: &ScheduledStep, outcome: &Outcome<StepResult>) -> serde_json::Value {
    match outcome {
        Outcome::Ran { waited, result } => json!({
            "name": info.name,
            "waited_s": waited.as_secs_f64(),
            "built_s": result.built.as_secs_f64(),
            "ran_s": result.ran.as_secs_f64(),
            "processor_s": result.processor.as_secs_f64(),
            "passed": result.passed,
            "failed": result.failed,
            "skipped": result.skipped,
        }),
        Outcome::NotRun { lacks } => json!({ "name": info.name, "not_run": format!("{lacks} did not pass") }),
    }
}
