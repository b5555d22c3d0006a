//! A person who signed in.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::id::UserId;
use crate::token::Bucket;

/// A person who signed in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct User {
    /// Ours.
    pub user_id: UserId,
    /// As the issuer last told it.
    pub name: String,
    /// As the issuer last told it.
    pub email: String,
    /// When they first signed in.
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub created_at: DateTime<Utc>,
    /// Under which the user's requests are counted.
    pub bucket: Bucket,
    /// The name of a plan of the deployment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
}
