//! The documents against the project: commands, outputs, links and names.
//!
//! `document` reads the blocks of a Markdown file, `session` runs them on a local service, `normalized` makes outputs
//! comparable, `links` and `names` check what all documents refer to.

pub mod document;
pub mod links;
pub mod names;
pub mod normalized;
pub mod session;

use std::{path::Path, process::Command};

use steps::{ROOT, ensure, error::Result};

/// From the root of the project, sorted.
pub fn files() -> Result<Vec<String>> {
    let arguments = ["ls-files", "--cached", "--others", "--exclude-standard"];
    let listed = Command::new("git").args(arguments).current_dir(ROOT).output()?;
    ensure!(listed.status.success(), "git ls-files: {}", String::from_utf8_lossy(&listed.stderr));
    let mut paths: Vec<_> = String::from_utf8(listed.stdout)?.lines().map(str::to_owned).collect();
    paths.sort();
    Ok(paths)
}

fn has_extension(path: &str, extensions: &[&str]) -> bool {
    Path::new(path).extension().is_some_and(|it| extensions.iter().any(|one| it == *one))
}

/// Lines that are not in a fenced block, with their numbers from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    text.lines().enumerate().map(|(index, line)| (index + 1, line)).filter(move |(_, line)| {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
            return false;
        }
        !is_code
    })
}
