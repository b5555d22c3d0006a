//! The functions' binaries as they are deployed.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use crate::{fault::Result, report::say, template::ROOT, tools::run};

/// Builds these packages, each with a binary of its name, in the profile of
/// what is deployed; the folder where they are then.
///
/// One call for all: what they share is built once, with the features that any
/// of them wants, and with none of the tests'.
pub fn build(packages: &[&str]) -> Result<PathBuf> {
    let started = Instant::now();
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "--release"]).current_dir(ROOT);
    for package in packages {
        cargo.args(["--package", package, "--bin", package]);
    }
    run(&mut cargo)?;
    if Duration::from_secs(5) < started.elapsed() {
        say(&format!("Built {} in {:.0} s", packages.join(", "), started.elapsed().as_secs_f64()));
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| Path::new(ROOT).join("target"), PathBuf::from);
    Ok(target.join("release"))
}
