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
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// The inspection of a document takes longer than a request may. Its result is kept, so a later
    /// request finds it.
    #[error("the inspection of a document is not finished")]
    NotInspected,
    #[error("too many concurrent changes of the same post")]
    Contended,
}

impl SchedulingError {
    pub fn is_contended(&self) -> bool {
        matches!(self, Self::Contended | Self::Storage(StorageError::Contended))
    }
}
