//! Error responses of the API and the token endpoint.

use std::io;

use axum::extract::rejection::{FormRejection, JsonRejection, QueryRejection};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use chrono::TimeDelta;
use serde_json::{Value, json};

use super::record_calls::ResponseSummary;

/// Why an API call failed.
#[derive(Debug)]
pub(super) enum SandboxApiError {
    /// The token is unknown, expired or revoked.
    InvalidToken,
    /// The grant does not include the scope `needed`.
    InsufficientScope { needed: &'static str },
    /// The grant does not cover the account that the call is for.
    OtherAccount,
    /// The request cannot be parsed.
    Malformed { status: StatusCode, message: String },
    /// The content breaks a rule; `error` names the rule.
    Content { error: &'static str, message: String },
    /// The file exceeds the size limit.
    TooLarge,
    /// Too many calls; the client has to wait.
    RateLimited { wait_seconds: u64 },
    /// Temporarily unavailable, optionally with the seconds to wait.
    Busy { wait_seconds: Option<u64> },
    /// The file is still being processed.
    Processing { wait_seconds: u64 },
    /// Internal error; the call had no effect.
    Internal,
    /// Internal error; the response does not say whether the call had an effect.
    Broken,
}

impl SandboxApiError {
    pub(super) fn content(error: &'static str, message: impl Into<String>) -> Self {
        Self::Content { error, message: message.into() }
    }

    /// The file is ready after `wait`.
    pub(super) fn processing(wait: TimeDelta) -> Self {
        // Rounded up, so that the file is ready for a client that waits that long.
        let wait_seconds = u64::try_from(wait.num_milliseconds()).unwrap_or(0).div_ceil(1000);
        Self::Processing { wait_seconds }
    }
}

impl IntoResponse for SandboxApiError {
    fn into_response(self) -> Response {
        use StatusCode as S;
        match self {
            Self::InvalidToken => {
                let challenge = [(header::WWW_AUTHENTICATE, "Bearer error=\"invalid_token\"")];
                let body = body("invalid_token", "the access token is expired, revoked or unknown");
                (S::UNAUTHORIZED, challenge, body).into_response()
            }
            Self::InsufficientScope { needed } => {
                let message = format!("this needs the scope {needed}");
                (S::FORBIDDEN, body("insufficient_scope", &message)).into_response()
            }
            Self::OtherAccount => {
                (S::FORBIDDEN, body("other_account", "the grant does not cover this account")).into_response()
            }
            Self::Malformed { status, message } => (status, body("invalid_request", &message)).into_response(),
            Self::Content { error, message } => (S::UNPROCESSABLE_ENTITY, body(error, &message)).into_response(),
            Self::TooLarge => {
                let message = "a file can have at most 64 MiB";
                (S::PAYLOAD_TOO_LARGE, body("too_large", message)).into_response()
            }
            Self::RateLimited { wait_seconds } => {
                too_many_requests(Some(wait_seconds), body("rate_limited", "too many posts; try again later"))
            }
            Self::Busy { wait_seconds } => {
                too_many_requests(wait_seconds, body("busy", "the sandbox is busy; try again later"))
            }
            Self::Processing { wait_seconds } => too_many_requests(
                Some(wait_seconds),
                body("media_processing", "a file is still being processed; try again later"),
            ),
            Self::Internal => {
                let body = body("server_error", "internal error; nothing was changed");
                (S::INTERNAL_SERVER_ERROR, body).into_response()
            }
            Self::Broken => (S::INTERNAL_SERVER_ERROR, body("server_error", "internal error")).into_response(),
        }
    }
}

/// The response body, and its text for the list of calls.
type Body = (Extension<ResponseSummary>, Json<Value>);

fn body(error: &str, message: &str) -> Body {
    (Extension(ResponseSummary(message.to_owned())), Json(json!({ "error": error, "message": message })))
}

fn too_many_requests(wait_seconds: Option<u64>, body: Body) -> Response {
    let wait = wait_seconds.map(|it| [(header::RETRY_AFTER, it.to_string())]);
    (StatusCode::TOO_MANY_REQUESTS, wait, body).into_response()
}

impl From<io::Error> for SandboxApiError {
    fn from(error: io::Error) -> Self {
        tracing::error!(%error, "the sandbox could not store something");
        Self::Internal
    }
}

impl From<JsonRejection> for SandboxApiError {
    fn from(rejection: JsonRejection) -> Self {
        Self::Malformed { status: rejection.status(), message: rejection.body_text() }
    }
}

impl From<QueryRejection> for SandboxApiError {
    fn from(rejection: QueryRejection) -> Self {
        Self::Malformed { status: rejection.status(), message: rejection.body_text() }
    }
}

/// An error of the token endpoint (RFC 6749, section 5.2).
#[derive(Debug)]
pub(super) enum TokenError {
    InvalidRequest(String),
    InvalidClient,
    InvalidGrant(&'static str),
    UnsupportedGrantType,
    ServerError,
    /// Temporarily unavailable.
    Unavailable,
}

impl IntoResponse for TokenError {
    fn into_response(self) -> Response {
        use StatusCode as S;
        let (status, error, description) = match self {
            Self::InvalidRequest(description) => (S::BAD_REQUEST, "invalid_request", description),
            Self::InvalidClient => (S::UNAUTHORIZED, "invalid_client", "unknown client or wrong secret".into()),
            Self::InvalidGrant(description) => (S::BAD_REQUEST, "invalid_grant", description.into()),
            Self::UnsupportedGrantType => {
                let description = "use authorization_code or refresh_token";
                (S::BAD_REQUEST, "unsupported_grant_type", description.into())
            }
            Self::ServerError => (S::INTERNAL_SERVER_ERROR, "server_error", "internal error".into()),
            Self::Unavailable => (
                S::SERVICE_UNAVAILABLE,
                "temporarily_unavailable",
                "tokens cannot be refreshed now; try again later".into(),
            ),
        };
        let summary = Extension(ResponseSummary(description.clone()));
        let body = Json(json!({ "error": error, "error_description": description }));
        (status, [(header::CACHE_CONTROL, "no-store")], summary, body).into_response()
    }
}

impl From<io::Error> for TokenError {
    fn from(error: io::Error) -> Self {
        tracing::error!(%error, "the sandbox could not store a grant");
        Self::ServerError
    }
}

impl From<FormRejection> for TokenError {
    fn from(rejection: FormRejection) -> Self {
        Self::InvalidRequest(rejection.body_text())
    }
}
