//! The functions' programs as they are deployed.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use crate::{ROOT, error::Result, tools::run};

/// The functions, and the folders they are in.
pub const FUNCTIONS: [&str; 10] =
    ["auth", "connections", "delivery", "mcp", "media", "pictures", "posts", "publisher", "upkeep", "webhooks"];

/// The function that does nothing, to compare the others with.
pub const HELLO: &str = "hello";

/// Builds all functions in the profile in which they are deployed; returns the
/// folder of their programs.
///
/// One call of cargo for all: their common dependencies are built once, with
/// the features that any of them needs, and without those that only tests need.
pub fn build() -> Result<PathBuf> {
    run(&mut build_command())?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| Path::new(ROOT).join("target"), PathBuf::from);
    Ok(target.join("release"))
}

pub fn build_command() -> Command {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "--release"]).current_dir(ROOT);
    for package in FUNCTIONS.into_iter().chain([HELLO]) {
        cargo.args(["--package", package, "--bin", package]);
    }
    cargo
}
