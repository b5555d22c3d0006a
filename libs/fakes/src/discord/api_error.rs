//! Error responses.

use axum::Json;
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use http::StatusCode;
use serde_json::{Value, json};

use crate::fake::limits::LimitUsage;
use crate::fake::schema::{Problem, Violation};

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
        let mut refusal = Self::bad(50_035, "Invalid Form Body");
        refusal.body["errors"] = errors;
        refusal
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

impl From<Violation> for ApiError {
    fn from(Violation { path, problem }: Violation) -> Self {
        let (code, message) = match problem {
            Problem::Unknown => ("UNKNOWN", "There is no such field.".to_owned()),
            Problem::Missing => ("BASE_TYPE_REQUIRED", "This field is required".to_owned()),
            Problem::WrongType => ("TYPE_CONVERT", "Could not interpret this value.".to_owned()),
            Problem::WrongValue => ("BASE_TYPE_CHOICES", "This value is not permitted.".to_owned()),
            Problem::TooShort(min) => ("BASE_TYPE_MIN_LENGTH", format!("Must be {min} or more in length.")),
            Problem::TooLong(max) => ("BASE_TYPE_MAX_LENGTH", format!("Must be {max} or fewer in length.")),
        };
        Self::field(&path.trim_start_matches('/').replace('/', "."), code, &message)
    }
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
