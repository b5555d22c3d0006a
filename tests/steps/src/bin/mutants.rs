//! Mutates the security code with cargo-mutants, and counts the mutants that its own tests catch.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    process::{Command, ExitCode},
};

use clap::Parser;
use serde_json::Value;
use steps::{
    ROOT, ensure,
    error::{Result, TestError},
    program::ended,
    report::say,
    tools::{CARGO_MUTANTS, run},
};

/// Mutates the code that decides about access, and runs the tests of its crates.
///
/// The mutants are made in this working tree, one after the other, so that each build is
/// incremental: commit all changes first, and run no other build here meanwhile. An interrupted run
/// leaves one mutant behind: `git restore .` removes it. Mutants that no test can catch are in
/// .cargo/mutants.toml, each with its reason.
#[derive(Parser)]
#[command(name = "mutants")]
struct Options {
    /// Mutate only this package
    #[arg(long, value_parser = AREAS.map(|it| it.package))]
    package: Option<String>,
    /// Mutate only files with this in their path
    #[arg(long)]
    only: Option<String>,
    /// Run only this part of each package's mutants, such as 1/4
    #[arg(long)]
    shard: Option<String>,
    /// Run nothing: show the results of the last run
    #[arg(long)]
    show: bool,
}

#[derive(Clone, Copy)]
struct Area {
    package: &'static str,
    /// Globs, relative to the root.
    files: &'static [&'static str],
    /// Empty for the package itself.
    tested_by: &'static [&'static str],
}

const AREAS: [Area; 6] = [
    Area { package: "egress", files: &["libs/egress/src/**"], tested_by: &[] },
    Area {
        package: "api",
        files: &[
            "libs/api/src/middleware.rs",
            "libs/api/src/middleware/**",
            "libs/api/src/limit.rs",
            "libs/api/src/limit/**",
            "libs/api/src/caller.rs",
            "libs/api/src/session.rs",
            "libs/api/src/proxy.rs",
        ],
        tested_by: &[],
    },
    Area {
        package: "auth",
        files: &[
            "functions/auth/src/authorize.rs",
            "functions/auth/src/authorize/**",
            "functions/auth/src/client_documents.rs",
            "functions/auth/src/oidc.rs",
            "functions/auth/src/oidc/**",
            "functions/auth/src/exchange_*",
        ],
        tested_by: &[],
    },
    Area { package: "domain", files: &["libs/domain/src/connect_flow.rs"], tested_by: &[] },
    Area {
        package: "connecting",
        files: &[
            "libs/connecting/src/flow.rs",
            "libs/connecting/src/start.rs",
            "libs/connecting/src/submit.rs",
            "libs/connecting/src/callback.rs",
            "libs/connecting/src/accounts.rs",
        ],
        tested_by: &["connecting", "connections"],
    },
    Area {
        package: "connections",
        files: &[
            "functions/connections/src/participant.rs",
            "functions/connections/src/connect_page.rs",
            "functions/connections/src/receive_callback.rs",
            "functions/connections/src/poll_connect_flow.rs",
        ],
        tested_by: &[],
    },
];

/// Percent of the mutants of each file.
const WANTED: usize = 90;

#[derive(Clone, Copy, Default)]
struct Tally {
    /// Caught, or stopped because the mutant ran for too long.
    caught: usize,
    missed: usize,
    unviable: usize,
}

fn main() -> ExitCode {
    ended(mutate(&Options::parse()))
}

fn mutate(options: &Options) -> Result<bool> {
    let areas = AREAS.iter().filter(|it| options.package.as_ref().is_none_or(|package| package == it.package));
    let mut all = BTreeMap::new();
    let mut missed = Vec::new();
    for area in areas {
        if !options.show {
            area.mutate(options)?;
        }
        area.count(&mut all, &mut missed)?;
    }
    ensure!(!all.is_empty(), "there is no mutant with these options");
    for name in missed {
        say(&format!("missed {name}"));
    }
    say(&format!("\n{:>7} {:>7} {:>9} {:>5}  file", "caught", "missed", "unviable", "%"));
    for (file, tally) in &all {
        let Tally { caught, missed, unviable } = tally;
        say(&format!("{caught:>7} {missed:>7} {unviable:>9} {:>5}  {file}", tally.percent()));
    }
    let poor = all.values().filter(|it| it.percent() < WANTED).count();
    say(&format!("\n{} passed, {poor} failed", all.len() - poor));
    Ok(poor == 0)
}

impl Area {
    /// The results are in [`Area::output`].
    fn mutate(&self, options: &Options) -> Result {
        let changed = run(Command::new("git").args(["status", "--porcelain"]).current_dir(ROOT))?;
        ensure!(changed.is_empty(), "commit first: the sources are changed in place\n{changed}");
        fs::create_dir_all(self.output())?;
        let mut command = Command::new(CARGO_MUTANTS.program()?);
        command.args(["mutants", "--in-place", "--package", self.package, "--output", &self.output()]);
        for file in self.files {
            // A glob that matches nothing would silently shrink the measure.
            let path = Path::new(ROOT).join(file.split('*').next().unwrap_or(file));
            let named = path.exists() || path.parent().is_some_and(Path::is_dir) && file.contains('*');
            ensure!(named, "{file} is not there: correct the list of files");
            command.args(["--file", file]);
        }
        for package in self.tested_by {
            command.args(["--test-package", package]);
        }
        if let Some(only) = &options.only {
            command.args(["--re", &format!("^[^:]*{only}[^:]*:")]);
        }
        if let Some(shard) = &options.shard {
            command.args(["--shard", shard]);
        }
        // A failure with a mutant is no regression to remember.
        command.env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1");
        let status = command.current_dir(ROOT).status()?;
        // 2: mutants were missed; 3: tests of a mutant ran for too long.
        let has_run = matches!(status.code(), Some(0 | 2 | 3));
        ensure!(has_run, "cargo-mutants did not end: {status}");
        Ok(())
    }

    fn count(&self, all: &mut BTreeMap<String, Tally>, missed: &mut Vec<String>) -> Result {
        let file = Path::new(&self.output()).join("mutants.out/outcomes.json");
        ensure!(file.exists(), "{} is not there: run tests/mutants --package {}", file.display(), self.package);
        let results: Value = serde_json::from_str(&fs::read_to_string(file)?)?;
        let outcomes = results["outcomes"].as_array().ok_or_else(|| TestError::new("there are no outcomes"))?;
        for outcome in outcomes {
            let mutant = &outcome["scenario"]["Mutant"];
            let (Some(file), Some(name)) = (mutant["file"].as_str(), mutant["name"].as_str()) else { continue };
            let tally = all.entry(file.to_owned()).or_default();
            match outcome["summary"].as_str() {
                Some("CaughtMutant" | "Timeout") => tally.caught += 1,
                Some("MissedMutant") => {
                    tally.missed += 1;
                    missed.push(name.to_owned());
                }
                _ => tally.unviable += 1,
            }
        }
        Ok(())
    }

    fn output(&self) -> String {
        format!("{ROOT}/target/tests/mutants/{}", self.package)
    }
}

impl Tally {
    /// 100 for a file whose mutants do not compile.
    fn percent(self) -> usize {
        (100 * self.caught).checked_div(self.caught + self.missed).unwrap_or(100)
    }
}
