//! The error of this crate.

use cloud::bucket::BucketError;
use cloud::events::EventError;
use cloud::queue::QueueError;
use storage::StorageError;

#[derive(Debug, thiserror::Error)]
pub enum SchedulingError {
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error(transparent)]
    Bucket(#[from] BucketError),
    #[error(transparent)]
    Events(#[from] EventError),
    /// The request for an inspection could not be sent.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// The inspection of a document takes longer than a request may. Its result is kept, so a later
    /// request finds it.
    #[error("the inspection of a document is not finished")]
    NotInspected,
    /// Another writer changed the same item in every attempt.
    #[error("too many concurrent changes of the same post")]
    Contended,
}

impl SchedulingError {
    /// Whether other writers conflicted in every attempt.
    pub fn is_contended(&self) -> bool {
        matches!(self, Self::Contended | Self::Storage(StorageError::Contended))
    }
}
