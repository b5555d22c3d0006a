use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use serde_json::{Value, json};

use crate::fake::oauth::Fault;

#[derive(Debug)]
pub(crate) enum ApiError {
    /// The API's JSON.
    Json(StatusCode, Value),
    /// An HTML page.
    Page(StatusCode, String),
}

impl ApiError {
    /// The API's `{"error": …}`.
    pub(crate) fn new(status: StatusCode, error: impl Into<String>) -> Self {
        Self::Json(status, json!({"error": error.into()}))
    }

    /// 422 with the message of a model's validation.
    pub(crate) fn invalid(what: impl AsRef<str>) -> Self {
        Self::unprocessable(format!("Validation failed: {}", what.as_ref()))
    }

    pub(crate) fn unprocessable(error: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, error)
    }

    /// An OAuth error: `{"error": …, "error_description": …}`.
    pub(crate) fn oauth(status: StatusCode, error: &str, description: &str) -> Self {
        Self::Json(status, json!({"error": error, "error_description": description}))
    }

    /// Also for things that the caller may not see.
    pub(crate) fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "Record not found")
    }

    pub(crate) fn page(status: StatusCode, says: impl Into<String>) -> Self {
        Self::Page(status, says.into())
    }
}

/// An error of the token endpoint, with Mastodon's message.
impl From<&Fault> for ApiError {
    fn from(error: &Fault) -> Self {
        let message = match error {
            Fault::UnknownToken => return Self::new(error.status(), "The access token is invalid"),
            Fault::RevokedToken => return Self::new(error.status(), "The access token was revoked"),
            Fault::ExpiredToken => return Self::new(error.status(), "The access token expired"),
            Fault::BeyondScope => return Self::new(error.status(), "This action is outside the authorized scopes"),
            Fault::Missing(name) => format!("Missing required parameter: {name}."),
            Fault::UnknownClient => "Client authentication failed due to unknown client, no client authentication \
                                     included, or unsupported authentication method."
                .to_owned(),
            Fault::UnknownGrantType => {
                "The authorization grant type is not supported by the authorization server.".to_owned()
            }
            Fault::InvalidGrant(_) => "The provided authorization grant is invalid, expired, revoked, does not match the \
                                       redirection URI used in the authorization request, or was issued to another client."
                .to_owned(),
            other => other.message(),
        };
        Self::oauth(error.status(), error.code(), &message)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        match self {
            Self::Json(status, body) => (status, Json(body)).into_response(),
            Self::Page(status, says) => {
                let html = format!("<!DOCTYPE html>\n<html><body><p>{says}</p></body></html>\n");
                (status, [(header::CONTENT_TYPE, "text/html; charset=utf-8")], html).into_response()
            }
        }
    }
}
