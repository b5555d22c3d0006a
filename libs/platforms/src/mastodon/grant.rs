//! What this service has to know to act for an account.

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use domain::delivery::Setback;
use domain::rules::Rules;

use super::api::Discovered;
use super::app::App;
use super::server::Server;
use super::software::Software;
use crate::account::Credentials;
use crate::handoff::AuthorizationRequest;

/// A server and this service as it is known there. Kept with an account's
/// credentials, so that nothing else is needed to act for it.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Grant {
    pub(super) server: Server,
    pub(super) software: Software,
    pub(super) endpoints: Endpoints,
    pub(super) app: App,
}

/// The paths of OAuth on a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Endpoints {
    pub(super) authorization: String,
    pub(super) token: String,
    pub(super) revocation: String,
    pub(super) registration: String,
}

/// Where they are on servers that do not say so.
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

/// What a hand-off remembers while the person is on the server's page.
#[derive(Serialize, Deserialize)]
pub(super) struct Memory {
    pub(super) grant: Grant,
    /// What the server accepts.
    pub(super) rules: Rules,
}

/// The credentials do not say where they are good for.
#[derive(Debug, thiserror::Error)]
#[error("what was kept of the account's server is unreadable")]
pub(super) struct UnreadableGrant;

impl From<UnreadableGrant> for Setback {
    fn from(unreadable: UnreadableGrant) -> Self {
        Self::Disconnected { reason: unreadable.to_string() }
    }
}

impl Grant {
    /// That of whoever will say yes at a server.
    pub(super) fn at(found: &Discovered, app: App) -> Self {
        let (server, endpoints) = (found.server.clone(), found.endpoints.clone());
        Self { server, software: found.software, endpoints, app }
    }

    /// That of an account.
    pub(super) fn of(credentials: &Credentials) -> Result<Self, UnreadableGrant> {
        let stored = credentials.extra.as_ref().ok_or(UnreadableGrant)?;
        serde_json::from_str(stored.expose_secret()).map_err(|_| UnreadableGrant)
    }

    /// For [`Credentials::extra`].
    pub(super) fn store(&self) -> SecretString {
        serde_json::to_string(self).unwrap_or_default().into()
    }

    /// The page on which the person decides. Servers that do not know PKCE or
    /// `force_login` ignore them; with the latter the person can choose
    /// another account than the one that is signed in.
    pub(super) fn authorization_url(&self, request: &AuthorizationRequest) -> String {
        let mut url = self.server.url(&self.endpoints.authorization);
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.app.client_id)
            .append_pair("redirect_uri", &request.here.redirect_uri)
            .append_pair("scope", &self.app.scopes)
            .append_pair("state", request.state.expose_secret())
            .append_pair("code_challenge", &request.challenge)
            .append_pair("code_challenge_method", "S256")
            .append_pair("force_login", "true");
        url.into()
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
