use cloud::events::EventError;
use cloud::seal::SealError;
use platforms::UnreadableCredentials;
use storage::StorageError;

#[derive(Debug, thiserror::Error)]
pub enum ConnectingError {
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error(transparent)]
    Events(#[from] EventError),
    #[error(transparent)]
    Seal(#[from] SealError),
    #[error(transparent)]
    Credentials(#[from] UnreadableCredentials),
    /// Sealed state is not in the form that this version writes.
    #[error("sealed state of a connect flow is unreadable")]
    UnreadableState,
    #[error("connect flow not found")]
    UnknownFlow,
}
