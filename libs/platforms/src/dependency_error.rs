//! Why a platform could not be asked, where the cause is on our side.

use domain::delivery::AttemptError;

use crate::connect_flow::{ConnectError, RefreshError};

/// A call could not be made because something of ours is unavailable for the
/// moment, such as our own secret. The log says what it is. The platform was not
/// asked, so nothing has changed there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it could not be asked just now")]
pub struct DependencyError;

impl From<DependencyError> for ConnectError {
    fn from(_: DependencyError) -> Self {
        Self::Unreachable
    }
}

impl From<DependencyError> for RefreshError {
    fn from(not_now: DependencyError) -> Self {
        Self::Unreachable(not_now.to_string())
    }
}

impl From<DependencyError> for AttemptError {
    fn from(not_now: DependencyError) -> Self {
        Self::RetryLater { retry_at: None, reason: not_now.to_string() }
    }
}
