//! Requests to the fakes of one task with their responses, for the comparison with recorded
//! responses.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use super::cut::Cut;

tokio::task_local! {
    static EXCHANGES: Exchanges;
}

#[derive(Clone, Debug)]
pub struct Exchange {
    /// Such as `POST /api/v1/statuses`, without a query.
    pub request: String,
    pub status: u16,
    /// The body of the response; `None` unless it is JSON.
    pub body: Option<Value>,
}

#[derive(Clone, Debug, Default)]
struct Exchanges(Arc<Mutex<Vec<Exchange>>>);

/// All exchanges with the fakes that `task` starts, in order, without those whose connection was
/// cut.
pub async fn record_exchanges(task: impl Future<Output = ()>) -> Vec<Exchange> {
    let exchanges = Exchanges::default();
    EXCHANGES.scope(exchanges.clone(), task).await;
    let mut recorded = exchanges.0.lock().unwrap_or_else(PoisonError::into_inner);
    std::mem::take(&mut *recorded)
}

/// Records the exchanges of a server inside [`record_exchanges`].
pub(super) fn wrap(router: Router) -> Router {
    match EXCHANGES.try_with(Clone::clone) {
        Ok(exchanges) => router.layer(from_fn_with_state(exchanges, record)),
        Err(_) => router,
    }
}

async fn record(State(exchanges): State<Exchanges>, request: Request, next: Next) -> Response {
    let request_line = format!("{} {}", request.method(), request.uri().path());
    let response = next.run(request).await;
    if response.extensions().get::<Cut>().is_some() {
        return response;
    }
    let (head, body) = response.into_parts();
    let Ok(bytes) = to_bytes(body, usize::MAX).await else { return Cut.into_response() };
    let status = head.status.as_u16();
    let exchange = Exchange { request: request_line, status, body: serde_json::from_slice(&bytes).ok() };
    exchanges.0.lock().unwrap_or_else(PoisonError::into_inner).push(exchange);
    Response::from_parts(head, Body::from(bytes))
}
