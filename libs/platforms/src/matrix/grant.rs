//! What is stored of a grant in addition to its tokens.

use domain::delivery::AttemptError;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use super::oauth::Client;
use super::user::{Homeserver, UserId};
use crate::account::Credentials;

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Grant {
    pub(super) server: Homeserver,
    pub(super) user: UserId,
    pub(super) session: Session,
}

/// The origin of a device's tokens.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Session {
    Pasted,
    /// This service created the device with a password or a login token.
    Login,
    OAuth(Box<Client>),
}

impl Grant {
    pub(super) fn load(credentials: &Credentials) -> Result<Self, AttemptError> {
        let stored = credentials.extra.as_ref().and_then(Self::read);
        stored.ok_or_else(|| AttemptError::Unauthorized {
            reason: "the stored homeserver of this account cannot be \
                                                                 read; connect the account again"
                .to_owned(),
        })
    }

    pub(super) fn read(stored: &SecretString) -> Option<Self> {
        serde_json::from_str(stored.expose_secret()).ok()
    }

    pub(super) fn store(&self) -> SecretString {
        serde_json::to_string(self).unwrap_or_default().into()
    }
}
