//! The queue or the sweep repeats whatever failed.

use cloud::queue::QueueError;
use connecting::ConnectingError;
use scheduling::SchedulingError;
use storage::StorageError;

#[derive(Debug, thiserror::Error)]
pub enum PublishingError {
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error(transparent)]
    Queue(#[from] QueueError),
    #[error(transparent)]
    Connecting(#[from] ConnectingError),
    #[error(transparent)]
    RollUp(#[from] SchedulingError),
}
