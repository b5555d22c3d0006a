//! The time from a binary's start until it asks for an event.

use std::{collections::BTreeMap, fs, path::Path, process::Command, time::Duration};

use tempfile::TempDir;
use tests::{
    error::{Result, TestError},
    lambda::Function,
};

pub(super) struct Start {
    pub(super) took: Duration,
    pub(super) peak_bytes: u64,
}

/// A function that has asked for an event only waits. After this long it has asked.
const SETTLES: Duration = Duration::from_millis(500);

pub(super) async fn start(binary: &Path, environment: &BTreeMap<String, String>) -> Result<Start> {
    let mut function = Function::start(Command::new(binary), environment).await?;
    let took = function.ready().await?;
    Ok(Start { took, peak_bytes: peak_bytes(function.id())? })
}

fn peak_bytes(process: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find(|it| it.starts_with("VmHWM:")).unwrap_or_default();
    let kilobytes: u64 = line.split_whitespace().nth(1).unwrap_or_default().parse()?;
    Ok(kilobytes * 1024)
}

pub(super) async fn instructions(binary: &Path, environment: &BTreeMap<String, String>) -> Result<u64> {
    let folder = TempDir::new()?;
    let counted = folder.path().join("counted");
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["--tool=cachegrind", "--cache-sim=no"])
        .arg(format!("--cachegrind-out-file={}", counted.display()))
        .arg(binary);
    let started = Function::start(valgrind, environment).await;
    let mut function = started.map_err(|it| TestError::new(format!("{it} (apt-get install valgrind)")))?;
    function.ready().await?;
    tokio::time::sleep(SETTLES).await;
    function.terminate()?;

    let counted = fs::read_to_string(counted)?;
    let summary = counted.lines().find_map(|it| it.strip_prefix("summary:"));
    Ok(summary.ok_or_else(|| TestError::new("valgrind counted nothing"))?.trim().parse()?)
}
