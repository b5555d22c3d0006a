//! Every test there is, in order, on this machine.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

use clap::Parser;
use serde_json::json;
use tests::{
    bluesky_server::BlueskyProgram,
    fault::{Fault, Result},
    harness::{Harness, LIFTED, binary},
    report::say,
    tools::{AWS_CLI, MASTODON_MOCK, MINISTACK, SAM, SCHEMATHESIS},
};

const FAST_LEAVES_OUT: [&str; 9] =
    ["simulation", "blackbox", "tools", "platforms", "template", "binaries", "deployed", "schemathesis", "browser"];

/// Every test of the project: formatting, lints, unit and property tests, black
/// box, crashes, the functions, other platforms, the API document, the template
/// and what it deploys, a browser, and publishing in simulation.
#[derive(Parser)]
#[command(name = "all")]
struct Options {
    /// Write the results here.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Leave out what takes minutes or needs tools from elsewhere: simulation,
    /// black box, platforms, schemathesis, template, deployment and browser.
    #[arg(long)]
    fast: bool,
}

/// One step of the run.
struct Step {
    name: &'static str,
    about: &'static str,
    run: fn(&Log) -> Result,
}

const STEPS: [Step; 13] = [
    Step { name: "format", about: "the code is formatted", run: format },
    Step { name: "clippy", about: "no lint has anything to say", run: clippy },
    Step { name: "build", about: "all binaries", run: build },
    Step { name: "tests", about: "unit, property and function tests", run: unit },
    Step {
        name: "simulation",
        about: "seeds, a death at every call, a million posts, the protocol broken on purpose",
        run: simulation,
    },
    Step {
        name: "blackbox",
        about: "every operation through HTTP, faults, limits, and kill -9 in a loop",
        run: blackbox,
    },
    Step {
        name: "tools",
        about: "schemathesis, sam, an emulator of AWS, servers of Bluesky and Mastodon, and the browser driver",
        run: tools,
    },
    Step {
        name: "platforms",
        about: "other platforms connected: several at once, a real Bluesky server, a Mastodon server by others",
        run: platforms,
    },
    Step { name: "template", about: "sam validate --lint", run: template },
    Step { name: "binaries", about: "size, start and memory of the functions within their limits", run: binaries },
    Step {
        name: "deployed",
        about: "the template deployed, driven, killed, updated, and its roles held against what was done",
        run: deployed,
    },
    Step { name: "schemathesis", about: "the served API document against the service", run: schemathesis },
    Step { name: "browser", about: "the whole journey in Chromium, with screenshots", run: browser },
];

/// What a step did: its name, its time, and how many checks passed and failed.
struct Done {
    name: &'static str,
    took: Duration,
    passed: usize,
    failed: usize,
}

fn main() -> ExitCode {
    let options = Options::parse();
    match run(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(fault) => {
            say(&format!("{fault}\n\n0 passed, 1 failed"));
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<bool> {
    fs::create_dir_all("target/tests")?;
    let mut all = Vec::new();
    for step in STEPS {
        if options.fast && FAST_LEAVES_OUT.contains(&step.name) {
            say(&format!("     --fast leaves out {}: {}", step.name, step.about));
            continue;
        }
        all.push(one(&step));
    }
    let (passed, failed) = all.iter().fold((0, 0), |(passed, failed), it| (passed + it.passed, failed + it.failed));
    say("\nstep            time     passed  failed");
    for it in &all {
        let seconds = it.took.as_secs_f64();
        say(&format!("{:14} {seconds:6.1} s  {:6}  {:6}", it.name, it.passed, it.failed));
    }
    if let Some(file) = &options.json {
        let steps: Vec<_> = all
            .iter()
            .map(|it| json!({ "name": it.name, "seconds": it.took.as_secs_f64(), "passed": it.passed, "failed": it.failed }))
            .collect();
        fs::write(file, format!("{:#}\n", json!({ "passed": passed, "failed": failed, "steps": steps })))?;
    }
    say(&format!("\n{passed} passed, {failed} failed"));
    Ok(failed == 0)
}

fn one(step: &Step) -> Done {
    say(&format!("     {}: {}", step.name, step.about));
    let started = Instant::now();
    let log = Log::new(step.name);
    let result = (step.run)(&log);
    let took = started.elapsed();
    let (mut passed, mut failed) = counted(&log.text());
    match result {
        Ok(()) => {
            passed = passed.max(1);
            say(&format!("ok   {:6.1} s  {}", took.as_secs_f64(), step.name));
        }
        Err(fault) => {
            failed = failed.max(1);
            say(&format!("{}\nFAIL {:6.1} s  {}: {fault}", log.end(), took.as_secs_f64(), step.name));
        }
    }
    Done { name: step.name, took, passed, failed }
}

/// Adds up what test programs say they counted.
fn counted(log: &str) -> (usize, usize) {
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

/// Where the output of a step goes.
struct Log {
    file: PathBuf,
}

impl Log {
    fn new(step: &str) -> Self {
        let file = Path::new("target/tests").join(format!("{step}.log"));
        let _ = fs::write(&file, "");
        Self { file }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.file).unwrap_or_default()).into_owned()
    }

    /// Enough of it to see what went wrong; the file has the rest.
    fn end(&self) -> String {
        let text = self.text();
        let lines: Vec<_> = text.lines().collect();
        let from = lines.len().saturating_sub(80);
        format!("{}\n     (all of it: {})", lines[from..].join("\n"), self.file.display())
    }

    fn command(&self, program: impl AsRef<Path>, arguments: &[&str], limit: Duration) -> Result {
        self.command_in(Path::new("."), program, arguments, limit)
    }

    fn command_in(&self, folder: &Path, program: impl AsRef<Path>, arguments: &[&str], limit: Duration) -> Result {
        let program = program.as_ref();
        let output = fs::OpenOptions::new().append(true).create(true).open(&self.file)?;
        let mut child = Command::new(program)
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .map_err(|error| Fault::new(format!("{}: {error}", program.display())))?;
        let started = Instant::now();
        loop {
            if let Some(status) = child.try_wait()? {
                return if status.success() { Ok(()) } else { Err(Fault::new(format!("{status}"))) };
            }
            if limit < started.elapsed() {
                child.kill()?;
                child.wait()?;
                return Err(Fault::new(format!("did not end within {limit:?}")));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

const LONG: Duration = Duration::from_mins(20);

fn format(log: &Log) -> Result {
    log.command("cargo", &["fmt", "--all", "--check"], LONG)
}

fn clippy(log: &Log) -> Result {
    log.command("cargo", &["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"], LONG)
}

fn build(log: &Log) -> Result {
    log.command("cargo", &["build", "--quiet", "--workspace", "--bins"], LONG)
}

fn unit(log: &Log) -> Result {
    log.command("cargo", &["test", "--quiet", "--workspace"], LONG)
}

fn simulation(log: &Log) -> Result {
    // An optimized build first, and one of our own crates for each mutation. By
    // hand it plays five times as many seeds: here time is short.
    let limit = Duration::from_mins(40);
    let arguments = ["--seeds", "2000", "--mutations", "--json", "target/tests/simulation.json"];
    let ended = log.command("tests/simulate", &arguments, limit);
    // Its table is what everything else here is for.
    let text = log.text();
    let table = text.lines().skip_while(|it| !it.starts_with("seeds "));
    table.for_each(say);
    ended
}

fn blackbox(log: &Log) -> Result {
    log.command(binary("blackbox")?, &["--json", "target/tests/blackbox.json"], LONG)
}

fn tools(log: &Log) -> Result {
    for tool in [SCHEMATHESIS, SAM, MINISTACK, AWS_CLI, MASTODON_MOCK] {
        tool.program()?;
    }
    BlueskyProgram::installed()?;
    log.command_in(Path::new("tests/browser"), "npm", &["ci", "--no-audit", "--no-fund"], LONG)
}

fn platforms(log: &Log) -> Result {
    let arguments = ["--json", "target/tests/platforms.json"];
    log.command(binary("platforms")?, &arguments, Duration::from_mins(10))
}

fn template(log: &Log) -> Result {
    let arguments = ["validate", "--lint", "--template", "template.yaml", "--region", "eu-central-1"];
    log.command(SAM.program()?, &arguments, LONG)
}

fn binaries(log: &Log) -> Result {
    // A release build of all functions first.
    let ended = log.command(binary("bench")?, &["binaries", "--json", "target/tests/binaries.json"], LONG);
    log.text().lines().for_each(say);
    ended
}

fn deployed(log: &Log) -> Result {
    log.command(binary("deployed")?, &["--json", "target/tests/deployed.json"], Duration::from_mins(30))
}

fn schemathesis(log: &Log) -> Result {
    let local = started(&LIFTED)?;
    let ready = local.ready();
    let authorization = format!("Authorization: Bearer {}", ready.token);
    let document = format!("{}/openapi.json", ready.base_url);
    let arguments = [
        "--config-file",
        "tests/schemathesis.toml",
        "run",
        "--no-color",
        "--checks=all",
        "--max-examples=25",
        "--seed=1",
        "--generation-database=none",
        "--continue-on-failure",
        "--request-timeout=40",
        "--suppress-health-check=all",
        "-H",
        &authorization,
        &document,
    ];
    log.command(SCHEMATHESIS.program()?, &arguments, Duration::from_mins(6))
}

fn browser(log: &Log) -> Result {
    let folder = tempfile::TempDir::new()?;
    let local = started(&LIFTED)?;
    let ready_file = folder.path().join("ready.json");
    let ready = local.ready();
    let ready = json!({ "origin": ready.origin, "base_url": ready.base_url, "token": ready.token });
    fs::write(&ready_file, ready.to_string())?;
    let ready_file = ready_file.to_string_lossy().into_owned();
    let arguments = ["tests/browser/journey.mjs", "--ready-file", &ready_file, "--screenshots", "target/screenshots"];
    log.command("node", &arguments, Duration::from_mins(5))
}

fn started(extra: &[&str]) -> Result<Harness> {
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(Harness::start(extra))
}
