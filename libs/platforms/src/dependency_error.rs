use domain::delivery::AttemptError;

use crate::connect_flow::{ConnectError, RefreshError};

/// The platform was not called, because something of ours, such as our client secret, is
/// temporarily unavailable. The log has the cause. Nothing has changed on the platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this service has a temporary problem")]
pub struct DependencyError;

impl From<DependencyError> for ConnectError {
    fn from(_: DependencyError) -> Self {
        Self::Unreachable
    }
}

impl From<DependencyError> for RefreshError {
    fn from(error: DependencyError) -> Self {
        Self::Unreachable(error.to_string())
    }
}

impl From<DependencyError> for AttemptError {
    fn from(error: DependencyError) -> Self {
        Self::RetryLater { retry_at: None, reason: error.to_string() }
    }
}
