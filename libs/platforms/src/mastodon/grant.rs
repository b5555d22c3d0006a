//! What this service has to know to act for an account.

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize, Serializer};

use domain::delivery::AttemptError;
use domain::rules::Rules;

use super::server::Server;
use super::software::Software;
use crate::account::Credentials;
use crate::connect_flow::AuthorizationRequest;
use crate::oauth2::Dialect;

/// How servers do OAuth. With `force_login` the person can choose another account
/// than the one that is signed in. Servers that know neither it nor PKCE ignore both.
pub(super) const DIALECT: Dialect = Dialect { page: &[("force_login", "true")], ..Dialect::STANDARD };

/// A server and this service as it is known there. Kept with an account's
/// credentials, so that nothing else is needed to act for it.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Grant {
    pub(super) server: Server,
    pub(super) software: Software,
    pub(super) endpoints: Endpoints,
    pub(super) app: App,
}

/// This service as one server knows it since it registered itself there.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct App {
    pub(super) client_id: String,
    #[serde(serialize_with = "exposed")]
    pub(super) client_secret: SecretString,
    /// What it may ask for; a server refuses anything else.
    pub(super) scopes: String,
    /// Whether its server gives tokens for any code. Then an invalid code does not
    /// tell whether it knows the app, and is not tried again.
    #[serde(default)]
    pub(super) any_code: bool,
}

fn exposed<S: Serializer>(secret: &SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(secret.expose_secret())
}

/// The paths of OAuth on a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Endpoints {
    pub(super) authorization: String,
    pub(super) token: String,
    pub(super) revocation: String,
    pub(super) registration: String,
}

/// The paths of servers that do not say where theirs are.
impl Default for Endpoints {
    fn default() -> Self {
        Self {
            authorization: "/oauth/authorize".to_owned(),
            token: "/oauth/token".to_owned(),
            revocation: "/oauth/revoke".to_owned(),
            registration: "/api/v1/apps".to_owned(),
        }
    }
}

/// What a connect flow remembers while the person is on the server's page.
#[derive(Serialize, Deserialize)]
pub(super) struct Memory {
    pub(super) grant: Grant,
    /// What the server accepts.
    pub(super) rules: Rules,
    /// The domain that it says its accounts are named by, where that is not its own
    /// name.
    #[serde(default)]
    pub(super) domain: Option<Server>,
    /// How the server names itself in its answer, where it promises to.
    #[serde(default)]
    pub(super) issuer: Option<String>,
}

/// The credentials do not say where they are good for.
#[derive(Debug, thiserror::Error)]
#[error("what was kept of the account's server is unreadable")]
pub(super) struct UnreadableGrant;

impl From<UnreadableGrant> for AttemptError {
    fn from(unreadable: UnreadableGrant) -> Self {
        Self::Unauthorized { reason: unreadable.to_string() }
    }
}

impl Grant {
    /// That of an account.
    pub(super) fn of(credentials: &Credentials) -> Result<Self, UnreadableGrant> {
        let stored = credentials.extra.as_ref().ok_or(UnreadableGrant)?;
        serde_json::from_str(stored.expose_secret()).map_err(|_| UnreadableGrant)
    }

    /// For [`Credentials::extra`].
    pub(super) fn store(&self) -> SecretString {
        serde_json::to_string(self).unwrap_or_default().into()
    }

    /// The page on which the person decides.
    pub(super) fn authorization_url(&self, request: &AuthorizationRequest) -> String {
        let page = self.server.url(&self.endpoints.authorization);
        DIALECT.authorization_url(page, &self.app.client_id, request, &[&self.app.scopes], &[])
    }
}

impl Memory {
    pub(super) fn read(stored: &SecretString) -> Option<Self> {
        serde_json::from_str(stored.expose_secret()).ok()
    }

    pub(super) fn store(&self) -> SecretString {
        serde_json::to_string(self).unwrap_or_default().into()
    }
}
