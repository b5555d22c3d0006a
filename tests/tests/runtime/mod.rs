//! A small stand-in of the Lambda Runtime API: it starts a function's binary,
//! hands it one event and takes its answer.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{BehaviorVersion, Config, Credentials, Region};
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use dynoxide::Database;
use serde_json::Value;
use storage::Table;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// What the tables' names start with.
pub(crate) const PREFIX: &str = "deployed";

const REQUEST_ID: &str = "8476a536-e9f4-11e8-9739-2dfe598c3fcd";

/// How long a function may take to start and answer, on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// What became of an event.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The function answered.
    Answered(Value),
    /// The function said that it failed.
    Failed(Value),
    /// The process ended before it asked for an event; what it wrote.
    Ended(String),
}

/// A running function. It ends with this.
pub(crate) struct Function {
    child: Child,
    folder: TempDir,
    events: UnboundedSender<Value>,
    outcomes: UnboundedReceiver<Outcome>,
}

#[derive(Clone)]
struct Runtime {
    events: Arc<Mutex<UnboundedReceiver<Value>>>,
    outcomes: UnboundedSender<Outcome>,
}

impl Function {
    /// Starts a function with these variables and, beside them, what Lambda
    /// sets and where the stores are.
    pub(crate) async fn start(name: &str, environment: BTreeMap<String, String>) -> Self {
        let (events, waiting) = unbounded_channel();
        let (ended, outcomes) = unbounded_channel();
        let runtime = serve(Runtime { events: Arc::new(Mutex::new(waiting)), outcomes: ended }).await;
        let tables = tables().await;

        let folder = TempDir::new().unwrap();
        let log = std::fs::File::create(folder.path().join("log")).unwrap();
        let child = Command::new(binary(name))
            .env_clear()
            .envs(environment)
            .env("AWS_LAMBDA_RUNTIME_API", runtime)
            .env("AWS_LAMBDA_FUNCTION_NAME", name)
            .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "512")
            .env("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST")
            .env("AWS_REGION", "eu-central-1")
            .env("AWS_ACCESS_KEY_ID", "test")
            .env("AWS_SECRET_ACCESS_KEY", "test")
            .env("AWS_ENDPOINT_URL_DYNAMODB", tables)
            // Nothing else of AWS is there: a call of it fails here.
            .env("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        Self { child, folder, events, outcomes }
    }

    /// Hands it an event.
    pub(crate) async fn invoke(&mut self, event: &Value) -> Outcome {
        self.events.send(event.clone()).unwrap();
        let mut looks = tokio::time::interval(Duration::from_millis(20));
        let outcome = async {
            loop {
                tokio::select! {
                    Some(outcome) = self.outcomes.recv() => return Some(outcome),
                    _ = looks.tick() => if self.child.try_wait().unwrap().is_some() { return None },
                }
            }
        };
        let outcome = tokio::time::timeout(PATIENCE, outcome).await;
        let outcome = outcome.unwrap_or_else(|_| panic!("no answer within {PATIENCE:?}: {}", self.log()));
        outcome.unwrap_or_else(|| Outcome::Ended(self.log()))
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap()
    }
}

impl Drop for Function {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The binary of a function, which cargo puts beside this test's folder.
fn binary(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let binary = test.parent().and_then(std::path::Path::parent).unwrap().join(name);
    assert!(binary.exists(), "{} is not there: run `cargo build --workspace` first", binary.display());
    binary
}

/// The Runtime API; the host and port of it.
async fn serve(runtime: Runtime) -> String {
    let router = Router::new()
        .route("/2018-06-01/runtime/invocation/next", get(next))
        .route("/2018-06-01/runtime/invocation/{id}/response", post(answered))
        .route("/2018-06-01/runtime/invocation/{id}/error", post(failed))
        .route("/2018-06-01/runtime/init/error", post(not_started))
        .with_state(runtime);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async { axum::serve(listener, router).await });
    address
}

async fn next(State(runtime): State<Runtime>) -> Response {
    // Each event is handed out once; then the function waits for the next.
    let Some(event) = runtime.events.lock().await.recv().await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let ends = SystemTime::now().duration_since(UNIX_EPOCH).unwrap() + PATIENCE;
    let headers = [
        ("lambda-runtime-aws-request-id", REQUEST_ID.to_owned()),
        ("lambda-runtime-deadline-ms", ends.as_millis().to_string()),
        (
            "lambda-runtime-invoked-function-arn",
            "arn:aws:lambda:eu-central-1:123456789012:function:social-publishing".to_owned(),
        ),
        (
            "lambda-runtime-trace-id",
            "Root=1-67ae1f2b-1d4f0a5c3b2e4f6a7b8c9d0e;Parent=53995c3f42cd8ad8;Sampled=0".to_owned(),
        ),
    ];
    (headers, Json(event)).into_response()
}

async fn answered(State(runtime): State<Runtime>, Path(id): Path<String>, body: Bytes) -> StatusCode {
    assert_eq!(id, REQUEST_ID);
    take(&runtime, Outcome::Answered(serde_json::from_slice(&body).unwrap()))
}

async fn failed(State(runtime): State<Runtime>, Path(id): Path<String>, body: Bytes) -> StatusCode {
    assert_eq!(id, REQUEST_ID);
    take(&runtime, Outcome::Failed(serde_json::from_slice(&body).unwrap()))
}

async fn not_started(State(runtime): State<Runtime>, body: Bytes) -> StatusCode {
    take(&runtime, Outcome::Failed(serde_json::from_slice(&body).unwrap()))
}

fn take(runtime: &Runtime, outcome: Outcome) -> StatusCode {
    // The test may have ended.
    let _ = runtime.outcomes.send(outcome);
    StatusCode::ACCEPTED
}

/// DynamoDB in this process with every table, empty; its URL.
async fn tables() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let database = Database::memory().unwrap();
    tokio::spawn(dynoxide::server::serve_with_shutdown(listener, database, std::future::pending()));

    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("eu-central-1"))
        .endpoint_url(&url)
        .credentials_provider(Credentials::new("test", "test", None, None, "test"))
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .build();
    let client = Client::from_conf(config);
    for table in Table::ALL {
        table.create(&client, PREFIX).await.unwrap();
    }
    url
}
