//! Error responses.

use axum::Json;
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use http::StatusCode;
use serde_json::{Value, json};

use crate::fake::oauth::Fault;
use crate::fake::schema::Violation;

#[derive(Debug)]
pub(super) struct ApiError {
    status: StatusCode,
    /// `None` for the empty body that X's edge sends.
    body: Option<Value>,
    reset: Option<DateTime<Utc>>,
}

impl ApiError {
    pub(super) fn with(status: StatusCode, body: Value) -> Self {
        Self { status, body: Some(body), reset: None }
    }

    /// The response of X's edge to a body that is too large.
    pub(super) fn too_large() -> Self {
        Self { status: StatusCode::PAYLOAD_TOO_LARGE, body: None, reset: None }
    }

    /// A query parameter that is unknown or has an invalid value.
    pub(super) fn parameter(name: &str, value: &str, message: &str) -> Self {
        let mut refusal = Self::invalid(message);
        if let Some(body) = &mut refusal.body {
            body["errors"][0]["parameters"] = json!({ name: [value] });
        }
        refusal
    }

    /// A problem without a specific type.
    pub(super) fn new(status: u16, title: &str, detail: &str) -> Self {
        let body = json!({ "title": title, "detail": detail, "type": "about:blank", "status": status });
        Self::with(StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), body)
    }

    /// "One or more parameters to your request was invalid."
    pub(super) fn invalid(message: &str) -> Self {
        let body = json!({
            "errors": [{ "message": message }],
            "title": "Invalid Request",
            "detail": "One or more parameters to your request was invalid.",
            "type": "https://api.twitter.com/2/problems/invalid-request",
        });
        Self::with(StatusCode::BAD_REQUEST, body)
    }

    pub(super) fn forbidden(detail: &str) -> Self {
        Self::new(403, "Forbidden", detail)
    }

    pub(super) fn not_found() -> Self {
        Self::new(404, "Not Found", "Could not find what was asked for.")
    }

    pub(super) fn too_many(reset: DateTime<Utc>) -> Self {
        let mut refusal = Self::new(429, "Too Many Requests", "Too Many Requests");
        refusal.reset = Some(reset);
        refusal
    }
}

impl From<Fault> for ApiError {
    fn from(error: Fault) -> Self {
        match error {
            Fault::UnknownToken | Fault::RevokedToken | Fault::ExpiredToken => {
                Self::new(401, "Unauthorized", "Unauthorized")
            }
            _ => Self::forbidden("You are not permitted to perform this action."),
        }
    }
}

impl From<Violation> for ApiError {
    fn from(violation: Violation) -> Self {
        Self::invalid(&violation.to_string())
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let Self { status, body, reset } = self;
        let Some(body) = body else { return status.into_response() };
        let Some(reset) = reset else { return (status, Json(body)).into_response() };
        let headers = [
            ("x-rate-limit-limit", "100".to_owned()),
            ("x-rate-limit-remaining", "0".to_owned()),
            ("x-rate-limit-reset", reset.timestamp().to_string()),
        ];
        (status, headers, Json(body)).into_response()
    }
}
