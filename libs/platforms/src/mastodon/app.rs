//! This service as servers know it: registered by itself, once per server.

use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize, Serializer};

use super::api::{Api, Discovered, Knows, NewApp};
use super::grant::Grant;
use super::refused::Refused;
use super::server::Server;
use crate::handoff::{AuthorizationRequest, HandOffRefusal, OurAddresses};
use crate::vault::{Kept, Vault};

/// What a server gave this service when it registered itself there.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct App {
    pub(super) client_id: String,
    #[serde(serialize_with = "exposed")]
    pub(super) client_secret: SecretString,
    /// What it may ask for; a server refuses anything else.
    pub(super) scopes: String,
    /// Whether its server gives tokens for any code, so that it is not asked
    /// for some again.
    #[serde(default)]
    pub(super) any_code: bool,
}

fn exposed<S: Serializer>(secret: &SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(secret.expose_secret())
}

/// The apps of all servers, in the vault.
pub(super) struct Apps {
    api: Api,
    vault: Arc<dyn Vault>,
    client_name: String,
}

impl Apps {
    pub(super) fn new(api: Api, vault: Arc<dyn Vault>, client_name: String) -> Self {
        Self { api, vault, client_name }
    }

    /// The grant that a person is to be asked for, with the app that is kept,
    /// if the server still knows it, or a new one. Servers before Mastodon 4.3
    /// remove apps, some do when a token is given back, and any can have been
    /// set up anew.
    pub(super) async fn at(&self, found: &Discovered, request: &AuthorizationRequest) -> Result<Grant, HandOffRefusal> {
        let here = &request.here;
        let kept = self.vault.find(&name(&found.server, here)).await?;
        let mut any_code = false;
        if let Some(app) = kept.as_ref().and_then(read) {
            any_code = app.any_code;
            let grant = Grant::at(found, app);
            // What the person would see is looked at first.
            if self.api.shows_page(&grant.authorization_url(request)).await {
                match self.knows(&grant, here).await {
                    Knows::It => return Ok(grant),
                    Knows::Not => {}
                    Knows::TakesAnyCode => any_code = true,
                }
            }
        }
        let app = self.register(found, here, any_code, kept.as_ref()).await?;
        Ok(Grant::at(found, app))
    }

    /// Registers this service anew at a server that no longer knows it, unless
    /// somebody has done so since; what the person is told.
    pub(super) async fn forgotten(
        &self,
        grant: &Grant,
        here: &OurAddresses,
        refused: &Refused,
    ) -> Result<HandOffRefusal, HandOffRefusal> {
        let kept = self.vault.find(&name(&grant.server, here)).await?;
        let is_the_same = kept.as_ref().and_then(read).is_none_or(|it| it.client_id == grant.app.client_id);
        if is_the_same {
            let found = self.api.discover(grant.server.clone()).await?;
            self.register(&found, here, grant.app.any_code, kept.as_ref()).await?;
        }
        let server = grant.server.name();
        let reason = refused.reason();
        Ok(HandOffRefusal::Refused(format!(
            "{server} no longer knows this service, or did not take its own code ({reason}). This service is \
             registered there again: connect the account once more"
        )))
    }

    async fn knows(&self, grant: &Grant, here: &OurAddresses) -> Knows {
        if grant.app.any_code { Knows::It } else { self.api.knows(grant, here).await }
    }

    async fn register(
        &self,
        found: &Discovered,
        here: &OurAddresses,
        any_code: bool,
        over: Option<&Kept>,
    ) -> Result<App, HandOffRefusal> {
        let new = NewApp {
            client_name: &self.client_name,
            // One string: a list is only understood since 4.3.
            redirect_uris: &here.redirect_uri,
            scopes: found.software.scopes(found.scopes.as_deref()),
            website: &here.origin,
        };
        let app = App { any_code, ..self.api.register(found, &new).await? };
        let stored = serde_json::to_string(&app).unwrap_or_default();
        let stands = self.vault.keep(&name(&found.server, here), stored.into(), over).await?;
        // Of two that registered at once, both go on with what is kept.
        Ok(read(&stands).unwrap_or(app))
    }
}

/// A redirect URI belongs to the registration, and a service can change its address.
fn name(server: &Server, here: &OurAddresses) -> String {
    format!("mastodon {} {}", server.origin(), here.redirect_uri)
}

fn read(kept: &Kept) -> Option<App> {
    serde_json::from_str(kept.value.expose_secret()).ok()
}
