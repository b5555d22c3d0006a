//! Everything that is needed to act for an account, in addition to its tokens.

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize, Serializer};

use domain::delivery::AttemptError;
use domain::rules::Rules;

use super::server::Server;
use super::software::Software;
use crate::account::Credentials;
use crate::connect_flow::AuthorizationRequest;
use crate::oauth2::Dialect;

/// The OAuth dialect of servers. With `force_login` the user can choose another account than the
/// signed-in one. Servers that know neither this parameter nor PKCE ignore both.
pub(super) const DIALECT: Dialect = Dialect { page: &[("force_login", "true")], ..Dialect::STANDARD };

/// A server and this service's app there. Stored with an account's credentials, so that nothing
/// else is needed to act for it.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Grant {
    pub(super) server: Server,
    pub(super) software: Software,
    pub(super) endpoints: Endpoints,
    pub(super) app: App,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct App {
    pub(super) client_id: String,
    #[serde(serialize_with = "serialize_secret")]
    pub(super) client_secret: SecretString,
    /// The scopes that the app may request; a server refuses any other.
    pub(super) scopes: String,
    /// Whether the server issues tokens for any code. Then an invalid code does not show whether
    /// the server knows the app, and is not tried again.
    pub(super) any_code: bool,
}

fn serialize_secret<S: Serializer>(secret: &SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(secret.expose_secret())
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Endpoints {
    pub(super) authorization: String,
    pub(super) token: String,
    pub(super) revocation: String,
    pub(super) registration: String,
}

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

#[derive(Serialize, Deserialize)]
pub(super) struct Memory {
    pub(super) grant: Grant,
    pub(super) rules: Rules,
    pub(super) domain: Option<Server>,
    /// The issuer that the server promises to send with its response (RFC 9207).
    pub(super) issuer: Option<String>,
}

#[derive(Debug, thiserror::Error)]
#[error("the stored server of this account cannot be read; connect the account again")]
pub(super) struct UnreadableGrant;

impl From<UnreadableGrant> for AttemptError {
    fn from(unreadable: UnreadableGrant) -> Self {
        Self::Unauthorized { reason: unreadable.to_string() }
    }
}

impl Grant {
    pub(super) fn load(credentials: &Credentials) -> Result<Self, UnreadableGrant> {
        let stored = credentials.extra.as_ref().ok_or(UnreadableGrant)?;
        serde_json::from_str(stored.expose_secret()).map_err(|_| UnreadableGrant)
    }

    pub(super) fn store(&self) -> SecretString {
        serde_json::to_string(self).unwrap_or_default().into()
    }

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
