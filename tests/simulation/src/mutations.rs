//! Tests whether the simulator detects a broken protocol: a copy of the sources is broken on
//! purpose, in one way at a time, and simulated.
//!
//! Each mutation replaces an expression that must be found exactly once, so a mutation whose
//! expression has changed is an error and not a silent pass. The copy is built only once, with all
//! mutations; each mutation checks at run time whether it is enabled.

mod list;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

pub use list::{ALL, Mutation};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Caught,
    /// The simulation passes, so the simulator cannot see this defect.
    Missed,
}

#[derive(Debug, thiserror::Error)]
pub enum MutationError {
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: std::io::Error },
    #[error("the mutation '{name}' does not fit: its text is {found} times in {file}")]
    Misplaced { name: &'static str, file: &'static str, found: usize },
    #[error("the copy with the mutations does not compile:\n{0}")]
    DoesNotCompile(String),
    /// The copy fails with every mutation disabled, so its failures would prove nothing about the
    /// mutations.
    #[error("the copy fails without any mutation")]
    Broken,
}

/// Enough seeds to catch every mutation that seeds show.
const SEEDS: &str = "1000";

const COPIED: [&str; 12] = [
    "Cargo.toml",
    "Cargo.lock",
    "rust-toolchain.toml",
    ".cargo",
    "functions",
    "infra",
    "libs",
    "tests/hello",
    "tests/simulation",
    "tests/steps",
    "tests/src",
    "tests/Cargo.toml",
];

/// All mutations for an empty list.
pub fn named(only: &[String]) -> impl Iterator<Item = &'static Mutation> {
    ALL.iter().filter(move |it| only.is_empty() || only.iter().any(|part| it.name.contains(part.as_str())))
}

/// Tries every mutation that matches `only` (see [`named`]), and reports each one as soon as its
/// verdict is known.
///
/// All of them are compiled into one program. An environment variable names the enabled one.
pub fn run(
    sources: &Path,
    only: &[String],
    mut report: impl FnMut(&Mutation, Verdict, Duration),
) -> Result<usize, MutationError> {
    // Cargo runs inside the copy, where a relative path would not resolve.
    let sources = &sources.canonicalize().map_err(|source| MutationError::Io { path: sources.to_owned(), source })?;
    let target = sources.join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()));
    let copy = target.join("mutations");
    let _ = std::fs::remove_dir_all(&copy);
    for entry in COPIED {
        copy_all(&sources.join(entry), &copy.join(entry))?;
    }
    for (file, text) in mutated(sources)? {
        write(&copy.join(file), &text)?;
    }
    link_built(&target.join("debug"), &copy.join("target/debug"))?;
    let program = build(&copy)?;
    if !passes(&program, &["--seed", "1"], "nothing")? {
        return Err(MutationError::Broken);
    }
    let mut caught = 0;
    for mutation in named(only) {
        let started = Instant::now();
        let arguments: Vec<_> =
            ["--until-broken", "--seeds", SEEDS, "--crashes", "after"].iter().chain(mutation.runs).copied().collect();
        let verdict = if passes(&program, &arguments, mutation.name)? { Verdict::Missed } else { Verdict::Caught };
        caught += usize::from(verdict == Verdict::Caught);
        report(mutation, verdict, started.elapsed());
    }
    Ok(caught)
}

pub fn check(sources: &Path) -> Result<(), MutationError> {
    mutated(sources).map(drop)
}

const SWITCH: &str = r#"
pub(crate) fn broken(name: &str) -> bool {
    static BROKEN: std::sync::LazyLock<Option<String>> = std::sync::LazyLock::new(|| std::env::var("BROKEN").ok());
    BROKEN.as_deref() == Some(name)
}
"#;

fn mutated(sources: &Path) -> Result<BTreeMap<PathBuf, String>, MutationError> {
    let mut changed: BTreeMap<PathBuf, String> = BTreeMap::new();
    for Mutation { name, file, before, from, to, .. } in ALL {
        let crate_root = PathBuf::from(file.split_inclusive("/src/").next().unwrap_or_default()).join("lib.rs");
        if let Entry::Vacant(root) = changed.entry(crate_root) {
            let text = read(&sources.join(root.key()))? + SWITCH;
            root.insert(text);
        }
        let text = match changed.entry(PathBuf::from(file)) {
            Entry::Occupied(text) => text.into_mut(),
            Entry::Vacant(text) => text.insert(read(&sources.join(file))?),
        };
        let original = format!("{before}{from}");
        let found = text.matches(&original).count();
        if found != 1 {
            return Err(MutationError::Misplaced { name, file, found });
        }
        let choice = format!("{before}(if crate::broken({name:?}) {{ {to} }} else {{ {from} }})");
        *text = text.replacen(&original, &choice, 1);
    }
    Ok(changed)
}

/// Gives the copy the build of the dependencies, so that they are not built again. Sharing the
/// target directory does not work: cargo would mistake a crate of the copy for the same crate of the
/// sources.
///
/// The libraries of the dependencies are only linked, because a copy would take gigabytes. Cargo
/// changes files of `.fingerprint` where they are, so these are copied.
fn link_built(built: &Path, copy: &Path) -> Result<(), MutationError> {
    let io = |source| MutationError::Io { path: copy.to_owned(), source };
    std::fs::create_dir_all(copy).map_err(io)?;
    for (how, folder) in [("--link", "deps"), ("--archive", "build"), ("--archive", ".fingerprint")] {
        let mut cp = Command::new("cp");
        let copied = cp.args(["--archive", how]).arg(built.join(folder)).arg(copy).status().map_err(io)?;
        if !copied.success() {
            return Err(io(std::io::Error::other(format!("{folder} could not be copied"))));
        }
    }
    Ok(())
}

fn build(copy: &Path) -> Result<PathBuf, MutationError> {
    let io = |source| MutationError::Io { path: copy.to_owned(), source };
    let target = copy.join("target");
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--offline", "--workspace", "--bin", "simulate", "--test", "mutations"])
        .current_dir(copy)
        .env("CARGO_TARGET_DIR", &target)
        .output()
        .map_err(io)?;
    if built.status.success() {
        Ok(target.join("debug/simulate"))
    } else {
        Err(MutationError::DoesNotCompile(String::from_utf8_lossy(&built.stderr).into_owned()))
    }
}

fn passes(program: &Path, arguments: &[&str], broken: &str) -> Result<bool, MutationError> {
    let ended = Command::new(program)
        .args(arguments)
        .env("BROKEN", broken)
        .output()
        .map_err(|source| MutationError::Io { path: program.to_owned(), source })?;
    Ok(ended.status.success())
}

fn copy_all(from: &Path, to: &Path) -> Result<(), MutationError> {
    let io = |source| MutationError::Io { path: from.to_owned(), source };
    if !from.is_dir() {
        let folder = to.parent().unwrap_or(to);
        std::fs::create_dir_all(folder).map_err(io)?;
        return std::fs::copy(from, to).map(drop).map_err(io);
    }
    for entry in std::fs::read_dir(from).map_err(io)? {
        let entry = entry.map_err(io)?;
        if entry.file_name() != "node_modules" {
            copy_all(&entry.path(), &to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, MutationError> {
    std::fs::read_to_string(path).map_err(|source| MutationError::Io { path: path.to_owned(), source })
}

fn write(path: &Path, text: &str) -> Result<(), MutationError> {
    std::fs::write(path, text).map_err(|source| MutationError::Io { path: path.to_owned(), source })
}
