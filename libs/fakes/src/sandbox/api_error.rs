use std::io;

use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

#[derive(Debug)]
pub(super) struct SandboxApiError {
    status: StatusCode,
    /// Names the rule.
    error: &'static str,
    message: String,
    /// In seconds.
    retry_after: Option<u64>,
}

impl SandboxApiError {
    fn new(status: StatusCode, error: &'static str, message: impl Into<String>) -> Self {
        Self { status, error, message: message.into(), retry_after: None }
    }

    pub(super) fn invalid_token() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "invalid_token", "the access token is expired, revoked or unknown")
    }

    pub(super) fn insufficient_scope(needed: &str) -> Self {
        Self::new(StatusCode::FORBIDDEN, "insufficient_scope", format!("this needs the scope {needed}"))
    }

    pub(super) fn other_account() -> Self {
        Self::new(StatusCode::FORBIDDEN, "other_account", "the grant does not cover this account")
    }

    pub(super) fn malformed(status: StatusCode, message: impl Into<String>) -> Self {
        Self::new(status, "invalid_request", message)
    }

    pub(super) fn content(error: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, error, message)
    }

    pub(super) fn unknown_post() -> Self {
        Self::content("unknown_post", "this post does not exist")
    }

    pub(super) fn file_too_large() -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", "a file can have at most 64 MiB")
    }

    /// In seconds, if the client can know.
    pub(super) fn wait(error: &'static str, message: &str, retry_after: Option<u64>) -> Self {
        Self { retry_after, ..Self::new(StatusCode::TOO_MANY_REQUESTS, error, message) }
    }

    /// The response does not say whether the call had an effect.
    pub(super) fn internal() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "server_error", "internal error")
    }
}

impl IntoResponse for SandboxApiError {
    fn into_response(self) -> Response {
        let wait = self.retry_after.map(|it| [(header::RETRY_AFTER, it.to_string())]);
        (self.status, wait, Json(json!({ "error": self.error, "message": self.message }))).into_response()
    }
}

impl From<io::Error> for SandboxApiError {
    fn from(error: io::Error) -> Self {
        tracing::error!(%error, "the sandbox could not store something");
        Self::internal()
    }
}

impl From<JsonRejection> for SandboxApiError {
    fn from(rejection: JsonRejection) -> Self {
        Self::malformed(rejection.status(), rejection.body_text())
    }
}

impl From<QueryRejection> for SandboxApiError {
    fn from(rejection: QueryRejection) -> Self {
        Self::malformed(rejection.status(), rejection.body_text())
    }
}
