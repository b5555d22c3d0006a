//! Errors of the Graph API: each has a code, often a more specific subcode, and a trace id by which
//! Meta finds the call.

use axum::Json;
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use http::StatusCode;
use serde_json::{Value, json};

use super::usage;
use crate::fake::oauth::{Fault, secret};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphError(Box<GraphErrorBody>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct GraphErrorBody {
    status: StatusCode,
    code: i64,
    subcode: Option<i64>,
    kind: &'static str,
    message: String,
    /// A title and a message for users.
    for_people: Option<(&'static str, String)>,
    is_transient: bool,
    /// After how many minutes a rate limit ends.
    regained_in: Option<i64>,
    /// The whole response, where its format is not that of the Graph API.
    other: Option<Value>,
}

impl GraphError {
    /// An error with this code, and the status 400.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self(Box::new(GraphErrorBody {
            status: StatusCode::BAD_REQUEST,
            code,
            subcode: None,
            kind: "OAuthException",
            message: message.into(),
            for_people: None,
            is_transient: false,
            regained_in: None,
            other: None,
        }))
    }

    /// A response with this status and JSON, also a success.
    pub fn json(status: StatusCode, body: Value) -> Self {
        let mut error = Self::new(0, "").status(status);
        error.0.other = Some(body);
        error
    }

    /// A failure of `rupload.facebook.com`, whose format has no `error`.
    pub fn upload(retriable: bool, kind: &str, message: &str) -> Self {
        let body = json!({ "debug_info": { "retriable": retriable, "type": kind, "message": message } });
        Self::json(StatusCode::BAD_REQUEST, body)
    }

    #[must_use]
    pub fn subcode(mut self, subcode: i64) -> Self {
        self.0.subcode = Some(subcode);
        self
    }

    #[must_use]
    pub fn status(mut self, status: StatusCode) -> Self {
        self.0.status = status;
        self
    }

    #[must_use]
    pub fn kind(mut self, kind: &'static str) -> Self {
        self.0.kind = kind;
        self
    }

    #[must_use]
    pub fn for_people(mut self, title: &'static str, message: impl Into<String>) -> Self {
        self.0.for_people = Some((title, message.into()));
        self
    }

    fn transient(mut self) -> Self {
        self.0.is_transient = true;
        self
    }

    /// "Invalid parameter": a call has an invalid value.
    pub fn param(message: &str) -> Self {
        Self::new(100, format!("(#100) {message}"))
    }

    pub fn missing(name: &str) -> Self {
        Self::param(&format!("The parameter {name} is required"))
    }

    /// An object does not exist, or is not visible to the token.
    pub fn object_not_found(id: &str) -> Self {
        let message = "does not exist, cannot be loaded due to missing permissions, or does not support this operation";
        Self::new(100, format!("Unsupported get request. Object with ID '{id}' {message}"))
            .subcode(33)
            .kind("GraphMethodException")
    }

    /// "An access token is required to request this resource."
    pub fn token_required() -> Self {
        Self::new(104, "An access token is required to request this resource.").status(StatusCode::UNAUTHORIZED)
    }

    /// The token is invalid; the subcode is the reason, if Meta sends one.
    pub fn token(message: &str, subcode: Option<i64>) -> Self {
        let error = Self::new(190, message).status(StatusCode::UNAUTHORIZED);
        if let Some(subcode) = subcode { error.subcode(subcode) } else { error }
    }

    pub fn expired_token(at: DateTime<Utc>) -> Self {
        let at = at.format("%A, %d-%b-%y %H:%M:%S UTC");
        Self::token(&format!("Error validating access token: Session has expired on {at}."), Some(463))
    }

    /// The user has removed the app.
    pub fn removed_app() -> Self {
        let message = "Error validating access token: The user has not authorized application";
        Self::token(message, Some(458))
    }

    /// "Application does not have permission for this action"
    pub fn permission(scope: &str) -> Self {
        let message = format!("(#10) Application does not have permission for this action: {scope}");
        Self::new(10, message).status(StatusCode::FORBIDDEN)
    }

    /// Adds the end of a rate limit, in minutes from now.
    #[must_use]
    pub fn regained_in(mut self, minutes: i64) -> Self {
        self.0.regained_in = Some(minutes);
        self
    }

    /// Too many calls; the limit ends after this many minutes.
    pub fn limited(minutes: i64) -> Self {
        let error = Self::new(4, "(#4) Application request limit reached").transient();
        error.regained_in(minutes).status(StatusCode::FORBIDDEN)
    }

    /// "Possibly a temporary issue due to downtime."
    pub fn unavailable() -> Self {
        let error = Self::new(2, "An unexpected error has occurred. Please retry your request later.");
        error.transient().status(StatusCode::SERVICE_UNAVAILABLE)
    }

    /// "Possibly a temporary issue due to downtime", with code 1.
    pub fn unknown() -> Self {
        Self::new(1, "An unknown error occurred").status(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

impl GraphErrorBody {
    fn body(&self) -> Value {
        let mut error = json!({ "message": self.message, "type": self.kind, "code": self.code });
        if let Some(subcode) = self.subcode {
            error["error_subcode"] = subcode.into();
        }
        if self.is_transient {
            error["is_transient"] = true.into();
        }
        if let Some((title, message)) = &self.for_people {
            error["error_user_title"] = (*title).into();
            error["error_user_msg"] = message.as_str().into();
        }
        error["fbtrace_id"] = format!("A{}", &secret()[..21]).into();
        json!({ "error": error })
    }
}

/// The Graph API's errors for OAuth errors.
impl From<Fault> for GraphError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Missing(name) => Self::missing(&name),
            Fault::Wrong(name) => Self::param(&format!("The parameter {name} has a value that is not taken")),
            Fault::UnknownClient => Self::new(1, "Error validating client secret."),
            Fault::WrongRedirect => Self::param("Invalid redirect_uri"),
            Fault::WrongScope => Self::param("Invalid Scopes"),
            Fault::UnknownGrantType => Self::param("Unsupported grant_type"),
            Fault::InvalidGrant(why) if why.contains("redirect_uri") => {
                Self::new(100, "Error validating verification code. redirect_uri is another one").subcode(36_008)
            }
            Fault::InvalidGrant(_) => Self::new(100, "This authorization code has been used.").subcode(36_009),
            Fault::UnknownToken => Self::token("Invalid OAuth access token - Cannot parse access token", None),
            Fault::RevokedToken => Self::removed_app(),
            Fault::ExpiredToken => Self::token("Error validating access token: Session has expired.", Some(463)),
            Fault::BeyondScope => Self::permission("a permission is missing"),
        }
    }
}

impl IntoResponse for GraphError {
    fn into_response(self) -> Response {
        let error = &self.0;
        if let Some(body) = &error.other {
            return (error.status, Json(body)).into_response();
        }
        let body = Json(error.body());
        match error.regained_in {
            Some(minutes) => (error.status, usage::account_header(100, minutes), body).into_response(),
            None => (error.status, body).into_response(),
        }
    }
}
