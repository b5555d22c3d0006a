//! What is kept of a grant beside its tokens.

use domain::delivery::AttemptError;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use super::oauth::Client;
use super::user::{Homeserver, UserId};
use crate::account::Credentials;

/// Whose device it is, and where.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Grant {
    pub(super) server: Homeserver,
    pub(super) user: UserId,
    pub(super) session: Session,
}

/// Where the tokens of a device come from.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Session {
    /// A person pasted the token of a device of their own.
    Pasted,
    /// This service made the device, by a password or a login token.
    Login,
    /// This service made the device by OAuth 2.0.
    OAuth(Box<Client>),
}

impl Grant {
    pub(super) fn of(credentials: &Credentials) -> Result<Self, AttemptError> {
        let kept = credentials.extra.as_ref().and_then(Self::read);
        kept.ok_or_else(|| AttemptError::Unauthorized { reason: "which homeserver it is has been lost".to_owned() })
    }

    pub(super) fn read(stored: &SecretString) -> Option<Self> {
        serde_json::from_str(stored.expose_secret()).ok()
    }

    /// For [`Credentials::extra`].
    pub(super) fn store(&self) -> SecretString {
        serde_json::to_string(self).unwrap_or_default().into()
    }
}
