//! Reads the rest of a request body after an early response.
//!
//! If a server responds early and closes the connection, a client that is still sending gets a
//! broken pipe and may never see the response. API Gateway and S3 read whole requests, so this
//! process also does.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::{Body, BodyDataStream, HttpBody};
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use futures::{StreamExt, stream};

/// The largest file needs less time.
const REST: Duration = Duration::from_secs(5);

pub(crate) async fn drain_request_body(request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    if body.is_end_stream() {
        return next.run(Request::from_parts(head, body)).await;
    }
    let body = Arc::new(Mutex::new(body.into_data_stream()));
    let pieces = |body: Arc<Mutex<BodyDataStream>>| {
        stream::poll_fn(move |context| body.lock().unwrap_or_else(PoisonError::into_inner).poll_next_unpin(context))
    };
    let (lent, mut rest) = (pieces(Arc::clone(&body)), pieces(body));

    let response = next.run(Request::from_parts(head, Body::from_stream(lent))).await;
    let all = async { while let Some(Ok(_)) = rest.next().await {} };
    if tokio::time::timeout(REST, all).await.is_err() {
        tracing::info!("a request was not read to its end");
    }
    response
}
