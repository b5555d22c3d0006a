//! Why a platform could not be asked, where the cause is on our side.

use domain::delivery::Setback;

use crate::handoff::{HandOffRefusal, RefreshRefusal};

/// A call could not be made because something of ours is unavailable for the
/// moment, such as our own secret. The log says what it is. The platform was not
/// asked, so nothing has changed there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it could not be asked just now")]
pub struct NotNow;

impl From<NotNow> for HandOffRefusal {
    fn from(_: NotNow) -> Self {
        Self::Unreachable
    }
}

impl From<NotNow> for RefreshRefusal {
    fn from(not_now: NotNow) -> Self {
        Self::Unreachable(not_now.to_string())
    }
}

impl From<NotNow> for Setback {
    fn from(not_now: NotNow) -> Self {
        Self::Busy { retry_at: None, reason: not_now.to_string() }
    }
}
