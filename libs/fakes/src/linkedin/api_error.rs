//! Error responses.

use axum::Json;
use axum::response::{Html, IntoResponse, Response};
use http::StatusCode;
use serde_json::{Value, json};

use crate::fake::oauth::Fault;
use crate::fake::schema::{Problem, Violation};

#[derive(Debug)]
pub(super) struct ApiError {
    status: StatusCode,
    body: Value,
}

impl ApiError {
    pub(super) fn with(status: StatusCode, body: Value) -> Self {
        Self { status, body }
    }

    pub(super) fn new(status: u16, service_error_code: u32, code: &str, message: &str) -> Self {
        let body = json!({
            "status": status, "serviceErrorCode": service_error_code, "code": code, "message": message,
        });
        Self::with(StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), body)
    }

    pub(super) fn bad(code: &str, message: &str) -> Self {
        Self::new(400, 100, code, message)
    }

    /// Protocol 2.0.0 reserves colons in a path, so a URN has to be URL-encoded.
    pub(super) fn check_encoded(path: &str) -> Result<(), Self> {
        if path.contains(':') {
            Err(Self::bad("ILLEGAL_ARGUMENT", "Syntax exception in path variables"))
        } else {
            Ok(())
        }
    }

    pub(super) fn denied(message: &str) -> Self {
        Self::new(403, 100, "ACCESS_DENIED", message)
    }

    /// The token may not act for Pages; `field` is `author` or `owner`.
    pub(super) fn no_organization_permission(field: &str) -> Self {
        let message = format!("Organization Or Events permissions must be used when using organization as {field}");
        Self::new(400, 100, "ILLEGAL_ARGUMENT", &message)
    }

    pub(super) fn not_found() -> Self {
        Self::new(404, 0, "NOT_FOUND", "Could not find entity")
    }

    /// The error has no numeric service code, as clients report.
    pub(super) fn duplicate_of(urn: &str) -> Self {
        let message = format!("Content is a duplicate of {urn}");
        let error = json!({ "description": message, "code": "DUPLICATE_POST", "input": { "inputPath": {} } });
        Self::with(
            StatusCode::UNPROCESSABLE_ENTITY,
            json!({ "message": message, "errorDetails": { "inputErrors": [error] }, "status": 422 }),
        )
    }

    /// The response does not contain the end of the limit.
    pub(super) fn too_many() -> Self {
        let message = "Resource level throttle MEMBER DAY limit for calls to this resource is reached.";
        Self::new(429, 101, "TOO_MANY_REQUESTS", message)
    }
}

impl From<Fault> for ApiError {
    fn from(error: Fault) -> Self {
        match error {
            Fault::UnknownToken => Self::new(401, 65_600, "INVALID_ACCESS_TOKEN", "Invalid access token"),
            Fault::RevokedToken => Self::new(
                401,
                65_601,
                "REVOKED_ACCESS_TOKEN",
                "The token used in the request has been revoked by the user",
            ),
            Fault::ExpiredToken => {
                Self::new(401, 65_602, "EXPIRED_ACCESS_TOKEN", "The token used in the request has expired")
            }
            _ => Self::denied("Not enough permissions to access this resource"),
        }
    }
}

impl From<Violation> for ApiError {
    fn from(violation: Violation) -> Self {
        let code = match (violation.path.as_str(), violation.problem) {
            ("", _) => "INVALID_BODY",
            ("/author", Problem::WrongValue) | ("/content/article/thumbnail", _) => "INVALID_URN_TYPE",
            ("/content/multiImage/images", _) => "FIELD_ARRAY_SIZE_TOO_HIGH",
            (_, Problem::Unknown) => "UNPERMITTED_FIELD",
            (_, Problem::Missing) => "MISSING_FIELD",
            (_, Problem::TooLong(_)) => "FIELD_LENGTH_TOO_LONG",
            _ => "INVALID_VALUE_FOR_FIELD",
        };
        Self::bad(code, &violation.to_string())
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        match self.body {
            // The page of a proxy, a CDN or a firewall.
            Value::String(page) => (self.status, Html(page)).into_response(),
            body => (self.status, Json(body)).into_response(),
        }
    }
}
