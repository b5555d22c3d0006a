//! Whether the simulator would notice: the protocol is broken on purpose, one
//! way at a time, in a copy of the sources, and the copy is simulated.
//!
//! Each mutation replaces a piece of source that must be there exactly once,
//! so one that has lost its place is an error and not a silent pass.

mod list;

use std::path::{Path, PathBuf};
use std::process::Command;

pub use list::{ALL, Mutation};

/// What became of one mutation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The simulation of the copy fails.
    Caught,
    /// It passes: the simulator is blind to it.
    Missed,
}

/// Why mutations could not be tried.
#[derive(Debug, thiserror::Error)]
pub enum MutationError {
    /// Files could not be copied, read or written.
    #[error("{path}: {source}")]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The piece of source is not there exactly once.
    #[error("the mutation '{name}' does not fit: its text stands {found} times in {file}")]
    Misplaced {
        /// Of the mutation.
        name: &'static str,
        /// Where it should be.
        file: &'static str,
        /// How often it was found.
        found: usize,
    },
    /// The copy does not compile.
    #[error("the mutation '{0}' does not compile")]
    Broken(&'static str),
}

/// What a copy needs to be built.
const COPIED: [&str; 11] = [
    "Cargo.toml",
    "Cargo.lock",
    ".cargo",
    "functions",
    "infra",
    "libs",
    "tests/hello",
    "tests/platforms",
    "tests/simulation",
    "tests/src",
    "tests/Cargo.toml",
];

/// Tries every mutation of [`ALL`] and tells of each as soon as it is known.
pub fn run(sources: &Path, mut told: impl FnMut(&Mutation, Verdict)) -> Result<usize, MutationError> {
    // Cargo is run in the copy, where a relative path would be another one.
    let sources = &sources.canonicalize().map_err(|source| MutationError::Io { path: sources.to_owned(), source })?;
    let copy = sources.join("target/mutations");
    let _ = std::fs::remove_dir_all(&copy);
    for entry in COPIED {
        copy_all(&sources.join(entry), &copy.join(entry))?;
    }
    let built = sources.join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into())).join("quick");
    copy_built(&built, &copy.join("target/quick"))?;
    let mut caught = 0;
    for mutation in ALL {
        let verdict = try_one(mutation, sources, &copy)?;
        caught += usize::from(verdict == Verdict::Caught);
        told(mutation, verdict);
    }
    Ok(caught)
}

/// Whether every mutation still has its place.
pub fn check(sources: &Path) -> Result<(), MutationError> {
    ALL.iter().try_for_each(|it| mutated(it, sources).map(drop))
}

fn try_one(mutation: &Mutation, sources: &Path, copy: &Path) -> Result<Verdict, MutationError> {
    let file = copy.join(mutation.file);
    write(&file, &mutated(mutation, sources)?)?;
    let verdict = simulate(mutation, copy);
    write(&file, &read(&sources.join(mutation.file))?)?;
    verdict
}

fn mutated(mutation: &Mutation, sources: &Path) -> Result<String, MutationError> {
    let Mutation { name, file, from, to, .. } = *mutation;
    let text = read(&sources.join(file))?;
    let found = text.matches(from).count();
    if found == 1 { Ok(text.replacen(from, to, 1)) } else { Err(MutationError::Misplaced { name, file, found }) }
}

/// Our own crates, built again for each mutation: a little slower to run, and
/// much faster to build.
const BUILT_AGAIN: [&str; 10] = [
    "domain",
    "storage",
    "outbound",
    "platforms",
    "cloud",
    "publishing",
    "delivery",
    "publisher",
    "upkeep",
    "simulation",
];

/// What cargo keeps of everything that is not our own, so that it is not built
/// again. The target directory itself cannot be shared: cargo takes a crate of
/// the copy for the same crate of the sources.
fn copy_built(built: &Path, copy: &Path) -> Result<(), MutationError> {
    let io = |source| MutationError::Io { path: copy.to_owned(), source };
    std::fs::create_dir_all(copy).map_err(io)?;
    let parts = ["deps", "build", ".fingerprint"].map(|it| built.join(it));
    let copied = Command::new("cp").arg("--archive").args(parts).arg(copy).status().map_err(io)?;
    if copied.success() { Ok(()) } else { Err(io(std::io::Error::other("could not be copied"))) }
}

fn simulate(mutation: &Mutation, copy: &Path) -> Result<Verdict, MutationError> {
    let io = |source| MutationError::Io { path: copy.to_owned(), source };
    let target = copy.join("target");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--profile", "quick", "--offline", "--package", "simulation"]);
    for package in BUILT_AGAIN {
        cargo.args(["--config", &format!("profile.quick.package.{package}.opt-level=1")]);
    }
    let built = cargo.current_dir(copy).env("CARGO_INCREMENTAL", "1").env("CARGO_TARGET_DIR", &target).output();
    if !built.map_err(io)?.status.success() {
        return Err(MutationError::Broken(mutation.name));
    }
    let binary = copy.join("simulate");
    std::fs::copy(target.join("quick/simulate"), &binary).map_err(io)?;
    let ended = Command::new(&binary).args(["--until-broken", "--seeds", "2000"]).output().map_err(io)?;
    Ok(if ended.status.success() { Verdict::Missed } else { Verdict::Caught })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mutation_has_its_place() {
        check(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap();
    }
}
