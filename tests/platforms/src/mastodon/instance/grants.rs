//! The codes and tokens that a server remembers.

use chrono::{DateTime, Utc};

/// The code by which an app learns that the person has agreed.
pub(crate) struct Code {
    pub(crate) value: String,
    pub(crate) client_id: String,
    pub(crate) redirect_uri: String,
    pub(crate) scopes: Vec<String>,
    pub(crate) challenge: Option<String>,
    pub(crate) made_at: DateTime<Utc>,
    pub(crate) used: bool,
}

/// What an app may do for the person.
#[derive(Clone)]
pub(crate) struct Grant {
    pub(crate) client_id: String,
    pub(crate) scopes: Vec<String>,
    pub(crate) access_token: String,
    pub(crate) refresh_token: Option<String>,
    pub(crate) made_at: DateTime<Utc>,
    pub(crate) expires_at: Option<DateTime<Utc>>,
    pub(crate) revoked: bool,
}
