//! `MiniStack` as a child process: AWS on one port, with roles enforced.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use reqwest::Client;
use tempfile::TempDir;

use super::processes::{self, Function};
use crate::{
    aws::{self, Root},
    error::Result,
    server_process::ServerProcess,
    tools::MINISTACK,
};

/// Ends with every function when this is dropped.
pub(super) struct Emulator {
    process: ServerProcess,
    port: u16,
    http: Client,
}

impl Emulator {
    /// Functions reach AWS at `reached_at`.
    pub(super) async fn start(port: u16, reached_at: &str) -> Result<Self> {
        let folder = TempDir::new()?;
        let path = std::env::var("PATH")?;
        // Nothing else of this environment is passed on: functions inherit it, and would read
        // settings that no deployment has.
        let mut command = Command::new(MINISTACK.program()?);
        command
            .env_clear()
            .env("PATH", path)
            .env("HOME", folder.path())
            .env("TMPDIR", folder.path())
            .env("GATEWAY_PORT", port.to_string())
            .env("BIND_HOST", "127.0.0.1")
            .env("AUTH", "true")
            .env("IOT_MTLS_ENABLED", "false")
            .env("AWS_ENDPOINT_URL", reached_at);
        let process = ServerProcess::start(command, folder)?;
        let mut emulator = Self { process, port, http: Client::builder().no_proxy().build()? };
        let health = emulator.http.get(format!("{}/_ministack/health", emulator.url()));
        let poll = || async {
            let response = health.try_clone()?.send().await;
            response.is_ok_and(|it| it.status().is_success()).then_some(())
        };
        emulator.process.ready("the emulator", poll).await?;
        Ok(emulator)
    }

    pub(super) fn url(&self) -> String {
        format!("http://localhost:{}", self.port)
    }

    /// Removed when the emulator ends.
    pub(super) fn folder(&self) -> &Path {
        self.process.folder()
    }

    /// For a program that acts as the root of the account.
    pub(super) fn administrator(&self) -> [(&'static str, String); 5] {
        [
            ("AWS_ENDPOINT_URL", self.url()),
            ("AWS_ACCESS_KEY_ID", aws::ROOT.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", aws::ROOT.to_owned()),
            ("AWS_DEFAULT_REGION", aws::REGION.to_owned()),
            ("AWS_REGION", aws::REGION.to_owned()),
        ]
    }

    pub(super) fn command(&self, program: PathBuf) -> Command {
        let mut command = Command::new(program);
        command
            .envs(self.administrator())
            .env("AWS_CONFIG_FILE", "/dev/null")
            .env("SAM_CLI_TELEMETRY", "0")
            .env_remove("AWS_CA_BUNDLE");
        command
    }

    pub(super) fn root(&self) -> Root {
        Root::new(self.http.clone(), self.url())
    }

    pub(super) fn functions(&self) -> Vec<Function> {
        processes::below(self.folder())
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        let _ = self.process.kill();
        for function in self.functions() {
            function.kill();
        }
    }
}
