//! Counts what each call of the store costs, for the bench: stands between the
//! SDK and the database, and asks for the consumed capacity that our own code
//! does not need to know.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use axum::{Json, Router};
use http::{HeaderMap, StatusCode};
use serde::Serialize;
use serde_json::Value;
use tokio::net::TcpListener;

use crate::error::LocalError;

/// Calls kept.
const KEPT: usize = 10_000;

/// How long a call takes at least, as it would across a network: without it,
/// calls side by side could not be told from those that wait for each other.
const LATENCY: Duration = Duration::from_millis(5);

/// One call of the store.
#[derive(Clone, Debug, Serialize)]
struct Call {
    /// Grows by one with each call.
    number: u64,
    operation: String,
    tables: Vec<String>,
    /// Read and write units together, as the emulator reports them.
    units: f64,
    /// When it began and ended, in microseconds since the meter started.
    began_us: u64,
    ended_us: u64,
}

/// The latest calls.
#[derive(Clone)]
pub(crate) struct Meter {
    calls: Arc<Mutex<VecDeque<Call>>>,
    started: std::time::Instant,
    http: reqwest::Client,
}

#[derive(Clone)]
struct Metered {
    meter: Meter,
    endpoint: String,
}

impl Meter {
    pub(crate) fn new() -> Result<Self, LocalError> {
        let http = reqwest::Client::builder().no_proxy().build()?;
        Ok(Self { calls: Arc::default(), started: std::time::Instant::now(), http })
    }

    /// An endpoint that passes calls on to this one.
    pub(crate) async fn before(&self, endpoint: String) -> Result<String, LocalError> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let metered = format!("http://{}", listener.local_addr()?);
        let state = Metered { meter: self.clone(), endpoint };
        let router = Router::new().route("/", post(pass)).with_state(state);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(metered)
    }

    /// `GET /dev/store-calls`: the latest calls; `DELETE` forgets them.
    pub(crate) fn router(self) -> Router {
        Router::new().route("/dev/store-calls", get(list).delete(forget)).with_state(self)
    }

    fn elapsed_us(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    fn record(&self, operation: String, answer: &Value, began_us: u64) {
        let capacities = match answer.get("ConsumedCapacity") {
            Some(Value::Array(several)) => several.clone(),
            Some(one) => vec![one.clone()],
            None => Vec::new(),
        };
        let name = |it: &Value| it.get("TableName").and_then(Value::as_str).map(str::to_owned);
        let units = |it: &Value| it.get("CapacityUnits").and_then(Value::as_f64).unwrap_or_default();
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if calls.len() == KEPT {
            calls.pop_front();
        }
        let number = calls.back().map_or(1, |it| it.number + 1);
        calls.push_back(Call {
            number,
            operation,
            tables: capacities.iter().filter_map(name).collect(),
            units: capacities.iter().map(units).sum(),
            began_us,
            ended_us: self.elapsed_us(),
        });
    }
}

async fn list(State(meter): State<Meter>) -> Json<Value> {
    let calls = meter.calls.lock().unwrap_or_else(PoisonError::into_inner);
    Json(serde_json::json!({ "calls": *calls }))
}

async fn forget(State(meter): State<Meter>) -> StatusCode {
    meter.calls.lock().unwrap_or_else(PoisonError::into_inner).clear();
    StatusCode::NO_CONTENT
}

async fn pass(State(state): State<Metered>, headers: HeaderMap, body: Bytes) -> impl IntoResponse {
    let began_us = state.meter.elapsed_us();
    let target = headers.get("x-amz-target").and_then(|it| it.to_str().ok()).unwrap_or_default();
    let operation = target.rsplit('.').next().unwrap_or_default().to_owned();
    let mut body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let counts = !operation.ends_with("Table") && !operation.ends_with("TimeToLive");
    if let (true, Some(fields)) = (counts, body.as_object_mut()) {
        fields.insert("ReturnConsumedCapacity".to_owned(), "TOTAL".into());
    }
    let mut request = state.meter.http.post(&state.endpoint).body(body.to_string());
    for name in ["x-amz-target", "content-type", "authorization", "x-amz-date"] {
        if let Some(value) = headers.get(name) {
            request = request.header(name, value);
        }
    }
    let answered = async {
        let response = request.send().await?;
        let status = response.status();
        Ok::<_, reqwest::Error>((status, response.bytes().await?))
    };
    let (answered, ()) = tokio::join!(answered, tokio::time::sleep(LATENCY));
    match answered {
        Ok((status, bytes)) => {
            if counts {
                let answer = serde_json::from_slice(&bytes).unwrap_or_default();
                state.meter.record(operation, &answer, began_us);
            }
            (status, [("content-type", "application/x-amz-json-1.0")], bytes).into_response()
        }
        Err(error) => {
            tracing::error!(%error, "the store did not answer the meter");
            StatusCode::BAD_GATEWAY.into_response()
        }
    }
}
