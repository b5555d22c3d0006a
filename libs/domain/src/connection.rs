use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::id::{ConnectionId, UserId};
use crate::name;
use crate::profile::ProfileRef;
use crate::rules::Rules;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Connection {
    pub user_id: UserId,
    /// Stays the same when the account is reconnected.
    pub connection_id: ConnectionId,
    /// The platform's name in the registry.
    pub provider: String,
    pub profile: AccountInfo,
    pub scopes: Vec<String>,
    pub needs_reconnection: bool,
    /// When the credentials expire and only the user can replace them; `None` when they do not
    /// expire, or are refreshed automatically.
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub token_expires_at: Option<DateTime<Utc>>,
    /// When the credentials were last refreshed automatically; `None` if not since the account was
    /// last connected.
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub refreshed_at: Option<DateTime<Utc>>,
    /// Time of the first connection.
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub created_at: DateTime<Utc>,
    /// Targets of scheduled and publishing posts that use this connection. It cannot be
    /// disconnected while there are any.
    pub pending: u32,
    pub rules: Rules,
    /// Grows with every change of the credentials, so that an error of old credentials does not
    /// mark new ones as lost.
    pub generation: u64,
    /// The customer whose account this is; `None` if the account is the user's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_profile: Option<ProfileRef>,
}

impl Connection {
    /// Platform and account: the same for every user who connected that account.
    pub fn account(&self) -> String {
        format!("{}/{}", self.provider, self.profile.account_id)
    }

    pub fn not_accepted_message(&self) -> String {
        format!("{} no longer accepts this connection", self.rules.title)
    }
}

impl AccountInfo {
    /// Returns the names with bounded length, without control characters and bidirectional
    /// formatting characters, so that they can be shown next to our own text.
    #[must_use]
    pub fn sanitized(self) -> Self {
        Self {
            username: self.username.as_deref().and_then(name::username),
            display_name: self.display_name.as_deref().and_then(name::display_name),
            ..self
        }
    }

    /// The username with `@` before it. Where accounts have no handle, `username` is the name of a
    /// person or a channel, which is returned as it is.
    pub fn handle(&self) -> Option<String> {
        let is_name = |it: &str| it.contains(char::is_whitespace);
        self.username.as_deref().map(|it| if is_name(it) { it.to_owned() } else { format!("@{it}") })
    }

    pub fn shown_name(&self) -> String {
        self.handle().or_else(|| self.display_name.clone()).unwrap_or_else(|| self.account_id.clone())
    }
}

/// An account as its platform describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountInfo {
    pub account_id: String,
    pub username: Option<String>,
    pub display_name: Option<String>,
    /// URL of the account's picture.
    pub avatar: Option<String>,
    pub profile_url: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_that_is_no_handle_is_shown_unchanged() {
        let profile = |username: Option<&str>| AccountInfo {
            account_id: "7".to_owned(),
            username: username.map(str::to_owned),
            display_name: Some("Ada".to_owned()),
            avatar: None,
            profile_url: None,
        };
        for (username, shown) in [(Some("keeper"), "@keeper"), (Some("Ada Keeper"), "Ada Keeper"), (None, "Ada")] {
            assert_eq!(profile(username).shown_name(), shown);
        }
    }
}
