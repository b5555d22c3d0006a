//! What can go wrong on our side in a hand-off or a disconnection.

use api::ApiError;
use api::page::PageError;
use axum::http::StatusCode;
use cloud::seal::SealError;
use storage::StorageError;

/// What can go wrong on our side.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error(transparent)]
    Seal(#[from] SealError),
    /// What was sealed is not in the form that this version writes.
    #[error("a hand-off's memory is unreadable")]
    Memory,
}

impl From<Failure> for ApiError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Storage(error) => error.into(),
            Failure::Seal(_) | Failure::Memory => {
                tracing::error!(%failure, "a hand-off failed");
                Self::Internal
            }
        }
    }
}

impl From<Failure> for PageError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Storage(error) => error.into(),
            Failure::Seal(_) | Failure::Memory => {
                tracing::error!(%failure, "a hand-off failed");
                let text = "Something failed on our side. Go back to where you came from and start again.";
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, "That did not work", text)
            }
        }
    }
}
