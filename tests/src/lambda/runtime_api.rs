//! A small fake of the Lambda Runtime API: it sends events and receives their results.

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use axum::{
    Json, Router,
    body::Bytes,
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde_json::Value;
use tokio::{
    net::TcpListener,
    sync::{
        Mutex,
        mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    },
};

use crate::error::Result;

const REQUEST_ID: &str = "8476a536-e9f4-11e8-9739-2dfe598c3fcd";

/// The function learns it with the event.
const TIMEOUT: Duration = Duration::from_mins(1);

#[derive(Debug)]
pub enum Outcome {
    Answered(Value),
    Failed(Value),
    /// Before the process asked for an event; its output.
    Ended(String),
}

pub(super) struct RuntimeApi {
    /// Host and port.
    pub(super) address: String,
    pub(super) events: UnboundedSender<Value>,
    /// When the function asked for an event.
    pub(super) asked: UnboundedReceiver<Instant>,
    pub(super) outcomes: UnboundedReceiver<Outcome>,
}

#[derive(Clone)]
struct RuntimeState {
    events: Arc<Mutex<UnboundedReceiver<Value>>>,
    asked: UnboundedSender<Instant>,
    outcomes: UnboundedSender<Outcome>,
}

impl RuntimeApi {
    /// On a free port, until the runtime ends.
    pub(super) async fn start() -> Result<Self> {
        let (events, waiting) = unbounded_channel();
        let (poll_sender, polls) = unbounded_channel();
        let (ends, outcomes) = unbounded_channel();
        let router = Router::new()
            .route("/2018-06-01/runtime/invocation/next", get(next_event))
            .route("/2018-06-01/runtime/invocation/{id}/response", post(receive_response))
            .route("/2018-06-01/runtime/invocation/{id}/error", post(receive_error))
            .route("/2018-06-01/runtime/init/error", post(receive_init_error))
            .with_state(RuntimeState { events: Arc::new(Mutex::new(waiting)), asked: poll_sender, outcomes: ends });
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?.to_string();
        tokio::spawn(async { axum::serve(listener, router).await });
        Ok(Self { address, events, asked: polls, outcomes })
    }
}

async fn next_event(State(served): State<RuntimeState>) -> Response {
    let _ = served.asked.send(Instant::now());
    // Each event is sent once; then the function waits for the next.
    let Some(event) = served.events.lock().await.recv().await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let ends = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default() + TIMEOUT;
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

async fn receive_response(State(served): State<RuntimeState>, Path(id): Path<String>, response: Bytes) -> StatusCode {
    if id == REQUEST_ID { served.take(Outcome::Answered(read(&response))) } else { StatusCode::NOT_FOUND }
}

async fn receive_error(State(served): State<RuntimeState>, Path(id): Path<String>, failure: Bytes) -> StatusCode {
    if id == REQUEST_ID { served.take(Outcome::Failed(read(&failure))) } else { StatusCode::NOT_FOUND }
}

async fn receive_init_error(State(served): State<RuntimeState>, failure: Bytes) -> StatusCode {
    served.take(Outcome::Failed(read(&failure)))
}

fn read(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or_else(|_| Value::String(String::from_utf8_lossy(body).into_owned()))
}

impl RuntimeState {
    fn take(&self, outcome: Outcome) -> StatusCode {
        // The receiver may be gone.
        let _ = self.outcomes.send(outcome);
        StatusCode::ACCEPTED
    }
}
