//! Errors of OAuth requests, and their codes in the RFCs.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode};
use serde_json::json;

use crate::fake::params::essence;

/// The error of a request. A platform with its own messages writes them itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    Missing(String),
    /// A parameter has an invalid value, or is not allowed.
    Wrong(String),
    /// The app is unknown, or its secret is wrong.
    UnknownClient,
    /// The redirect URI is not registered.
    WrongRedirect,
    /// The scope does not exist, or the app may not request it.
    WrongScope,
    UnknownGrantType,
    /// The code or refresh token is not valid.
    InvalidGrant(&'static str),
    UnknownToken,
    /// The user or the app revoked the grant.
    RevokedToken,
    ExpiredToken,
    /// The grant does not cover the required scope.
    BeyondScope,
}

impl Fault {
    /// The error of a request whose body is not a form.
    pub fn content_type_error(headers: &HeaderMap) -> Option<Self> {
        (essence(headers) != "application/x-www-form-urlencoded").then(|| Self::Wrong("Content-Type".to_owned()))
    }

    /// The code of RFC 6749, sections 4.1.2.1 and 5.2, or RFC 6750, section 3.1.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Missing(_) | Self::Wrong(_) | Self::WrongRedirect => "invalid_request",
            Self::UnknownClient => "invalid_client",
            Self::WrongScope => "invalid_scope",
            Self::UnknownGrantType => "unsupported_grant_type",
            Self::InvalidGrant(_) => "invalid_grant",
            Self::UnknownToken | Self::RevokedToken | Self::ExpiredToken => "invalid_token",
            Self::BeyondScope => "insufficient_scope",
        }
    }

    pub const fn status(&self) -> StatusCode {
        match self {
            Self::UnknownClient | Self::UnknownToken | Self::RevokedToken | Self::ExpiredToken => {
                StatusCode::UNAUTHORIZED
            }
            Self::BeyondScope => StatusCode::FORBIDDEN,
            _ => StatusCode::BAD_REQUEST,
        }
    }

    pub fn message(&self) -> String {
        match self {
            Self::Missing(name) => format!("{name} is missing"),
            Self::Wrong(name) => format!("{name} has a value that is not taken"),
            Self::UnknownClient => "the client is not known, or its secret is wrong".to_owned(),
            Self::WrongRedirect => "redirect_uri is not one of the client".to_owned(),
            Self::WrongScope => "the scope is unknown, or not one of the client".to_owned(),
            Self::UnknownGrantType => "grant_type is not known".to_owned(),
            Self::InvalidGrant(why) => (*why).to_owned(),
            Self::UnknownToken => "the access token is invalid".to_owned(),
            Self::RevokedToken => "the access token was revoked".to_owned(),
            Self::ExpiredToken => "the access token expired".to_owned(),
            Self::BeyondScope => "the token does not cover this".to_owned(),
        }
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let body = json!({"error": self.code(), "error_description": self.message()});
        (self.status(), Json(body)).into_response()
    }
}
