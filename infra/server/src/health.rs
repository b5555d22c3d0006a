//! `/health`, `/ready` and `/metrics`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use axum::extract::State;
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Json, Router};
use chrono::{DateTime, TimeDelta, Utc};
use domain::clock::Clock;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use storage::Store;
use subtle::ConstantTimeEq;

use crate::data_folder::DATABASE;
use crate::metrics::Metrics;
use crate::queue::Lanes;

/// A publisher that did not tick for this long, six times its interval, hangs.
const MAX_SILENCE: TimeDelta = TimeDelta::seconds(30);

const STORE_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Clone, Debug, Default)]
pub(crate) struct LastTick(Arc<AtomicI64>);

impl LastTick {
    pub(crate) fn set(&self, now: DateTime<Utc>) {
        self.0.store(now.timestamp_millis(), Ordering::Relaxed);
    }

    fn is_recent(&self, now: DateTime<Utc>) -> bool {
        let at = DateTime::from_timestamp_millis(self.0.load(Ordering::Relaxed)).unwrap_or_default();
        now - at <= MAX_SILENCE
    }
}

#[derive(Clone)]
pub(crate) struct Health {
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    pub(crate) last_tick: LastTick,
    pub(crate) metrics: Metrics,
    pub(crate) queues: Arc<Lanes>,
    /// `None` if the stores are in memory.
    pub(crate) folder: Option<PathBuf>,
    /// The token for `/metrics`, which does not exist without one.
    pub(crate) metrics_token: Option<SecretString>,
}

pub(crate) fn router(health: Health) -> Router {
    Router::new()
        .route("/health", get(async || Json(json!({ "status": "ok" }))))
        .route("/ready", get(ready))
        .route("/metrics", get(metrics))
        .with_state(health)
}

async fn ready(State(health): State<Health>) -> impl IntoResponse {
    let read = tokio::time::timeout(STORE_TIMEOUT, health.store.planned_until()).await;
    let store_responds = matches!(read, Ok(Ok(_)));
    let publisher_ticks = health.last_tick.is_recent(health.clock.now());
    let is_ready = store_responds && publisher_ticks;
    let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let text = |is_fine| if is_fine { "ok" } else { "failed" };
    (status, Json(json!({ "store": text(store_responds), "publisher": text(publisher_ticks) })))
}

async fn metrics(State(health): State<Health>, headers: HeaderMap) -> Result<impl IntoResponse, StatusCode> {
    let token = health.metrics_token.as_ref().ok_or(StatusCode::NOT_FOUND)?;
    let expected = format!("Bearer {}", token.expose_secret());
    let given = headers.get(AUTHORIZATION).map_or(&b""[..], |it| it.as_bytes());
    if !bool::from(given.ct_eq(expected.as_bytes())) {
        return Err(StatusCode::UNAUTHORIZED);
    }
    let (waiting, in_progress) = health.queues.sizes();
    health.metrics.set_queue(waiting, in_progress);
    if let Some(folder) = &health.folder {
        health.metrics.set_database_bytes(database_bytes(folder));
    }
    let text = health.metrics.text().map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    Ok(([(CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")], text))
}

/// Includes the write-ahead log.
fn database_bytes(folder: &Path) -> u64 {
    ["", "-wal"]
        .iter()
        .filter_map(|end| folder.join(format!("{DATABASE}{end}")).metadata().ok())
        .map(|it| it.len())
        .sum()
}
