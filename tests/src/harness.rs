//! The local stack as a child process of the suite.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use serde_json::Value;
use tempfile::TempDir;

use crate::{
    ensure,
    error::{Result, TestError},
    fail,
    http_response::text,
    server_process::ServerProcess,
};

/// From the ready file of the deployment.
#[derive(Debug, Clone)]
pub struct Ready {
    pub origin: String,
    pub base_url: String,
    pub token: String,
    /// With their keys; null unless requested.
    pub stores: Value,
}

impl Ready {
    pub fn read(file: &Path) -> Result<Self> {
        let ready: Value = serde_json::from_str(&fs::read_to_string(file)?)?;
        Ok(Self {
            origin: text(&ready, "origin")?.to_owned(),
            base_url: text(&ready, "base_url")?.to_owned(),
            token: text(&ready, "token")?.to_owned(),
            stores: ready["stores"].clone(),
        })
    }
}

/// Lifts the rate limits, which would disturb all checks except their own.
pub const LIFTED: [&str; 6] = [
    "--requests-per-minute",
    "100000000",
    "--media-per-minute",
    "100000000",
    // All checks use the same few servers.
    "--calls-per-host",
    "100000000",
];

/// Log filter of the stack: its default, and the audit trail.
const LOGGED: &str = "warn,dynoxide=error,audit=info";

/// Ends when this is dropped.
pub struct Harness {
    process: ServerProcess,
    ready: Ready,
    took: Duration,
}

impl Harness {
    /// With empty stores, on a free port.
    pub async fn start(extra: &[&str]) -> Result<Self> {
        let mut arguments = vec!["--ephemeral", "--port", "0"];
        arguments.extend(extra);
        // As in a deployment; `cargo dev` permits more.
        if !extra.contains(&"--requests-per-minute") {
            arguments.extend(["--requests-per-minute", "60"]);
        }
        Self::start_with(&binary("local")?, &arguments).await
    }

    /// Has no rate limits; port 0 takes a free one. The variables are added to the environment.
    pub async fn start_on(data: &Path, port: u16, variables: &[(&str, &Path)]) -> Result<Self> {
        let (data, port) = (data.to_string_lossy().into_owned(), port.to_string());
        let mut arguments = vec!["--data", &data, "--port", &port];
        arguments.extend(LIFTED);
        Self::start_in(&binary("local")?, &arguments, variables).await
    }

    pub async fn start_with(binary: &Path, arguments: &[&str]) -> Result<Self> {
        Self::start_in(binary, arguments, &[]).await
    }

    async fn start_in(binary: &Path, arguments: &[&str], variables: &[(&str, &Path)]) -> Result<Self> {
        let folder = TempDir::new()?;
        let ready_file = folder.path().join("ready.json");
        let started = Instant::now();
        let mut command = Command::new(binary);
        command
            .args(arguments)
            .arg("--ready-file")
            .arg(&ready_file)
            .env("LOG_LEVEL", LOGGED)
            .envs(variables.iter().copied());
        let mut process = ServerProcess::start(command, folder)?;
        let name = format!("{} {arguments:?}", binary.display());
        let ready = process.ready(&name, || async { Ready::read(&ready_file).ok() }).await?;
        Ok(Self { process, ready, took: started.elapsed() })
    }

    pub fn ready(&self) -> &Ready {
        &self.ready
    }

    pub fn stores(&self) -> &Value {
        &self.ready.stores
    }

    pub fn start_duration(&self) -> Duration {
        self.took
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    pub fn log(&self) -> String {
        self.process.log()
    }

    pub fn kill(mut self) -> Result {
        self.process.kill()
    }
}

/// At the sandbox platform (`libs/fakes/src/sandbox`).
pub const SANDBOX_CLIENT: (&str, &str) = ("social-publishing", "sandbox-secret");

pub fn resident_mb(process: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find(|it| it.starts_with("VmRSS:")).unwrap_or_default();
    let kilobytes: u64 = line.split_whitespace().nth(1).unwrap_or_default().parse()?;
    Ok(kilobytes / 1024)
}

/// The ports below those that Linux gives to outgoing connections, which could take one before its server starts.
const SERVER_PORTS: std::ops::Range<u32> = 10_000..32_000;

/// Each call of this process returns a different one.
pub fn free_port() -> Result<u16> {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let first = std::process::id().wrapping_mul(97);
    for _ in SERVER_PORTS {
        let offset =
            first.wrapping_add(CALLS.fetch_add(1, Ordering::Relaxed)) % (SERVER_PORTS.end - SERVER_PORTS.start);
        let port = u16::try_from(SERVER_PORTS.start + offset)?;
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return Ok(port);
        }
    }
    fail!("no port is free")
}

/// Looks in the folder of this binary.
pub fn binary(name: &str) -> Result<PathBuf> {
    let this = std::env::current_exe()?;
    let folder = this.parent().ok_or_else(|| TestError::new("this binary is nowhere"))?;
    let found = folder.join(name);
    ensure!(found.exists(), "{} is not there: cargo build --workspace makes it", found.display());
    Ok(found)
}
