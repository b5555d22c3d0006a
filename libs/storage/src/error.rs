use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

/// DynamoDB failed, or an item is unreadable. Expected results are no errors: a missing item is
/// `None`, a lost race is [`crate::WriteOutcome::Conflict`].
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// DynamoDB could not be reached, is overloaded, or refused the call.
    #[error("DynamoDB: {0}")]
    Unavailable(String),
    #[error("unreadable item: {0}")]
    Unreadable(#[from] serde_dynamo::Error),
    /// JSON inside an item, such as a stored response, is invalid or could not be serialized.
    #[error("unreadable JSON in item: {0}")]
    Answer(#[from] serde_json::Error),
    /// A request could not be built, or an item lacks an attribute.
    #[error("request to DynamoDB: {0}")]
    Request(String),
    /// Nothing was written.
    #[error("too many concurrent writers")]
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
            SdkError::ResponseError(_) => "invalid response",
            _ => "refused",
        };
        match (error.code(), &error) {
            (Some(code), _) => Self::Unavailable(format!("{code} {}", error.message().unwrap_or_default())),
            // Only the cause distinguishes a wrong URL from a wrong certificate.
            (None, SdkError::DispatchFailure(failure)) => {
                let cause = failure.as_connector_error().map(ToString::to_string).unwrap_or_default();
                Self::Unavailable(format!("{kind}: {cause}"))
            }
            (None, _) => Self::Unavailable(kind.to_owned()),
        }
    }
}
