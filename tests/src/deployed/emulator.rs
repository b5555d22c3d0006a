//! `MiniStack` as a child process: AWS on one port, with roles enforced.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use reqwest::Client;
use tempfile::TempDir;

use super::processes::{self, Function};
use crate::{
    aws::{self, Root},
    error::Result,
    fail,
    tools::MINISTACK,
};

/// A running emulator; it ends with every function when this is dropped.
pub(super) struct Emulator {
    child: Child,
    folder: TempDir,
    port: u16,
    http: Client,
}

impl Emulator {
    /// Starts an emulator whose functions reach AWS at this URL.
    pub(super) async fn start(port: u16, reached_at: &str) -> Result<Self> {
        let folder = TempDir::new()?;
        let log = fs::File::create(folder.path().join("log"))?;
        let path = std::env::var("PATH")?;
        // Nothing else of this environment is passed on: functions inherit it, and would read
        // settings that no deployment has.
        let child = Command::new(MINISTACK.program()?)
            .env_clear()
            .env("PATH", path)
            .env("HOME", folder.path())
            .env("TMPDIR", folder.path())
            .env("GATEWAY_PORT", port.to_string())
            .env("BIND_HOST", "127.0.0.1")
            .env("AUTH", "true")
            .env("IOT_MTLS_ENABLED", "false")
            .env("AWS_ENDPOINT_URL", reached_at)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        let mut emulator = Self { child, folder, port, http: Client::builder().no_proxy().build()? };
        emulator.ready().await?;
        Ok(emulator)
    }

    async fn ready(&mut self) -> Result {
        let started = Instant::now();
        let health = format!("{}/_ministack/health", self.url());
        loop {
            if self.http.get(&health).send().await.is_ok_and(|it| it.status().is_success()) {
                return Ok(());
            }
            if self.child.try_wait()?.is_some() || Duration::from_mins(5) < started.elapsed() {
                fail!("the emulator did not become ready:\n{}", self.log());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    pub(super) fn url(&self) -> String {
        format!("http://localhost:{}", self.port)
    }

    /// A folder that is removed when the emulator ends.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// The environment of a program that acts as the root of the account.
    pub(super) fn administrator(&self) -> [(&'static str, String); 5] {
        [
            ("AWS_ENDPOINT_URL", self.url()),
            ("AWS_ACCESS_KEY_ID", aws::ROOT.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", aws::ROOT.to_owned()),
            ("AWS_DEFAULT_REGION", aws::REGION.to_owned()),
            ("AWS_REGION", aws::REGION.to_owned()),
        ]
    }

    /// A program that acts as the root of the account.
    pub(super) fn command(&self, program: PathBuf) -> Command {
        let mut command = Command::new(program);
        command
            .envs(self.administrator())
            .env("AWS_CONFIG_FILE", "/dev/null")
            .env("SAM_CLI_TELEMETRY", "0")
            .env_remove("AWS_CA_BUNDLE");
        command
    }

    /// A client that acts as the root of the account.
    pub(super) fn root(&self) -> Root {
        Root::new(self.http.clone(), self.url())
    }

    /// The running processes of functions.
    pub(super) fn functions(&self) -> Vec<Function> {
        processes::below(self.folder.path())
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        for function in self.functions() {
            function.kill();
        }
    }
}
