//! `MiniStack` as a child process: AWS on one port, with roles enforced.

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use reqwest::{Client, Method};
use serde_json::Value;
use tempfile::TempDir;

use super::processes::{self, Function};
use crate::{
    ensure, fail,
    fault::{Fault, Result},
    tools::MINISTACK,
};

/// What the emulator takes for the root of the account.
const ROOT: &str = "test";

/// Everything is in this region.
pub(super) const REGION: &str = "us-east-1";

/// A running emulator; it ends, with every function, when this is dropped.
pub(super) struct Emulator {
    child: Child,
    folder: TempDir,
    port: u16,
    http: Client,
}

impl Emulator {
    /// Starts one whose functions reach AWS at this URL.
    pub(super) async fn start(port: u16, reached_at: &str) -> Result<Self> {
        let folder = TempDir::new()?;
        let log = fs::File::create(folder.path().join("log"))?;
        let path = std::env::var("PATH")?;
        // Nothing else of this environment: functions inherit it, and would
        // read settings that no deployment has.
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
            if self.child.try_wait()?.is_some() || Duration::from_mins(1) < started.elapsed() {
                fail!("the emulator did not become ready:\n{}", self.log());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Where it is.
    pub(super) fn url(&self) -> String {
        format!("http://localhost:{}", self.port)
    }

    /// A folder that ends with it.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What it wrote so far.
    pub(super) fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// A program that acts as the root of the account.
    pub(super) fn command(&self, program: PathBuf) -> Command {
        let mut command = Command::new(program);
        command
            .env("AWS_ENDPOINT_URL", self.url())
            .env("AWS_ACCESS_KEY_ID", ROOT)
            .env("AWS_SECRET_ACCESS_KEY", ROOT)
            .env("AWS_DEFAULT_REGION", REGION)
            .env("AWS_CONFIG_FILE", "/dev/null")
            .env("SAM_CLI_TELEMETRY", "0")
            .env_remove("AWS_CA_BUNDLE");
        command
    }

    /// How to call it as the root of the account.
    pub(super) fn root(&self) -> Root {
        Root { http: self.http.clone(), url: self.url() }
    }

    /// The processes of functions that run now.
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

/// Calls of AWS as the root of the account.
#[derive(Clone, Debug)]
pub struct Root {
    http: Client,
    url: String,
}

impl Root {
    /// A call of one of the services that speak JSON, such as
    /// `AmazonSQS.SendMessage`.
    pub async fn call(&self, target: &str, body: &Value) -> Result<Value> {
        let request = self.request(Method::POST, "/", signing_name(target)).header("x-amz-target", target);
        let request = request.header("content-type", "application/x-amz-json-1.1").body(body.to_string());
        answer(request, target).await
    }

    /// Has a function work on an event now, and gives what it answered.
    pub async fn invoke(&self, function: &str, event: &Value) -> Result<Value> {
        let path = format!("/2015-03-31/functions/{function}/invocations");
        answer(self.request(Method::POST, &path, "lambda").body(event.to_string()), function).await
    }

    /// Removes an object from a bucket.
    pub async fn remove_object(&self, bucket: &str, key: &str) -> Result {
        answer(self.request(Method::DELETE, &format!("/{bucket}/{key}"), "s3"), key).await?;
        Ok(())
    }

    fn request(&self, method: Method, path: &str, service: &str) -> reqwest::RequestBuilder {
        // Root's signatures are not looked at.
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential={ROOT}/20260101/{REGION}/{service}/aws4_request, SignedHeaders=host, Signature=0"
        );
        self.http.request(method, format!("{}{path}", self.url)).header("authorization", authorization)
    }
}

async fn answer(request: reqwest::RequestBuilder, what: &str) -> Result<Value> {
    let response = request.send().await?;
    let (status, failed) = (response.status(), response.headers().get("x-amz-function-error").is_some());
    let text = response.text().await?;
    ensure!(status.is_success() && !failed, "{what}: {status} {text}");
    if text.is_empty() { Ok(Value::Null) } else { Ok(serde_json::from_str(&text)?) }
}

/// The service that a target is of, as it is called in a signature.
fn signing_name(target: &str) -> &'static str {
    match target.split(['.', '_']).next().unwrap_or_default() {
        "AWSCognitoIdentityProviderService" => "cognito-idp",
        "AmazonSQS" => "sqs",
        "Logs" => "logs",
        _ => "dynamodb",
    }
}

/// A port that is free now.
pub(super) fn free_port() -> Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(Fault::from)?;
    Ok(listener.local_addr()?.port())
}
