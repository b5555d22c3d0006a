//! "Standard error responses".

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use serde_json::{Value, json};

#[derive(Debug)]
pub(super) struct ApiError {
    status: StatusCode,
    body: Value,
}

impl ApiError {
    pub(super) fn new(status: u16, code: &str, message: &str) -> Self {
        let status = StatusCode::from_u16(status).expect("it is a status");
        Self { status, body: json!({ "errcode": code, "error": message }) }
    }

    fn with(mut self, name: &str, value: Value) -> Self {
        self.body[name] = value;
        self
    }

    pub(super) fn bad(message: &str) -> Self {
        Self::new(400, "M_BAD_JSON", message)
    }

    pub(super) fn forbidden(message: &str) -> Self {
        Self::new(403, "M_FORBIDDEN", message)
    }

    pub(super) fn unrecognized() -> Self {
        Self::new(404, "M_UNRECOGNIZED", "Unrecognized request")
    }

    pub(super) fn unknown_token(soft_logout: bool) -> Self {
        let message = "Access token has expired or is unknown";
        Self::new(401, "M_UNKNOWN_TOKEN", message).with("soft_logout", soft_logout.into())
    }

    pub(super) fn too_many(milliseconds: i64) -> Self {
        Self::new(429, "M_LIMIT_EXCEEDED", "Too Many Requests").with("retry_after_ms", milliseconds.into())
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let wait = self.body["retry_after_ms"].as_i64().map(|it| (header::RETRY_AFTER, (it / 1000).max(1).to_string()));
        (self.status, wait.map(|it| [it]), Json(self.body)).into_response()
    }
}
