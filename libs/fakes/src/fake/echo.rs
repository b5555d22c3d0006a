//! Error responses that repeat the request.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use http::header;

use super::wire::Cut;
use crate::conformance::echo::with_request;

/// Whether error responses repeat the request.
pub type Echo = Arc<AtomicBool>;

/// Makes error responses repeat the request while `echo` is set.
pub fn wrap(router: Router, echo: &Echo) -> Router {
    router.layer(from_fn_with_state(Arc::clone(echo), echo_request))
}

async fn echo_request(State(echo): State<Echo>, request: Request, next: Next) -> Response {
    if !echo.load(Ordering::Relaxed) {
        return next.run(request).await;
    }
    let (head, body) = request.into_parts();
    let authorization = head.headers.get(header::AUTHORIZATION).and_then(|it| it.to_str().ok()).unwrap_or_default();
    // Some platforms expect a token in the path.
    let authorization = format!("{authorization} {}", head.uri.path());
    // After a read error the client is gone, and the response is not read.
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let response = next.run(Request::from_parts(head, Body::from(body.clone()))).await;
    let is_refusal = response.status().is_client_error() || response.status().is_server_error();
    if !is_refusal || response.extensions().get::<Cut>().is_some() {
        return response;
    }
    let (mut head, refusal) = response.into_parts();
    let refusal = to_bytes(refusal, usize::MAX).await.unwrap_or_default();
    head.headers.remove(header::CONTENT_LENGTH);
    let repeated = with_request(&refusal, &authorization, &body);
    Response::from_parts(head, repeated.map_or_else(|| Body::from(refusal), Body::from))
}
