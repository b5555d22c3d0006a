//! Callbacks of platforms: a user has revoked a grant there, or requests the deletion of their
//! data.

use chrono::{DateTime, Utc};

use crate::dependency_error::DependencyError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeauthorizationCallback {
    /// As in [`Account::grant_name`](crate::Account::grant_name).
    pub grant: String,
    /// Later grants stay valid.
    pub at: DateTime<Utc>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidCallback {
    #[error("this platform does not send deauthorization callbacks")]
    NoneHere,
    #[error("the callback is not signed by the platform")]
    Forged,
    #[error(transparent)]
    NotNow(#[from] DependencyError),
}
