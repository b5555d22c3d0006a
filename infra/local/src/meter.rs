//! Counts the cost of each store call, for the bench. It sits between the SDK and the database
//! and requests the consumed capacity, which the service itself does not need.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use http::StatusCode;
use serde::Serialize;
use serde_json::Value;

const KEPT: usize = 10_000;

/// The minimum duration of a call, as across a network. Without it, the meter could not distinguish
/// parallel calls from sequential ones.
const LATENCY: Duration = Duration::from_millis(5);

#[derive(Clone, Debug, Serialize)]
struct StoreCall {
    /// Increases by one with each call.
    number: u64,
    operation: String,
    tables: Vec<String>,
    /// The sum of read and write units, as the emulator reports them.
    units: f64,
    /// In microseconds since the meter started.
    began_us: u64,
    ended_us: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Meter {
    calls: Arc<Mutex<VecDeque<StoreCall>>>,
    started: std::time::Instant,
}

impl Meter {
    pub(crate) fn new() -> Self {
        Self { calls: Arc::default(), started: std::time::Instant::now() }
    }

    pub(crate) fn before(&self, inner: SharedHttpClient) -> SharedHttpClient {
        SharedHttpClient::new(Metered { meter: self.clone(), inner })
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
        calls.push_back(StoreCall {
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

#[derive(Debug)]
struct Metered {
    meter: Meter,
    inner: SharedHttpClient,
}

impl HttpClient for Metered {
    fn http_connector(&self, settings: &HttpConnectorSettings, components: &RuntimeComponents) -> SharedHttpConnector {
        let inner = self.inner.http_connector(settings, components);
        SharedHttpConnector::new(MeteredConnector { meter: self.meter.clone(), inner })
    }
}

#[derive(Debug)]
struct MeteredConnector {
    meter: Meter,
    inner: SharedHttpConnector,
}

impl HttpConnector for MeteredConnector {
    fn call(&self, mut request: HttpRequest) -> HttpConnectorFuture {
        let (meter, began_us) = (self.meter.clone(), self.meter.elapsed_us());
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let operation = target.rsplit('.').next().unwrap_or_default().to_owned();
        let counts = !operation.ends_with("Table");
        let request_json: Option<Value> = request.body().bytes().and_then(|it| serde_json::from_slice(it).ok());
        if let (true, Some(Value::Object(mut fields))) = (counts, request_json) {
            fields.insert("ReturnConsumedCapacity".to_owned(), "TOTAL".into());
            *request.body_mut() = SdkBody::from(Value::Object(fields).to_string());
        }
        let answered = self.inner.call(request);
        HttpConnectorFuture::new(async move {
            let (answered, ()) = tokio::join!(answered, tokio::time::sleep(LATENCY));
            let response = answered?;
            if counts {
                let answer = response.body().bytes().and_then(|it| serde_json::from_slice(it).ok());
                meter.record(operation, &answer.unwrap_or_default(), began_us);
            }
            Ok(response)
        })
    }
}
