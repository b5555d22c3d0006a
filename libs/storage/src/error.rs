//! That DynamoDB failed, or an item is unreadable.

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

/// That DynamoDB failed, or an item is unreadable. What is expected is not an
/// error: nothing there is `None`, a lost race has a variant of its own.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// It could not be reached, is overloaded, or refused the call.
    #[error("DynamoDB: {0}")]
    Unavailable(String),
    /// An item is not in the form we write.
    #[error("unreadable item: {0}")]
    Unreadable(#[from] serde_dynamo::Error),
    /// An answer that is kept for a request is not in the form we write, or could
    /// not be written in it.
    #[error("unreadable answer: {0}")]
    Answer(#[from] serde_json::Error),
    /// A request could not be put together.
    #[error("request to DynamoDB: {0}")]
    Request(String),
    /// Too many writers at once; nothing was written.
    #[error("too many writers at once")]
    Contended,
}

impl StorageError {
    pub(crate) fn build(error: impl std::error::Error) -> Self {
        Self::Request(error.to_string())
    }
}

impl<E, R> From<SdkError<E, R>> for StorageError
where
    E: ProvideErrorMetadata,
{
    fn from(error: SdkError<E, R>) -> Self {
        let kind = match &error {
            SdkError::ConstructionFailure(_) => "the request could not be built",
            SdkError::TimeoutError(_) => "timed out",
            SdkError::DispatchFailure(_) => "could not be reached",
            SdkError::ResponseError(_) => "answered nonsense",
            _ => "refused",
        };
        match (error.code(), &error) {
            (Some(code), _) => Self::Unavailable(format!("{code} {}", error.message().unwrap_or_default())),
            // Only the cause tells a wrong address from a wrong certificate.
            (None, SdkError::DispatchFailure(failure)) => {
                let cause = failure.as_connector_error().map(ToString::to_string).unwrap_or_default();
                Self::Unavailable(format!("{kind}: {cause}"))
            }
            (None, _) => Self::Unavailable(kind.to_owned()),
        }
    }
}
