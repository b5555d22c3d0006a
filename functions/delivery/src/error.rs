//! Why a delivery was cut off. The queue delivers its message again.

use publishing::PublishingError;

#[derive(Debug, thiserror::Error)]
pub(crate) enum DeliveryError {
    #[error("unreadable message: {0}")]
    Message(#[from] serde_json::Error),
    #[error(transparent)]
    Publishing(#[from] PublishingError),
    #[error("the delivery panicked")]
    Panicked,
}
