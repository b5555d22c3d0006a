//! A person who signed in.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::id::UserId;

/// A person who signed in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct User {
    pub user_id: UserId,
    /// As the issuer last told it.
    pub name: String,
    /// As the issuer last told it.
    pub email: String,
    /// When they first signed in.
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub created_at: DateTime<Utc>,
    /// The name of a plan of the deployment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// Thrown out by whoever runs the service: no token, session or sign-in of
    /// theirs is accepted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disabled: bool,
    /// When they last signed out everywhere: sessions from before are over.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "chrono::serde::ts_milliseconds_option")]
    pub signed_out_at: Option<DateTime<Utc>>,
}

impl User {
    /// Somebody who signs in for the first time.
    pub fn new(user_id: UserId, name: impl Into<String>, email: impl Into<String>, created_at: DateTime<Utc>) -> Self {
        Self {
            user_id,
            name: name.into(),
            email: email.into(),
            created_at,
            plan: None,
            disabled: false,
            signed_out_at: None,
        }
    }

    /// Whether a session that began then is still good.
    pub fn accepts_session_of(&self, began_at: DateTime<Utc>) -> bool {
        !self.disabled && self.signed_out_at.is_none_or(|it| it < began_at)
    }
}
