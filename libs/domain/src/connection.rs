//! An account on a platform that a user connected.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::id::{ConnectionId, UserId};
use crate::name;
use crate::rules::Rules;

/// An account on a platform that a user connected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Connection {
    pub user_id: UserId,
    /// Ours; kept when the account is connected again.
    pub connection_id: ConnectionId,
    /// The platform's name in the registry.
    pub provider: String,
    /// As the platform tells it.
    pub profile: AccountInfo,
    /// What the grant covers.
    pub scopes: Vec<String>,
    /// Whether the user has to go through the connect flow again.
    #[serde(default)]
    pub needs_reconnection: bool,
    /// When only the user can go on, because the credentials end; `None` when they
    /// do not, or are renewed without the user.
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub token_expires_at: Option<DateTime<Utc>>,
    /// When the credentials were last renewed without their user; `None` since
    /// the account was last connected.
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub renewed_at: Option<DateTime<Utc>>,
    /// When it was first connected.
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub created_at: DateTime<Utc>,
    /// Targets of scheduled and publishing posts that name this account. It
    /// cannot be disconnected while there are any.
    #[serde(default)]
    pub pending: u32,
    /// What the platform accepts from this account.
    pub rules: Rules,
    /// Grows with every change of the credentials, so that a refusal of old
    /// ones is not held against new ones.
    pub generation: u64,
}

impl Connection {
    /// Which account of which platform it is: the same for every user who
    /// connected that one.
    pub fn account(&self) -> String {
        format!("{}/{}", self.provider, self.profile.account_id)
    }
}

impl AccountInfo {
    /// The same with names that can stand beside our own words: bounded, and
    /// without controls and marks of direction.
    #[must_use]
    pub fn fit_to_show(self) -> Self {
        Self {
            username: self.username.as_deref().and_then(name::username),
            display_name: self.display_name.as_deref().and_then(name::display_name),
            ..self
        }
    }

    /// The handle as people write it, with `@` before it. Where an account has none,
    /// `username` is a name, which is shown as it is: that of a person, or a channel.
    pub fn handle(&self) -> Option<String> {
        let is_name = |it: &str| it.contains(char::is_whitespace);
        self.username.as_deref().map(|it| if is_name(it) { it.to_owned() } else { format!("@{it}") })
    }
}

/// An account as its platform tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountInfo {
    /// The platform's own id of the account.
    pub account_id: String,
    /// The handle.
    pub username: Option<String>,
    /// The name shown.
    pub display_name: Option<String>,
    /// A picture's URL.
    pub avatar: Option<String>,
    /// Where people see the account.
    pub profile_url: Option<String>,
}
