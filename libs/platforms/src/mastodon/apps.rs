//! This service as an app of each server: it registers itself once per server.

use std::sync::Arc;

use secrecy::ExposeSecret;

use super::api::Api;
use super::api::discovery::Discovered;
use super::api::oauth::{AppStatus, NewApp};
use super::grant::{App, Grant};
use super::server::Server;
use crate::connect_flow::{AuthorizationRequest, CallbackUrls, ConnectError};
use crate::vault::{Retention, Vault, VaultSecret};

pub(super) struct Apps {
    api: Api,
    vault: Arc<dyn Vault>,
    client_name: String,
}

impl Apps {
    pub(super) fn new(api: Api, vault: Arc<dyn Vault>, client_name: String) -> Self {
        Self { api, vault, client_name }
    }

    /// The grant to request: with the app in the vault if the server still knows it, else with a
    /// new app. Servers before Mastodon 4.3 remove apps that seem unused, some remove an app when
    /// one of its tokens is revoked, and any server may have been reinstalled.
    pub(super) async fn at(&self, found: &Discovered, request: &AuthorizationRequest) -> Result<Grant, ConnectError> {
        let urls = &request.urls;
        let stored = self.vault.find(&name(&found.server, urls)).await?;
        let mut any_code = false;
        if let Some(app) = stored.as_ref().and_then(parse_app) {
            any_code = app.any_code;
            let grant = found.grant(app);
            // The authorization page is checked first: some servers show an error there if they do
            // not know the app.
            if self.api.shows_page(&grant.authorization_url(request)).await {
                match self.knows(&grant, urls).await {
                    AppStatus::Known => return Ok(grant),
                    AppStatus::Gone => {}
                    AppStatus::TakesAnyCode => any_code = true,
                }
            }
        }
        let app = self.register(found, urls, any_code, stored.as_ref()).await?;
        Ok(found.grant(app))
    }

    /// Registers this service again at a server that no longer knows its app, unless another
    /// connect flow has already done so. Returns the error for the user.
    pub(super) async fn forgotten(
        &self,
        grant: &Grant,
        urls: &CallbackUrls,
        reason: &str,
    ) -> Result<ConnectError, ConnectError> {
        let stored = self.vault.find(&name(&grant.server, urls)).await?;
        let is_stored_app = stored.as_ref().and_then(parse_app).is_none_or(|it| it.client_id == grant.app.client_id);
        if is_stored_app {
            let found = self.api.discover(&grant.server.clone().into()).await?;
            self.register(&found, urls, grant.app.any_code, stored.as_ref()).await?;
        }
        let server = grant.server.name();
        Ok(ConnectError::Refused(format!(
            "{server} no longer knows this service, or did not accept its own code ({reason}). This service has \
             registered again: connect the account once more"
        )))
    }

    async fn knows(&self, grant: &Grant, urls: &CallbackUrls) -> AppStatus {
        if grant.app.any_code { AppStatus::Known } else { self.api.knows(grant, urls).await }
    }

    async fn register(
        &self,
        found: &Discovered,
        urls: &CallbackUrls,
        any_code: bool,
        over: Option<&VaultSecret>,
    ) -> Result<App, ConnectError> {
        let new = NewApp {
            client_name: &self.client_name,
            // One string: a list is accepted only since 4.3.
            redirect_uris: &urls.redirect_uri,
            scopes: found.software.scopes(found.scopes.as_deref()),
            website: &urls.origin,
        };
        let app = App { any_code, ..self.api.register(found, &new).await? };
        let stored = serde_json::to_string(&app).unwrap_or_default();
        let kept = self.vault.keep(&name(&found.server, urls), stored.into(), over, Retention::WhileUsed).await?;
        // If two connect flows registered at the same time, both use the app that the vault has
        // kept.
        Ok(parse_app(&kept).unwrap_or(app))
    }
}

/// The name of a server's app in the vault. A registration is for one redirect URI, so a change of
/// the service's own URL needs another one.
fn name(server: &Server, urls: &CallbackUrls) -> String {
    format!("mastodon {} {}", server.origin(), urls.redirect_uri)
}

fn parse_app(stored: &VaultSecret) -> Option<App> {
    serde_json::from_str(stored.value.expose_secret()).ok()
}
