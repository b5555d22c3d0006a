//! Why a message of the queue has no result.

use cloud::bucket::BucketError;

#[derive(Debug, thiserror::Error)]
pub enum PicturesError {
    /// An invalid message: the queue delivers it again, and finally moves it to the dead-letter
    /// queue.
    #[error("unreadable message: {0}")]
    Message(#[from] serde_json::Error),
    #[error(transparent)]
    Bucket(#[from] BucketError),
}
