//! Why something could not be done. Whatever it was is done again by the queue
//! or the tick.

use api::ApiError;
use cloud::events::EventError;
use cloud::queue::QueueError;
use cloud::seal::SealError;
use storage::StorageError;

/// Why something could not be done.
#[derive(Debug, thiserror::Error)]
pub enum WebhooksError {
    /// The tables.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The sealing of secrets.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// What was kept is no secret.
    #[error("a kept secret cannot be read")]
    Unreadable,
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// The bus.
    #[error(transparent)]
    Events(#[from] EventError),
}

impl From<WebhooksError> for ApiError {
    fn from(failure: WebhooksError) -> Self {
        match failure {
            WebhooksError::Storage(error) => error.into(),
            other => {
                tracing::error!(error = %other, "a request failed on webhooks");
                Self::Internal
            }
        }
    }
}
