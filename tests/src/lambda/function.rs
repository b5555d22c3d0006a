use std::{
    collections::BTreeMap,
    fs,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;
use tempfile::TempDir;

use super::runtime_api::{Outcome, RuntimeApi};
use crate::{
    error::{Result, TestError},
    fail,
};

/// A function has to start and respond within this time, on a busy machine.
const RESPONSE_TIMEOUT: Duration = Duration::from_mins(1);

/// Ends when this is dropped.
pub struct Function {
    child: Child,
    folder: TempDir,
    runtime: RuntimeApi,
    started: Instant,
}

impl Function {
    /// `program` is a function's binary, or runs one. It gets these variables and those that Lambda
    /// sets.
    pub async fn start(mut program: Command, environment: &BTreeMap<String, String>) -> Result<Self> {
        let runtime = RuntimeApi::start().await?;
        let folder = TempDir::new()?;
        let log = fs::File::create(folder.path().join("log"))?;
        program
            .env_clear()
            .env("AWS_LAMBDA_RUNTIME_API", &runtime.address)
            .env("AWS_LAMBDA_FUNCTION_NAME", "social-publishing")
            .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "512")
            .env("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST")
            .env("AWS_REGION", "eu-central-1")
            .env("AWS_ACCESS_KEY_ID", "test")
            .env("AWS_SECRET_ACCESS_KEY", "test")
            .env("AWS_SESSION_TOKEN", "test")
            .envs(environment)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        let started = Instant::now();
        let child = program.spawn().map_err(|error| TestError::new(format!("{program:?}: {error}")))?;
        Ok(Self { child, folder, runtime, started })
    }

    /// A function that asks for its first event is ready. Returns the time since its start.
    pub async fn ready(&mut self) -> Result<Duration> {
        let polled = tokio::time::timeout(RESPONSE_TIMEOUT, self.runtime.asked.recv()).await;
        let Ok(Some(polled)) = polled else {
            fail!("did not become ready within {RESPONSE_TIMEOUT:?}: {}", self.log())
        };
        Ok(polled - self.started)
    }

    pub async fn invoke(&mut self, event: &Value) -> Result<Outcome> {
        self.runtime.events.send(event.clone())?;
        let mut looks = tokio::time::interval(Duration::from_millis(20));
        let outcome = async {
            loop {
                tokio::select! {
                    Some(outcome) = self.runtime.outcomes.recv() => return Ok(Some(outcome)),
                    _ = looks.tick() => if self.child.try_wait()?.is_some() { return Ok::<_, TestError>(None) },
                }
            }
        };
        match tokio::time::timeout(RESPONSE_TIMEOUT, outcome).await {
            Ok(outcome) => Ok(outcome?.unwrap_or_else(|| Outcome::Ended(self.log()))),
            Err(_) => fail!("no response within {RESPONSE_TIMEOUT:?}: {}", self.log()),
        }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn terminate(mut self) -> Result {
        let status = Command::new("kill").arg(self.child.id().to_string()).status()?;
        if !status.success() {
            fail!("process {} could not be asked to end: {status}", self.child.id());
        }
        self.child.wait()?;
        Ok(())
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }
}

impl Drop for Function {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
