//! A webhook endpoint that behaves as its path says and records what it receives:
//! `/webhooks/{name}/{behavior}`. It accepts the first message, which is the test that enables it,
//! unless the behavior is `fails`.

use std::{
    collections::HashMap,
    sync::{LazyLock, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::Path,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::post,
};
use chrono::{DateTime, Utc};
use futures::stream;

#[derive(Debug, Clone)]
pub struct ReceivedMessage {
    pub at: DateTime<Utc>,
    pub headers: HeaderMap,
    /// Byte for byte.
    pub body: String,
}

/// By endpoint name.
static RECEIVED: LazyLock<Mutex<HashMap<String, Vec<ReceivedMessage>>>> = LazyLock::new(Mutex::default);

pub fn received(name: &str) -> Vec<ReceivedMessage> {
    RECEIVED.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned().unwrap_or_default()
}

pub fn router() -> Router {
    Router::new().route("/webhooks/{name}/{behavior}", post(receive))
}

async fn receive(Path((name, behavior)): Path<(String, String)>, headers: HeaderMap, body: Bytes) -> Response {
    let body = String::from_utf8_lossy(&body).into_owned();
    let one = ReceivedMessage { at: Utc::now(), headers, body };
    let before = {
        let mut received = RECEIVED.lock().unwrap_or_else(PoisonError::into_inner);
        let all = received.entry(name).or_default();
        all.push(one);
        all.len() - 1
    };
    match behavior.as_str() {
        "fails" => (StatusCode::INTERNAL_SERVER_ERROR, "out of order").into_response(),
        "accepts" => StatusCode::NO_CONTENT.into_response(),
        _ if before == 0 => StatusCode::NO_CONTENT.into_response(),
        "is-gone" => (StatusCode::GONE, "never again").into_response(),
        "is-slow" => {
            tokio::time::sleep(Duration::from_secs(20)).await;
            StatusCode::NO_CONTENT.into_response()
        }
        "fails-once" if before == 1 => (StatusCode::INTERNAL_SERVER_ERROR, "out of order").into_response(),
        // The message has arrived, and the connection breaks before the response.
        "loses-once" if before == 1 => {
            let broken = stream::once(async { Err::<Bytes, _>(std::io::Error::other("lost")) });
            (StatusCode::OK, [("content-length", "10")], Body::from_stream(broken)).into_response()
        }
        _ => StatusCode::OK.into_response(),
    }
}
