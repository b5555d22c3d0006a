//! That a platform cannot be asked, through no fault of its own.

use domain::delivery::Setback;

use crate::handoff::{HandOffRefusal, RefreshRefusal};

/// Something of ours that a call of the platform needs is not to be had just
/// now; what it is and what to do is in the log. Nothing happened over there.
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
