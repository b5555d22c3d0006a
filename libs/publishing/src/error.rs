//! Why publishing could not go on. Whatever was being done is done again by
//! the queue or the sweep.

use cloud::events::EventError;
use cloud::queue::QueueError;
use cloud::seal::SealError;
use storage::StorageError;

/// Why publishing could not go on.
#[derive(Debug, thiserror::Error)]
pub enum PublishingError {
    /// The tables.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The media bucket.
    #[error(transparent)]
    Bucket(#[from] cloud::bucket::BucketError),
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// The event bus.
    #[error(transparent)]
    Events(#[from] EventError),
    /// The sealing of credentials.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// Stored credentials.
    #[error(transparent)]
    Credentials(#[from] platforms::UnreadableCredentials),
    /// The same item was changed by others every time.
    #[error("too many changes of the same post at once")]
    Contended,
}
