//! Callbacks of platforms: a user has revoked a grant there, or requests the deletion of their
//! data.

use chrono::{DateTime, Utc};

use crate::dependency_error::DependencyError;

/// A platform's notification that a grant has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeauthorizationCallback {
    /// As in [`Account::grant_name`](crate::Account::grant_name).
    pub grant: String,
    /// When the platform sent it. Later grants stay valid.
    pub at: DateTime<Utc>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidCallback {
    #[error("this platform does not send deauthorization callbacks")]
    NoneHere,
    /// The signature is missing or wrong.
    #[error("the callback is not signed by the platform")]
    Forged,
    #[error(transparent)]
    NotNow(#[from] DependencyError),
}
