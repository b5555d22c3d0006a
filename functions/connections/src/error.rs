//! What can go wrong on our side in a connect flow or a disconnection.

use api::ApiError;
use api::page::PageError;
use axum::http::StatusCode;
use cloud::seal::SealError;
use storage::StorageError;

/// What can go wrong on our side.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectionsError {
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error(transparent)]
    Seal(#[from] SealError),
    /// What was sealed is not in the form that this version writes.
    #[error("a connect flow's memory is unreadable")]
    Memory,
}

impl From<ConnectionsError> for ApiError {
    fn from(failure: ConnectionsError) -> Self {
        match failure {
            ConnectionsError::Storage(error) => error.into(),
            ConnectionsError::Seal(_) | ConnectionsError::Memory => {
                tracing::error!(%failure, "a connect flow failed");
                Self::Internal
            }
        }
    }
}

impl From<ConnectionsError> for PageError {
    fn from(failure: ConnectionsError) -> Self {
        match failure {
            ConnectionsError::Storage(error) => error.into(),
            ConnectionsError::Seal(_) | ConnectionsError::Memory => {
                tracing::error!(%failure, "a connect flow failed");
                let text = "Something failed on our side. Go back to where you came from and start again.";
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, "That did not work", text)
            }
        }
    }
}
