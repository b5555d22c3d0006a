//! The next tick or round repeats what failed.

use cloud::bucket::BucketError;
use cloud::events::EventError;
use storage::StorageError;

#[derive(Debug, thiserror::Error)]
pub enum HousekeepingError {
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error(transparent)]
    Bucket(#[from] BucketError),
    #[error(transparent)]
    Events(#[from] EventError),
}
