//! The error of this crate.

use cloud::bucket::BucketError;
use cloud::events::EventError;
use storage::StorageError;

#[derive(Debug, thiserror::Error)]
pub enum SchedulingError {
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error(transparent)]
    Bucket(#[from] BucketError),
    #[error(transparent)]
    Events(#[from] EventError),
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
