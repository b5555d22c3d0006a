use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use steps::{
    ensure,
    error::Result,
    functions::{self, HELLO, SAMPLE},
    ghost::GhostProgram,
    schedule::{Kind, ScheduledStep},
    tools::{
        AIOSMTPD, AWS_CLI, CARGO_DENY, CARGO_MACHETE, MASTODON_MOCK, MINISTACK, SAM, SCHEMATHESIS, SYNAPSE, TYPOS,
        install_browser_driver, run as run_to_end, typescript as typescript_packages,
    },
    wordpress::WordpressProgram,
};

use crate::log::Log;

#[derive(Clone, Copy)]
pub(crate) struct Step {
    pub(crate) place: ScheduledStep,
    pub(crate) about: &'static str,
    pub(crate) run: fn(&Log) -> Result,
    /// The output from this text on is printed.
    pub(crate) shows: Option<&'static str>,
}

const fn step(name: &'static str, kind: Kind, about: &'static str, run: fn(&Log) -> Result) -> Step {
    Step { place: ScheduledStep { name, kind, needs: &[], after: &[] }, about, run, shows: None }
}

impl Step {
    const fn needs(mut self, needs: &'static [&'static str]) -> Self {
        self.place.needs = needs;
        self
    }

    const fn after(mut self, after: &'static [&'static str]) -> Self {
        self.place.after = after;
        self
    }

    const fn shows(mut self, from: &'static str) -> Self {
        self.shows = Some(from);
        self
    }
}

/// Computing steps run one after the other in this order, so a step that others need comes before
/// them.
pub(crate) const STEPS: [Step; 22] = [
    step("tools", Kind::Waits, "external programs are installed", tools),
    step(
        "supply",
        // Its tools take minutes to build, at a low priority: nothing waits for it.
        Kind::Waits,
        "licenses and sources of dependencies, unused dependencies, spelling, phrases, NOTICE",
        supply,
    ),
    step("advisories", Kind::Waits, "known vulnerabilities of dependencies", advisories).after(&["supply"]),
    step("format", Kind::Computes, "the code is formatted", format),
    step("build", Kind::Computes, "all programs and tests, without a warning of clippy", build),
    step("functions", Kind::Computes, "one of the functions, as it is deployed", build_functions),
    step("template", Kind::Waits, "sam validate --lint", template).needs(&["tools"]),
    step("blackbox", Kind::Waits, "every operation over HTTP, injected faults, limits, and kill -9 in a loop", blackbox)
        .needs(&["build"]),
    step("attacks", Kind::Waits, "attacks and their results", attacks)
        .needs(&["build"])
        // Both measure times, and would delay each other.
        .after(&["blackbox"])
        .shows("|  #"),
    step(
        "platforms",
        Kind::Waits,
        "accounts of other platforms: all at once, real Bluesky, Matrix, Ghost and WordPress servers, a Mastodon server",
        platforms,
    )
    .needs(&["build", "tools"]),
    step("conformance", Kind::Waits, "the checks of every adapter against the real servers", conformance)
        .needs(&["build", "tools"])
        // More servers at once would only wait for a processor.
        .after(&["browser"]),
    step("one machine", Kind::Waits, "social-server: first post, TLS, e-mail, stop, backup and restore", one_machine)
        .needs(&["build", "tools"]),
    step(
        "durability",
        Kind::Waits,
        "power cuts, a full disk, a read-only disk, failing syncs and clock jumps on one machine",
        durability,
    )
    .needs(&["build"])
    // Each starts many processes.
    .after(&["attacks", "platforms"])
    .shows("| check"),
    step("schemathesis", Kind::Waits, "the served API document against the service", schemathesis)
        .needs(&["build", "tools"]),
    step("typescript", Kind::Waits, "a TypeScript client of the served document runs the journey", typescript)
        .needs(&["build", "tools"]),
    step("readme", Kind::Waits, "the documents: their commands, outputs, links and names", readme).needs(&["build"]),
    step("browser", Kind::Waits, "the whole journey in Chromium, with screenshots", browser).needs(&["build", "tools"]),
    step(
        "deployed",
        Kind::Waits,
        "the deployed template: all checks, kills, an update, and its roles compared with the calls",
        deployed,
    )
    .needs(&["build", "tools"])
    // `blackbox` and `platforms` log the calls of the local stack, and this step reads those logs.
    .after(&["blackbox", "platforms"]),
    step("tests", Kind::Computes, "unit, property and function tests", tests),
    step("simulation", Kind::Computes, "seeds, a crash at every call, a million posts", simulation)
        .needs(&["build"])
        .shows("seeds "),
    step("mutations", Kind::Computes, "the simulation notices a broken protocol", mutations)
        .needs(&["build"])
        .after(&["simulation"]),
    step("binaries", Kind::Measures, "instructions, memory and time until a function is ready, within limits", binaries)
        .needs(&["build", "functions"])
        .shows("binary "),
];

fn cargo(arguments: &[&str]) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.args(arguments);
    cargo
}

/// Cargo with clippy in the place of rustc. It checks each crate of the workspace while compiling
/// it; `cargo clippy` would analyze all dependencies and all crates once more. The variables are
/// those that `cargo clippy -- -D warnings` sets.
fn linting_cargo(arguments: &[&str]) -> Result<Command> {
    let toolchain = run_to_end(Command::new("rustc").args(["--print", "sysroot"]))?;
    let mut cargo = cargo(arguments);
    cargo.env("RUSTC_WORKSPACE_WRAPPER", Path::new(toolchain.trim()).join("bin/clippy-driver"));
    cargo.env("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings");
    Ok(cargo)
}

fn program(log: &Log, name: &str, arguments: &[&str]) -> Result {
    log.run(built_programs().join(name), arguments)
}

fn built_programs() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    Path::new(&target).join("debug")
}

fn tools(_: &Log) -> Result {
    for tool in [SCHEMATHESIS, SAM, MINISTACK, AWS_CLI, MASTODON_MOCK, SYNAPSE, AIOSMTPD] {
        tool.program()?;
    }
    install_browser_driver()?;
    typescript_packages()?;
    GhostProgram::installed()?;
    WordpressProgram::installed().map(drop)
}

fn format(log: &Log) -> Result {
    log.run("cargo", &["fmt", "--all", "--check"])
}

fn build(log: &Log) -> Result {
    log.build(&mut linting_cargo(&["build", "--quiet", "--workspace", "--bins", "--tests"])?)
}

fn build_functions(log: &Log) -> Result {
    log.build(&mut functions::build_command(&[SAMPLE, HELLO]))
}

fn template(log: &Log) -> Result {
    for (template, region) in [("template.yaml", "eu-central-1"), ("infra/edge.yaml", "us-east-1")] {
        log.run(SAM.program()?, &["validate", "--lint", "--template", template, "--region", region])?;
    }
    Ok(())
}

fn blackbox(log: &Log) -> Result {
    program(log, "blackbox", &["--json", "target/tests/blackbox.json"])
}

fn attacks(log: &Log) -> Result {
    program(log, "attacks", &["--json", "target/tests/attacks.json"])
}

fn platforms(log: &Log) -> Result {
    program(log, "platforms", &["--without", "conformance", "--json", "target/tests/platforms.json"])
}

fn conformance(log: &Log) -> Result {
    program(log, "platforms", &["--only", "conformance", "--json", "target/tests/conformance.json"])
}

fn one_machine(log: &Log) -> Result {
    program(log, "one_machine", &["--json", "target/tests/one_machine.json"])
}

fn durability(log: &Log) -> Result {
    program(log, "durability", &["--json", "target/tests/durability.json"])
}

fn schemathesis(log: &Log) -> Result {
    program(log, "served", &["schemathesis"])
}

fn typescript(log: &Log) -> Result {
    program(log, "served", &["typescript"])
}

fn readme(log: &Log) -> Result {
    program(log, "readme", &[])
}

fn browser(log: &Log) -> Result {
    program(log, "served", &["browser"])
}

fn deployed(log: &Log) -> Result {
    // Linking all functions as they are deployed would take longer than all checks.
    let programs = built_programs();
    program(log, "deployed", &["--programs", &programs.display().to_string(), "--json", "target/tests/deployed.json"])
}

fn tests(log: &Log) -> Result {
    log.build(&mut linting_cargo(&["test", "--quiet", "--workspace", "--no-run"])?)?;
    // All failures of a run are shown at once, not only those of the first program.
    log.run_command(&mut linting_cargo(&["test", "--quiet", "--workspace", "--no-fail-fast"])?)
}

fn simulation(log: &Log) -> Result {
    // Run by hand, it plays 1,000 seeds and tries four times as many crashes; here the time is limited.
    program(log, "simulate", &["--seeds", "300", "--crashes", "after", "--json", "target/tests/simulation.json"])
}

fn mutations(log: &Log) -> Result {
    program(log, "simulate", &["--mutations", "--json", "target/tests/mutations.json"])
}

fn supply(log: &Log) -> Result {
    // On a fresh machine the sources of dependencies are still missing.
    log.run("cargo", &["fetch", "--quiet", "--locked"])?;
    log.run(CARGO_DENY.program()?, &["--offline", "check", "bans", "licenses", "sources"])?;
    log.run(CARGO_MACHETE.program()?, &["--with-metadata"])?;
    log.run(TYPOS.program()?, &[])?;
    log.run("tests/prose", &[])?;
    log.run("tests/notice", &["--check"])
}

/// A machine on which the database of advisories was never fetched may be offline. Anywhere else, a
/// check that cannot read it has failed.
fn advisories(log: &Log) -> Result {
    let is_expected = std::env::var("ADVISORIES").is_ok_and(|it| it == "required");
    let was_fetched = advisory_databases().is_some_and(|it| has_database(&it));
    let checked = log.run(CARGO_DENY.program()?, &["check", "advisories"]);
    if checked.is_err() && log.text().contains("failed to fetch advisory database") {
        log.skip(skip_reason(is_expected, was_fetched)?);
        return Ok(());
    }
    checked
}

fn skip_reason(is_expected: bool, was_fetched: bool) -> Result<&'static str> {
    ensure!(!is_expected, "not asked: the advisory database cannot be fetched, and ADVISORIES is required");
    ensure!(!was_fetched, "not asked: the advisory database cannot be fetched, and this machine fetched it before");
    Ok("not asked: the advisory database cannot be fetched; ADVISORIES=required makes this a failure")
}

fn advisory_databases() -> Option<PathBuf> {
    let cargo = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let cargo = cargo.or_else(|| std::env::var_os("HOME").map(|it| Path::new(&it).join(".cargo")))?;
    Some(cargo.join("advisory-dbs"))
}

/// A failed fetch leaves an empty folder.
fn has_database(folder: &Path) -> bool {
    let databases = fs::read_dir(folder).into_iter().flatten().filter_map(std::result::Result::ok);
    databases.map(|it| it.path().join("crates")).any(|it| it.is_dir())
}

fn binaries(log: &Log) -> Result {
    program(log, "bench", &["binaries", "--only", SAMPLE, "--json", "target/tests/binaries.json"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreachable_database_is_skipped_only_where_none_is_expected() {
        assert!(skip_reason(false, false).unwrap().starts_with("not asked"));
        for (is_expected, was_fetched) in [(true, false), (false, true), (true, true)] {
            assert!(skip_reason(is_expected, was_fetched).is_err(), "{is_expected} {was_fetched}");
        }
    }

    #[test]
    fn database_is_a_folder_with_crates() {
        let folder = std::env::temp_dir().join(format!("advisory-dbs-{}", std::process::id()));
        assert!(!has_database(&folder));
        fs::create_dir_all(folder.join("advisory-db-1")).unwrap();
        fs::write(folder.join("db.lock"), "").unwrap();
        assert!(!has_database(&folder));
        fs::create_dir_all(folder.join("advisory-db-1/crates")).unwrap();
        assert!(has_database(&folder));
        fs::remove_dir_all(&folder).unwrap();
    }
}
