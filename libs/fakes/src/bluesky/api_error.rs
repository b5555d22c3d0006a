use axum::Json;
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, TimeDelta, Utc};
use http::{HeaderName, StatusCode};
use serde_json::{Value, json};

use crate::fake::oauth::Fault;

/// An error, with the real servers' message where it is known.
#[derive(Debug)]
pub(super) struct ApiError {
    status: StatusCode,
    body: Value,
    headers: Vec<(HeaderName, String)>,
}

pub(super) type ApiResult = Result<Json<Value>, ApiError>;

impl ApiError {
    /// Error of a data server, an `AppView` or the video service.
    pub(super) fn xrpc(status: StatusCode, error: &str, message: impl Into<String>) -> Self {
        Self { status, body: json!({ "error": error, "message": message.into() }), headers: Vec::new() }
    }

    /// 400 `InvalidRequest`.
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::bad("InvalidRequest", message)
    }

    /// 400 with the given error name.
    pub(super) fn bad(error: &str, message: impl Into<String>) -> Self {
        Self::xrpc(StatusCode::BAD_REQUEST, error, message)
    }

    pub(super) fn unauthorized(error: &str, message: impl Into<String>) -> Self {
        Self::xrpc(StatusCode::UNAUTHORIZED, error, message)
    }

    pub(super) fn too_large() -> Self {
        Self::xrpc(StatusCode::PAYLOAD_TOO_LARGE, "PayloadTooLarge", "request entity too large")
    }

    /// The reset is in whole seconds since 1970, rounded up.
    pub(super) fn rate_limited(resets_at: DateTime<Utc>) -> Self {
        let reset = (resets_at + TimeDelta::milliseconds(999)).timestamp();
        Self::xrpc(StatusCode::TOO_MANY_REQUESTS, "RateLimitExceeded", "Rate Limit Exceeded")
            .with("ratelimit-limit", "5000")
            .with("ratelimit-remaining", "0")
            .with("ratelimit-reset", reset.to_string())
    }

    /// 400 of the authorization server.
    pub(super) fn oauth(error: &str, description: impl Into<String>) -> Self {
        let body = json!({ "error": error, "error_description": description.into() });
        Self { status: StatusCode::BAD_REQUEST, body, headers: Vec::new() }
    }

    fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((HeaderName::from_static(name), value.into()));
        self
    }

    /// 401 with the challenge of RFC 9449.
    pub(super) fn with_challenge(self, error: &str) -> Self {
        let challenge = format!(r#"DPoP algs="ES256", error="{error}""#);
        Self { status: StatusCode::UNAUTHORIZED, ..self }.with("www-authenticate", challenge)
    }
}

impl From<Fault> for ApiError {
    fn from(fault: Fault) -> Self {
        Self { status: fault.status(), ..Self::oauth(fault.code(), fault.message()) }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.body)).into_response();
        for (name, value) in self.headers {
            response.headers_mut().insert(name, value.parse().expect("a header of printable characters"));
        }
        response
    }
}
