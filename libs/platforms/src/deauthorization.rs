//! What a platform tells us by itself: that somebody has ended there what they granted
//! here, or wants deleted what is known of them.

use chrono::{DateTime, Utc};

use crate::dependency_error::DependencyError;

/// That a grant has ended at its platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeauthorizationCallback {
    /// The platform's own name of the grant, as
    /// [`Account::grant_name`](crate::Account::grant_name) has it.
    pub grant: String,
    /// When the platform said so. A grant that was given after that goes on.
    pub at: DateTime<Utc>,
}

/// Why a message is none of those.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidCallback {
    /// The platform sends no such messages.
    #[error("this platform sends no such messages")]
    NoneHere,
    /// It does not prove that it is the platform's.
    #[error("the message is not signed by the platform")]
    Forged,
    /// It cannot be checked now.
    #[error(transparent)]
    NotNow(#[from] DependencyError),
}
