//! Every failure a client can meet, in one place. Their bodies have the form
//! that the specification demands.

use std::collections::BTreeMap;

use axum::Json;
use axum::response::{IntoResponse, Response};
use domain::validation_errors::ValidationErrors;
use http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use serde::Serialize;
use storage::StorageError;
use utoipa::ToSchema;

/// What a handler answers.
pub type ApiResult<T> = Result<T, ApiError>;

/// Every failure a client can meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApiError {
    /// 422, with everything that is wrong with the request.
    Invalid(ValidationErrors),
    /// A status with `{error, error_description}`.
    OAuth {
        /// The status.
        status: StatusCode,
        /// The code for programs.
        error: &'static str,
        /// The sentence for people.
        description: String,
    },
    /// 401: there is no token, or none that is valid.
    Unauthenticated,
    /// 403, with the reason.
    Forbidden(String),
    /// 404: it does not exist, or it is somebody else's.
    NotFound,
    /// 405: the path does not take this method.
    WrongMethod,
    /// 409, with what the request is in conflict with.
    Conflict(String),
    /// 412: the resource is not as `If-Match` demands.
    PreconditionFailed,
    /// 413: the body is too large.
    TooLarge,
    /// 415: the body is not declared as JSON.
    WrongType,
    /// 400, with what cannot be read in the body.
    Malformed(String),
    /// 428: the request needs `If-Match`, with what to do.
    PreconditionRequired(String),
    /// 429: the limit of requests is used up.
    TooMany {
        /// Seconds until the limit starts over.
        wait: u64,
    },
    /// 429: too many calls to hosts that users named are under way.
    TooManyCalls {
        /// Seconds after which to try again.
        wait: u64,
    },
    /// 500: something failed on our side.
    Internal,
    /// 503, with what cannot be had just now: a platform's answer.
    Later {
        /// What, and when to try again.
        message: String,
        /// Seconds until then.
        wait: u64,
    },
    /// 503: the store cannot be reached.
    Unavailable,
}

/// Why a request was refused: `message`, with `errors` where fields are wrong; or
/// `error` with `error_description`, where programs tell reasons apart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Error)]
pub struct ErrorBody {
    /// What happened, and what to do about it. Of wrong fields the first fault, and how many more there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "content is required")]
    pub message: Option<String>,
    /// The faults by field, at most 50 of them; entries of lists are `platforms.0.content`. Long names are cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = json!({ "content": ["content is required"] }))]
    pub errors: Option<BTreeMap<String, Vec<String>>>,
    /// A code for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub error: Option<String>,
    /// The same for people, and what to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub error_description: Option<String>,
}

/// How long a client waits before it tries the store again, in seconds.
const STORE_WAIT: u64 = 5;

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        use StatusCode as S;
        match self {
            Self::Invalid(faults) => (S::UNPROCESSABLE_ENTITY, Json(ErrorBody::from(&faults))).into_response(),
            Self::OAuth { status, error, description } => {
                let (error, error_description) = (Some(error.to_owned()), Some(description));
                (status, Json(ErrorBody { error, error_description, ..ErrorBody::default() })).into_response()
            }
            Self::Unauthenticated => {
                let mut response = message(S::UNAUTHORIZED, "Send a valid token: Authorization: Bearer <token>");
                response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
                response
            }
            Self::Forbidden(why) => message(S::FORBIDDEN, why),
            Self::NotFound => message(S::NOT_FOUND, "Not found"),
            Self::WrongMethod => message(S::METHOD_NOT_ALLOWED, "The method is not allowed here; see the allow header"),
            Self::Conflict(why) => message(S::CONFLICT, why),
            Self::PreconditionFailed => message(
                S::PRECONDITION_FAILED,
                "If-Match does not match the current revision: the post was changed. Read it again, then repeat the request.",
            ),
            Self::PreconditionRequired(why) => message(S::PRECONDITION_REQUIRED, why),
            Self::TooLarge => message(S::PAYLOAD_TOO_LARGE, "The body is larger than 256 KiB"),
            Self::WrongType => message(S::UNSUPPORTED_MEDIA_TYPE, "Send the body as content-type: application/json"),
            Self::Malformed(why) => message(S::BAD_REQUEST, why),
            Self::TooMany { wait } => {
                later(message(S::TOO_MANY_REQUESTS, format!("Too many requests. Try again in {wait} s")), wait)
            }
            Self::TooManyCalls { wait } => {
                let text = "Too many calls to this server, or for your other requests, are under way";
                later(message(S::TOO_MANY_REQUESTS, format!("{text}. Try again in {wait} s")), wait)
            }
            Self::Internal => message(S::INTERNAL_SERVER_ERROR, "Something failed on our side"),
            Self::Later { message: words, wait } => later(message(S::SERVICE_UNAVAILABLE, words), wait),
            Self::Unavailable => later(
                message(S::SERVICE_UNAVAILABLE, "The service is not available for a moment. Try again soon"),
                STORE_WAIT,
            ),
        }
    }
}

pub(crate) fn message(status: StatusCode, message: impl Into<String>) -> Response {
    (status, Json(ErrorBody { message: Some(message.into()), ..ErrorBody::default() })).into_response()
}

fn later(mut response: Response, wait: u64) -> Response {
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(wait));
    response
}

impl From<&ValidationErrors> for ErrorBody {
    fn from(faults: &ValidationErrors) -> Self {
        let mut errors: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (field, message) in faults.iter() {
            errors.entry(field.to_owned()).or_default().push(message.to_owned());
        }
        Self { message: Some(faults.summary()), errors: Some(errors), ..Self::default() }
    }
}

impl From<ValidationErrors> for ApiError {
    fn from(faults: ValidationErrors) -> Self {
        Self::Invalid(faults)
    }
}

impl From<StorageError> for ApiError {
    fn from(error: StorageError) -> Self {
        tracing::error!(%error, "a request failed on storage");
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
    fn faults_of_one_field_are_kept_together() {
        let mut faults = ValidationErrors::one("media", "is too long");
        faults.add("content", "is required");
        faults.add("media", "names one twice");

        let body = ErrorBody::from(&faults);

        assert_eq!(body.message.as_deref(), Some("media is too long (and 2 more errors)"));
        assert_eq!(body.errors.unwrap()["media"], ["media is too long", "media names one twice"]);
    }

    #[test]
    fn the_inside_of_a_storage_error_is_not_sent() {
        let error = ApiError::from(StorageError::Request("table posts".to_owned()));
        assert_eq!(error, ApiError::Internal);
    }
}
