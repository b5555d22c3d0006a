use std::{
    path::{Path, PathBuf},
    process::Command,
};

use crate::{ROOT, error::Result, tools::run};

/// Also the names of their folders.
pub const FUNCTIONS: [&str; 10] =
    ["auth", "connections", "delivery", "mcp", "media", "pictures", "posts", "publisher", "upkeep", "webhooks"];

pub const HELLO: &str = "hello";

/// The function that `tests/all` builds and measures: the smallest with tables, so that a slower start
/// of what all functions share shows. Linking each of the others takes two minutes.
pub const SAMPLE: &str = "auth";

/// Uses their deployment profile; returns the folder of the programs.
///
/// One cargo call for all: their common dependencies are built once, with the features that any
/// function needs, and without those that only tests need.
pub fn build(functions: &[&str]) -> Result<PathBuf> {
    run(&mut build_command(functions))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| Path::new(ROOT).join("target"), PathBuf::from);
    Ok(target.join("release"))
}

pub fn build_command(functions: &[&str]) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "--release"]).current_dir(ROOT);
    for package in functions {
        cargo.args(["--package", package, "--bin", package]);
    }
    cargo
}
