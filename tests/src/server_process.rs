//! Servers that the tests start by a script: it prints what a test needs to know, and ends with its standard input.

use std::{
    fs,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;
use tempfile::TempDir;

use crate::{error::Result, fail};

/// Limit of a start on a busy machine; on an idle one it takes two seconds.
pub const PATIENCE: Duration = Duration::from_mins(5);

/// The server process; it ends when this is dropped.
pub struct ServerProcess {
    child: Child,
    folder: TempDir,
}

impl ServerProcess {
    pub fn start(mut command: Command) -> Result<Self> {
        let folder = TempDir::new()?;
        let child = command
            // Everything that the server stores is removed with this folder.
            .env("TMPDIR", folder.path())
            // The server ends when this pipe closes, so even when this process is killed.
            .stdin(Stdio::piped())
            .stdout(fs::File::create(folder.path().join("facts"))?)
            .stderr(fs::File::create(folder.path().join("log"))?)
            .spawn()?;
        Ok(Self { child, folder })
    }

    /// The values that the server prints when it is ready, as one line of JSON.
    pub async fn facts(&mut self, name: &str) -> Result<Value> {
        let started = Instant::now();
        loop {
            let startup_output = fs::read_to_string(self.folder.path().join("facts"))?;
            if let Some(line) = startup_output.strip_suffix('\n') {
                return Ok(serde_json::from_str(line)?);
            }
            let ended = self.child.try_wait()?;
            if ended.is_some() || PATIENCE < started.elapsed() {
                fail!("{name} did not become ready ({ended:?}):\n{}", self.log());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
