//! The error of this crate. The queue or the sweep repeats whatever failed.

use cloud::events::EventError;
use cloud::queue::QueueError;
use connecting::ConnectingError;
use storage::StorageError;

#[derive(Debug, thiserror::Error)]
pub enum PublishingError {
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error(transparent)]
    Bucket(#[from] cloud::bucket::BucketError),
    #[error(transparent)]
    Queue(#[from] QueueError),
    #[error(transparent)]
    Events(#[from] EventError),
    #[error(transparent)]
    Connecting(#[from] ConnectingError),
    /// Another writer changed the same item in every attempt.
    #[error("too many concurrent changes of the same post")]
    Contended,
}
