//! Why no file was created, or served.

use api::{ApiError, PermitError};
use cloud::bucket::BucketError;
use domain::media::{MimeType, human_size};
use domain::validation_errors::ValidationErrors;
use egress::fetch::FetchError;
use http::header::InvalidHeaderValue;
use storage::StorageError;
use tokio::task::JoinError;

pub(crate) const RUNNING: &str =
    "The first request with this idempotency-key is still in progress. Try again in a few seconds.";

#[derive(Debug, thiserror::Error)]
pub(crate) enum MediaError {
    #[error("file not found")]
    NotFound,
    #[error("could not be fetched: {0}")]
    Fetch(#[from] FetchError),
    /// The first bytes of the file show another type.
    #[error("could not be fetched: the file is not of type {}; send its real mime_type", .0.as_str())]
    WrongType(MimeType),
    /// The message is on `field`.
    #[error("storage limit reached")]
    StorageLimit { field: &'static str, message: String },
    #[error("idempotency key in progress")]
    KeyInProgress,
    #[error("idempotency key used for another request")]
    KeyReused,
    #[error("no free id")]
    NoFreeId,
    /// The file was removed while it was stored.
    #[error("record of the file removed")]
    Removed,
    #[error(transparent)]
    Permit(#[from] PermitError),
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error(transparent)]
    Bucket(#[from] BucketError),
    #[error("response could not be serialized: {0}")]
    Response(#[from] serde_json::Error),
    #[error("response header: {0}")]
    Header(#[from] InvalidHeaderValue),
    #[error("creating a media file: {0}")]
    Task(#[from] JoinError),
}

impl From<MediaError> for ApiError {
    fn from(error: MediaError) -> Self {
        let invalid = |field, message: String| Self::Invalid(ValidationErrors::one(field, message));
        match error {
            MediaError::NotFound => Self::NotFound,
            MediaError::Fetch(FetchError::TooLarge { max_bytes }) => invalid(
                "source_url",
                format!("could not be fetched: the file is larger than {}", human_size(max_bytes)),
            ),
            MediaError::Fetch(_) | MediaError::WrongType(_) => invalid("source_url", error.to_string()),
            MediaError::StorageLimit { field, message } => invalid(field, message),
            MediaError::KeyInProgress => Self::Conflict(RUNNING.to_owned()),
            MediaError::KeyReused => {
                invalid("idempotency-key", "was used for another request; send a new key".to_owned())
            }
            MediaError::NoFreeId | MediaError::Removed => Self::Unavailable,
            MediaError::Permit(error) => error.into(),
            MediaError::Storage(error) => error.into(),
            // The client may retry.
            MediaError::Bucket(error) => {
                tracing::error!(%error, "media bucket failed during a request");
                Self::Unavailable
            }
            MediaError::Response(_) | MediaError::Header(_) | MediaError::Task(_) => {
                tracing::error!(%error, "media request failed");
                Self::Internal
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_limit_is_stated_with_a_unit() {
        let error = ApiError::from(MediaError::from(FetchError::TooLarge { max_bytes: 20 << 20 }));

        let ApiError::Invalid(errors) = error else { panic!("{error:?}") };
        let stated = format!("{errors:?}");
        assert!(stated.contains("could not be fetched: the file is larger than 20 MiB"), "{stated}");
    }
}
