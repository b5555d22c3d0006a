//! Error responses.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use serde_json::{Value, json};

use crate::fake::oauth::Fault;
use crate::fake::schema::{Problem, Violation};

/// An error response: 200 with a code, except for rate limits and outages.
#[derive(Debug)]
pub(super) struct ApiError {
    status: StatusCode,
    body: Value,
    retry_after: Option<i64>,
}

impl ApiError {
    pub(super) fn new(code: &str) -> Self {
        Self { status: StatusCode::OK, body: json!({ "ok": false, "error": code }), retry_after: None }
    }

    /// With a message for developers.
    pub(super) fn arguments(what: &str) -> Self {
        let mut refusal = Self::new("invalid_arguments");
        refusal.body["response_metadata"] = json!({ "messages": [format!("[ERROR] {what}")] });
        refusal
    }

    pub(super) fn scope(needed: &str, provided: &[String]) -> Self {
        let mut refusal = Self::new("missing_scope");
        refusal.body["needed"] = needed.into();
        refusal.body["provided"] = provided.join(",").into();
        refusal
    }

    pub(super) fn too_many(seconds: i64) -> Self {
        Self { status: StatusCode::TOO_MANY_REQUESTS, retry_after: Some(seconds), ..Self::new("ratelimited") }
    }

    pub(super) fn unavailable() -> Self {
        Self { status: StatusCode::SERVICE_UNAVAILABLE, ..Self::new("service_unavailable") }
    }
}

/// In the format of the Web API, also for token calls.
impl From<Fault> for ApiError {
    fn from(error: Fault) -> Self {
        Self::new(match &error {
            Fault::UnknownToken => "invalid_auth",
            Fault::RevokedToken => "token_revoked",
            Fault::ExpiredToken => "token_expired",
            Fault::BeyondScope => "missing_scope",
            Fault::UnknownClient => "bad_client_secret",
            Fault::UnknownGrantType => "invalid_grant_type",
            Fault::WrongRedirect => "bad_redirect_uri",
            Fault::WrongScope => "invalid_scope",
            Fault::InvalidGrant(why) if why.contains("refresh token") => "invalid_refresh_token",
            Fault::InvalidGrant(why) if why.contains("redirect_uri") => "bad_redirect_uri",
            Fault::InvalidGrant(_) => "invalid_code",
            Fault::Missing(_) | Fault::Wrong(_) => "invalid_arguments",
        })
    }
}

impl From<Violation> for ApiError {
    fn from(violation: Violation) -> Self {
        use Problem::{Missing, TooLong, TooShort, WrongValue};
        match (violation.path.as_str(), violation.problem) {
            ("/text", Missing | TooShort(_)) => Self::new("no_text"),
            ("/limit", WrongValue) => Self::new("invalid_limit"),
            ("/cursor", WrongValue) => Self::new("invalid_cursor"),
            ("/length", Missing | WrongValue) => Self::new("missing_argument"),
            ("/alt_txt", TooLong(_)) => Self::new("alt_txt_too_large"),
            (path, _) if path.starts_with("/metadata/") => Self::new("invalid_metadata_format"),
            _ => Self::arguments(&violation.to_string()),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.body)).into_response();
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}
