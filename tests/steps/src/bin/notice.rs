//! Writes `NOTICE`: the packages in the deployed programs, and their licenses.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use clap::Parser;
use serde_json::Value;
use steps::{
    ROOT, ensure,
    error::{Result, TestError},
    functions::FUNCTIONS,
    program::done,
    tools::run,
};

/// Writes NOTICE: the packages that the functions are linked from, and their licenses, from the
/// sources in cargo's cache
#[derive(Parser)]
#[command(name = "notice")]
struct Options {
    /// Write nothing; fail if the file is outdated
    #[arg(long)]
    check: bool,
}

fn main() -> ExitCode {
    done(write(&Options::parse()))
}

fn write(options: &Options) -> Result {
    let file = Path::new(ROOT).join("NOTICE");
    let text = notice(&shipped_packages()?)?;
    if options.check {
        ensure!(fs::read_to_string(&file)? == text, "NOTICE is not what is shipped: tests/notice writes it");
        return Ok(());
    }
    Ok(fs::write(file, text)?)
}

struct Package {
    title: String,
    license: String,
    authors: String,
    folder: PathBuf,
}

const TARGETS: [&str; 2] = ["aarch64-unknown-linux-gnu", "x86_64-unknown-linux-gnu"];

/// Without the project's own packages.
fn shipped_packages() -> Result<Vec<Package>> {
    let mut tree = cargo(&["tree", "--edges", "normal", "--prefix", "none", "--format", "{p}"]);
    for target in TARGETS {
        tree.args(["--target", target]);
    }
    for function in FUNCTIONS {
        tree.args(["--package", function]);
    }
    let listed = run(&mut tree)?;
    let linked: BTreeSet<_> = listed.lines().filter_map(name_and_version).collect();

    let metadata: Value = serde_json::from_str(&run(&mut cargo(&["metadata", "--format-version", "1"]))?)?;
    let all = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let wanted = |it: &&Value| !it["source"].is_null() && linked.contains(&(text(it, "name"), text(it, "version")));
    all.iter().filter(wanted).map(package).collect()
}

fn cargo(arguments: &[&str]) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.args(arguments).arg("--locked").current_dir(ROOT);
    cargo
}

/// A line such as `serde v1.0.229` or `serde_derive v1.0.229 (proc-macro)`.
fn name_and_version(line: &str) -> Option<(&str, &str)> {
    let mut words = line.split(' ');
    Some((words.next()?, words.next()?.strip_prefix('v')?))
}

fn package(it: &Value) -> Result<Package> {
    let authors = it["authors"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let manifest = Path::new(text(it, "manifest_path"));
    Ok(Package {
        title: format!("{} {}", text(it, "name"), text(it, "version")),
        license: text(it, "license").to_owned(),
        authors: authors.map(without_address).collect::<Vec<_>>().join(", "),
        folder: manifest.parent().ok_or_else(|| TestError::new("a package without a folder"))?.to_owned(),
    })
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

fn without_address(author: &str) -> &str {
    author.split('<').next().unwrap_or_default().trim()
}

const HEAD: &str = "\
This service is under the MIT license (see LICENSE). Its functions are linked
from the packages below, each under its own. Where a package offers the Apache
License 2.0, that is the one taken. Below them stand the texts that they carry.
Written by `tests/notice`.
";

fn notice(packages: &[Package]) -> Result<String> {
    let mut text = HEAD.to_owned();
    let mut texts: BTreeMap<String, (String, BTreeSet<&str>)> = BTreeMap::new();
    for package in packages {
        writeln!(text, "\n{}\n    {}", package.title, package.license)?;
        if !package.authors.is_empty() {
            writeln!(text, "    {}", package.authors)?;
        }
        for it in license_texts(package)? {
            texts.entry(words(&it)).or_insert_with(|| (it, BTreeSet::new())).1.insert(&package.title);
        }
    }
    for (license, titles) in texts.into_values() {
        let line = "-".repeat(80);
        let titles = titles.into_iter().collect::<Vec<_>>().join(", ");
        writeln!(text, "\n{line}\n{titles}\n{line}\n\n{license}")?;
    }
    Ok(text)
}

/// Prefixes of file names, in both spellings.
const LICENSE_FILES: [&str; 4] = ["licence", "license", "copying", "notice"]; // prose: allow, names of files

/// The chosen license, and the authors' notices.
fn license_texts(package: &Package) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(&package.folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        if path.is_file() && LICENSE_FILES.iter().any(|it| name.starts_with(it)) {
            files.push((name, path));
        }
    }
    files.sort();
    let takes_apache = package.license.contains("Apache-2.0") && !package.license.contains(" AND ");
    let apache = |name: &str| name.contains("apache");
    if takes_apache && files.iter().any(|(name, _)| apache(name)) {
        files.retain(|(name, _)| apache(name) || name.starts_with("notice"));
    }
    files.into_iter().map(|(_, path)| Ok(tidy(&String::from_utf8_lossy(&fs::read(path)?)))).collect()
}

/// Removes spaces at the ends of lines and empty lines around the text; of the Apache License, only
/// the terms remain, without the appendix with its blanks.
fn tidy(text: &str) -> String {
    let terms = match text.split_once("END OF TERMS AND CONDITIONS") {
        Some((terms, _)) => terms,
        None => text,
    };
    let lines: Vec<_> = terms.lines().map(str::trim_end).collect();
    lines.join("\n").trim_matches('\n').to_owned()
}

/// For the comparison of texts that differ only in their layout.
fn words(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    text.replace("http://", "https://")
}
