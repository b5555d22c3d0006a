//! How the API and the token endpoint say no.

use std::io;

use axum::Json;
use axum::extract::rejection::{FormRejection, JsonRejection, QueryRejection};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// An API call that was not done, and why.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The token is unknown, expired or revoked.
    InvalidToken,
    /// The grant does not cover this.
    InsufficientScope { needed: &'static str },
    /// The call is not one the API understands.
    Malformed { status: StatusCode, message: String },
    /// The content is not acceptable; `error` says which rule.
    Content { error: &'static str, message: String },
    /// The file is over the limit.
    TooLarge,
    /// The client is to wait.
    RateLimited { wait_seconds: u64 },
    /// Something failed here.
    Internal,
}

impl Refusal {
    pub(super) fn content(error: &'static str, message: impl Into<String>) -> Self {
        Self::Content { error, message: message.into() }
    }
}

impl IntoResponse for Refusal {
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
            Self::Malformed { status, message } => (status, body("invalid_request", &message)).into_response(),
            Self::Content { error, message } => (S::UNPROCESSABLE_ENTITY, body(error, &message)).into_response(),
            Self::TooLarge => {
                let message = "a file may have at most 64 MiB";
                (S::PAYLOAD_TOO_LARGE, body("too_large", message)).into_response()
            }
            Self::RateLimited { wait_seconds } => {
                let wait = [(header::RETRY_AFTER, wait_seconds.to_string())];
                let body = body("rate_limited", "too many posts; wait a little");
                (S::TOO_MANY_REQUESTS, wait, body).into_response()
            }
            Self::Internal => {
                let body = body("server_error", "something failed here; nothing was done");
                (S::INTERNAL_SERVER_ERROR, body).into_response()
            }
        }
    }
}

fn body(error: &str, message: &str) -> Json<serde_json::Value> {
    Json(json!({ "error": error, "message": message }))
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        tracing::error!(%error, "the sandbox could not store something");
        Self::Internal
    }
}

impl From<JsonRejection> for Refusal {
    fn from(rejection: JsonRejection) -> Self {
        Self::Malformed { status: rejection.status(), message: rejection.body_text() }
    }
}

impl From<QueryRejection> for Refusal {
    fn from(rejection: QueryRejection) -> Self {
        Self::Malformed { status: rejection.status(), message: rejection.body_text() }
    }
}

/// A refusal of the token endpoint (RFC 6749, section 5.2).
#[derive(Debug)]
pub(super) enum TokenRefusal {
    InvalidRequest(String),
    InvalidClient,
    InvalidGrant(&'static str),
    UnsupportedGrantType,
    ServerError,
}

impl IntoResponse for TokenRefusal {
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
            Self::ServerError => (S::INTERNAL_SERVER_ERROR, "server_error", "something failed here".into()),
        };
        let body = Json(json!({ "error": error, "error_description": description }));
        (status, [(header::CACHE_CONTROL, "no-store")], body).into_response()
    }
}

impl From<io::Error> for TokenRefusal {
    fn from(error: io::Error) -> Self {
        tracing::error!(%error, "the sandbox could not store a grant");
        Self::ServerError
    }
}

impl From<FormRejection> for TokenRefusal {
    fn from(rejection: FormRejection) -> Self {
        Self::InvalidRequest(rejection.body_text())
    }
}
