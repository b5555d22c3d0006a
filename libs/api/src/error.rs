//! All errors that a client can receive, in one place. Their bodies have the form of the
//! specification.

use std::collections::BTreeMap;

use axum::Json;
use axum::response::{IntoResponse, Response};
use contract::ErrorBody;
use domain::validation_errors::ValidationErrors;
use http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use storage::StorageError;

pub type ApiResult<T> = Result<T, ApiError>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApiError {
    /// 422, with all validation errors.
    Invalid(ValidationErrors),
    /// A status with `{error, error_description}`.
    OAuth {
        status: StatusCode,
        /// For programs.
        error: &'static str,
        /// For people.
        description: String,
    },
    /// 401: the request has no token.
    TokenMissing,
    /// 401: the header has no token of this service.
    TokenMalformed,
    /// 401: the token is unknown, revoked or expired, or was issued for another resource.
    Unauthenticated,
    /// 403, with the reason.
    Forbidden(String),
    /// 404: it does not exist, or it belongs to another user.
    NotFound,
    WrongMethod,
    /// 409, with the reason.
    Conflict(String),
    /// 412: the resource does not match `If-Match`.
    PreconditionFailed,
    /// 413: the body exceeds 256 KiB.
    TooLarge,
    /// 415: the body is not declared as JSON.
    WrongType,
    /// 400, with the reason why the body is unreadable.
    Malformed(String),
    /// 428: the request needs `If-Match`; with what to do.
    PreconditionRequired(String),
    /// 429: the rate limit is reached.
    TooMany {
        /// Seconds until the limit is reset.
        wait: u64,
    },
    /// 429: too many calls to hosts that users named are in flight.
    TooManyCalls {
        /// Seconds until the next try.
        wait: u64,
    },
    /// 500: an error of the service. Its cause is in the logs.
    Internal,
    /// 503: a platform or another dependency does not respond.
    Later {
        /// What happened, and when to try again.
        message: String,
        /// Seconds until the next try.
        wait: u64,
    },
    Unavailable,
}

/// Seconds.
const STORE_WAIT: u64 = 5;

pub(crate) const TOKEN_MISSING: &str = "The request has no token. Send Authorization: Bearer <token>; POST \
    /api/v1/auth/device/code starts the device flow that issues one";
const TOKEN_MALFORMED: &str = "The Authorization header has no token of this service. Send Authorization: Bearer \
    <token>, with the complete token, which begins with sp_";
const TOKEN_REJECTED: &str = "The token is not valid here: it was revoked, has expired, or belongs to another deployment \
    or resource. Get a new token with the device flow, which starts with POST /api/v1/auth/device/code";
pub(crate) const NOT_FOUND: &str = "Not found: the resource was deleted, belongs to another user, or never existed. \
    Check the id and the path";
pub(crate) const PRECONDITION_FAILED: &str = "If-Match does not match the current revision: the post was changed. Read \
    it again, then repeat the request.";
pub(crate) const TOO_LARGE: &str = "The body may have at most 256 KiB. Send less; upload files with POST /media";
pub(crate) const WRONG_TYPE: &str = "Send the body as content-type: application/json";
pub(crate) const UNAVAILABLE: &str = "The service is temporarily unavailable. Try again in a few seconds";

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        use StatusCode as S;
        match self {
            Self::Invalid(errors) => (S::UNPROCESSABLE_ENTITY, Json(validation_body(&errors))).into_response(),
            Self::OAuth { status, error, description } => {
                let (error, error_description) = (Some(error.to_owned()), Some(description));
                (status, Json(ErrorBody { error, error_description, ..ErrorBody::default() })).into_response()
            }
            Self::TokenMissing => unauthorized(TOKEN_MISSING),
            Self::TokenMalformed => unauthorized(TOKEN_MALFORMED),
            Self::Unauthenticated => unauthorized(TOKEN_REJECTED),
            Self::Forbidden(why) => message(S::FORBIDDEN, why),
            Self::NotFound => message(S::NOT_FOUND, NOT_FOUND),
            Self::WrongMethod => message(
                S::METHOD_NOT_ALLOWED,
                "This path does not accept the method. Use a method from the Allow header",
            ),
            Self::Conflict(why) => message(S::CONFLICT, why),
            Self::PreconditionFailed => message(S::PRECONDITION_FAILED, PRECONDITION_FAILED),
            Self::PreconditionRequired(why) => message(S::PRECONDITION_REQUIRED, why),
            Self::TooLarge => message(S::PAYLOAD_TOO_LARGE, TOO_LARGE),
            Self::WrongType => message(S::UNSUPPORTED_MEDIA_TYPE, WRONG_TYPE),
            Self::Malformed(why) => message(S::BAD_REQUEST, why),
            Self::TooMany { wait } => with_retry_after(
                message(S::TOO_MANY_REQUESTS, format!("Too many requests. Try again in {wait} s")),
                wait,
            ),
            Self::TooManyCalls { wait } => {
                let text = "Too many calls for your other requests, or to the same server, are in progress";
                with_retry_after(message(S::TOO_MANY_REQUESTS, format!("{text}. Try again in {wait} s")), wait)
            }
            Self::Internal => message(S::INTERNAL_SERVER_ERROR, "Something failed on our side. Try again"),
            Self::Later { message: words, wait } => with_retry_after(message(S::SERVICE_UNAVAILABLE, words), wait),
            Self::Unavailable => with_retry_after(message(S::SERVICE_UNAVAILABLE, UNAVAILABLE), STORE_WAIT),
        }
    }
}

pub(crate) fn message(status: StatusCode, message: impl Into<String>) -> Response {
    (status, Json(ErrorBody { message: Some(message.into()), ..ErrorBody::default() })).into_response()
}

fn unauthorized(text: &str) -> Response {
    let mut response = message(StatusCode::UNAUTHORIZED, text);
    response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}

fn with_retry_after(mut response: Response, wait: u64) -> Response {
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(wait));
    response
}

fn validation_body(validation_errors: &ValidationErrors) -> ErrorBody {
    let mut errors: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (field, message) in validation_errors.iter() {
        errors.entry(field.to_owned()).or_default().push(message.to_owned());
    }
    ErrorBody { message: Some(validation_errors.summary()), errors: Some(errors), ..ErrorBody::default() }
}

impl From<ValidationErrors> for ApiError {
    fn from(errors: ValidationErrors) -> Self {
        Self::Invalid(errors)
    }
}

impl From<StorageError> for ApiError {
    fn from(error: StorageError) -> Self {
        tracing::error!(%error, "storage failed during a request");
        match error {
            StorageError::Unavailable(_) | StorageError::Contended => Self::Unavailable,
            StorageError::Unreadable(_) | StorageError::Answer(_) | StorageError::Request(_) => Self::Internal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_one_field_are_grouped() {
        let mut faults = ValidationErrors::one("media", "is too long");
        faults.add("content", "is required");
        faults.add("media", "names one twice");

        let body = validation_body(&faults);

        assert_eq!(body.message.as_deref(), Some("media is too long (and 2 more errors)"));
        assert_eq!(body.errors.unwrap()["media"], ["media is too long", "media names one twice"]);
    }

    #[test]
    fn storage_error_details_are_not_sent() {
        let error = ApiError::from(StorageError::Request("table posts".to_owned()));
        assert_eq!(error, ApiError::Internal);
    }
}
