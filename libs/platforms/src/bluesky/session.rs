//! The session of a grant: what is stored in addition to its tokens.

use std::time::Duration;

use domain::delivery::AttemptError;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use url::Url;

use super::authorization_server::AuthorizationServer;
use super::client::Client;
use super::names::Did;
use super::signing_key::SigningKey;
use crate::account::Credentials;
use crate::connect_flow::RefreshError;

/// The timeout of a refresh, which may have to be sent twice. The caller waits for 30 seconds. The
/// tokens of a later response would be lost, and the grant with them, because the old refresh token
/// is spent.
pub(super) const REFRESH_TIMEOUT: Duration = Duration::from_secs(28);

/// A grant's account, its server, and how calls authenticate: everything that deliveries and
/// refreshes need, so that they need no vault.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Session {
    pub(super) did: Did,
    pub(super) pds: Url,
    pub(super) kind: Kind,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub(super) enum Kind {
    Oauth(Box<Grant>),
    AppPassword,
}

/// An OAuth grant. None of the three parts ever changes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Grant {
    pub(super) server: AuthorizationServer,
    pub(super) client: Client,
    pub(super) key: SigningKey,
}

#[derive(Debug, thiserror::Error)]
#[error("the stored session of this connection cannot be read; connect the account again")]
pub(super) struct Unreadable;

impl Session {
    pub(super) fn load(credentials: &Credentials) -> Result<Self, Unreadable> {
        let extra = credentials.extra.as_ref().ok_or(Unreadable)?;
        serde_json::from_str(extra.expose_secret()).map_err(|_| Unreadable)
    }

    pub(super) fn store(&self) -> SecretString {
        serde_json::to_string(self).unwrap_or_default().into()
    }
}

impl From<Unreadable> for AttemptError {
    fn from(unreadable: Unreadable) -> Self {
        Self::Unauthorized { reason: unreadable.to_string() }
    }
}

impl From<Unreadable> for RefreshError {
    fn from(unreadable: Unreadable) -> Self {
        Self::Gone(unreadable.to_string())
    }
}
