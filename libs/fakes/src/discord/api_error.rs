//! Error responses.

use axum::Json;
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use http::StatusCode;
use serde_json::{Value, json};

use crate::fake::limits::LimitUsage;

/// An error response with Discord's JSON body.
#[derive(Debug)]
pub(super) struct ApiError {
    status: StatusCode,
    body: Value,
    headers: Vec<(&'static str, String)>,
}

pub(super) async fn not_found() -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, 0, "404: Not Found")
}

impl ApiError {
    pub(super) fn new(status: StatusCode, code: u32, message: &str) -> Self {
        Self { status, body: json!({ "message": message, "code": code }), headers: Vec::new() }
    }

    /// 400 with a documented code.
    pub(super) fn bad(code: u32, message: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }

    /// An invalid field; `path` is separated by dots (reference, "Error Messages").
    pub(super) fn field(path: &str, code: &str, message: &str) -> Self {
        let mut errors = json!({ "_errors": [{ "code": code, "message": message }] });
        for name in path.rsplit('.') {
            errors = json!({ name: errors });
        }
        let refusal = Self::bad(50_035, "Invalid Form Body");
        let mut body = refusal.body;
        body["errors"] = errors;
        Self { body, ..refusal }
    }

    pub(super) fn unknown_webhook() -> Self {
        Self::new(StatusCode::NOT_FOUND, 10_015, "Unknown Webhook")
    }

    /// The forum requires a tag (channel flag `REQUIRE_TAG`).
    pub(super) fn tag_required() -> Self {
        Self::bad(40_067, "A tag is required to create a forum post in this channel")
    }

    pub(super) fn too_large() -> Self {
        let message = "Request entity too large. Try sending something smaller in size";
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, 40_005, message)
    }

    /// 429 with this wait in seconds.
    pub(super) fn too_many(seconds: f64) -> Self {
        let body = json!({ "message": "You are being rate limited.", "retry_after": seconds, "global": false });
        let headers = vec![("retry-after", seconds.ceil().to_string()), ("x-ratelimit-scope", "user".to_owned())];
        Self { status: StatusCode::TOO_MANY_REQUESTS, body, headers }
    }

    /// Adds the rate limit headers.
    pub(super) fn with(mut self, usage: &LimitUsage, now: DateTime<Utc>) -> Self {
        self.headers.extend(rate_headers(usage, now));
        self
    }
}

/// The rate limit headers of each response.
pub(super) fn rate_headers(usage: &LimitUsage, now: DateTime<Utc>) -> Vec<(&'static str, String)> {
    let millis = usage.resets_at.timestamp_millis();
    vec![
        ("x-ratelimit-limit", usage.max.to_string()),
        ("x-ratelimit-remaining", usage.remaining.to_string()),
        ("x-ratelimit-reset", format!("{}.{:03}", millis / 1_000, millis % 1_000)),
        ("x-ratelimit-reset-after", format!("{:.3}", (usage.resets_at - now).as_seconds_f64())),
        ("x-ratelimit-bucket", "abcd1234".to_owned()),
    ]
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.body)).into_response();
        for (name, value) in self.headers {
            response.headers_mut().insert(name, value.parse().expect("what is written here can be a header"));
        }
        response
    }
}
