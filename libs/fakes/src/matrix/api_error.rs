//! "Standard error responses".

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use serde_json::{Value, json};

/// An error response.
#[derive(Debug)]
pub(super) struct ApiError {
    status: StatusCode,
    body: Value,
}

impl ApiError {
    pub(super) fn new(status: u16, code: &str, message: &str) -> Self {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self { status, body: json!({ "errcode": code, "error": message }) }
    }

    pub(super) fn bad(message: &str) -> Self {
        Self::new(400, "M_BAD_JSON", message)
    }

    pub(super) fn parameter(message: &str) -> Self {
        Self::new(400, "M_INVALID_PARAM", message)
    }

    pub(super) fn forbidden(message: &str) -> Self {
        Self::new(403, "M_FORBIDDEN", message)
    }

    pub(super) fn unknown_token(soft_logout: bool) -> Self {
        let mut refusal = Self::new(401, "M_UNKNOWN_TOKEN", "Access token has expired or is unknown");
        refusal.body["soft_logout"] = soft_logout.into();
        refusal
    }

    /// "The account is locked": its tokens work again once the account is unlocked.
    pub(super) fn locked() -> Self {
        let mut refusal = Self::new(401, "M_USER_LOCKED", "This account has been locked");
        refusal.body["soft_logout"] = true.into();
        refusal
    }

    pub(super) fn too_many(milliseconds: i64) -> Self {
        let mut refusal = Self::new(429, "M_LIMIT_EXCEEDED", "Too Many Requests");
        refusal.body["retry_after_ms"] = milliseconds.into();
        refusal
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let wait = self.body["retry_after_ms"].as_i64();
        let mut response = (self.status, Json(self.body)).into_response();
        if let Some(milliseconds) = wait {
            response.headers_mut().insert(header::RETRY_AFTER, (milliseconds / 1000).max(1).into());
        }
        response
    }
}
