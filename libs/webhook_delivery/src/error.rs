//! The queue or the tick retries the work that failed.

use cloud::events::EventError;
use cloud::queue::QueueError;
use cloud::seal::SealError;
use storage::StorageError;

#[derive(Debug, thiserror::Error)]
pub enum WebhooksError {
    #[error("unreadable message: {0}")]
    Message(#[from] serde_json::Error),
    #[error("handling the message panicked")]
    Panicked,
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error(transparent)]
    Seal(#[from] SealError),
    /// A stored secret or key was decrypted, but is not in the expected form.
    #[error("stored secret unreadable")]
    Unreadable,
    #[error(transparent)]
    Queue(#[from] QueueError),
    #[error(transparent)]
    Events(#[from] EventError),
}
