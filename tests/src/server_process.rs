//! Child processes of the tests: servers, which log into a folder of their own, and programs that end.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;
use tempfile::TempDir;

use crate::{error::Result, fail, tools};

/// Limit of a start on a busy machine; on an idle one, the slowest server takes three seconds.
pub const START_TIMEOUT: Duration = Duration::from_mins(5);

/// Returns the program's output. Unlike [`tools::run`], it blocks no other task.
pub async fn run(mut command: Command) -> Result<String> {
    tokio::task::spawn_blocking(move || tools::run(&mut command)).await?
}

/// Ends when this is dropped.
pub struct ServerProcess {
    child: Child,
    folder: TempDir,
}

impl ServerProcess {
    /// The folder is removed after the program's end. It has the outputs, in `log`.
    pub fn start(mut command: Command, folder: TempDir) -> Result<Self> {
        let log = fs::File::create(folder.path().join("log"))?;
        let child = command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).spawn()?;
        Ok(Self { child, folder })
    }

    /// The script prints what a test needs to know, and ends with its standard input.
    pub fn start_script(mut command: Command) -> Result<Self> {
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

    /// Fails if the process ends before.
    pub async fn ready<T, P: Future<Output = Option<T>>>(&mut self, name: &str, poll: impl Fn() -> P) -> Result<T> {
        let started = Instant::now();
        loop {
            if let Some(ready) = poll().await {
                return Ok(ready);
            }
            let ended = self.child.try_wait()?;
            if ended.is_some() || START_TIMEOUT < started.elapsed() {
                fail!("{name} did not become ready ({ended:?}):\n{}", self.log());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// One line of JSON, which a script prints when its server is ready.
    pub async fn facts(&mut self, name: &str) -> Result<Value> {
        let file = self.folder().join("facts");
        let line = || async { Some(fs::read_to_string(&file).ok()?.strip_suffix('\n')?.to_owned()) };
        Ok(serde_json::from_str(&self.ready(name, line).await?)?)
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.folder().join("log")).unwrap_or_default()
    }

    pub fn kill(&mut self) -> Result {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}
