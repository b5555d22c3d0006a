//! Errors of this service in a connect flow or a disconnection.

use api::ApiError;
use api::page::PageError;
use axum::http::StatusCode;
use cloud::seal::SealError;
use storage::StorageError;

#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectionsError {
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error(transparent)]
    Seal(#[from] SealError),
    /// Sealed state is not in the form that this version writes.
    #[error("sealed state of a connect flow is unreadable")]
    Memory,
}

impl From<ConnectionsError> for ApiError {
    fn from(error: ConnectionsError) -> Self {
        match error {
            ConnectionsError::Storage(error) => error.into(),
            ConnectionsError::Seal(_) | ConnectionsError::Memory => {
                tracing::error!(%error, "a connect flow failed");
                Self::Internal
            }
        }
    }
}

impl From<ConnectionsError> for PageError {
    fn from(error: ConnectionsError) -> Self {
        match error {
            ConnectionsError::Storage(error) => error.into(),
            ConnectionsError::Seal(_) | ConnectionsError::Memory => {
                tracing::error!(%error, "a connect flow failed");
                let text = "Start over in the app or on the page that you came from.";
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, "Something went wrong on our side", text)
            }
        }
    }
}
