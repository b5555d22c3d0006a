//! Connections: listing, showing and disconnecting accounts, and the connect flow that connects
//! one.
//!
//! The steps of a connect flow: `start_connect_flow` (the client's request) → `connect_page` (our page
//! and its form, if the platform needs field values) → the platform's page → `receive_callback` →
//! `connect_page` again (the choice of accounts, and the result). Meanwhile the client polls
//! `poll_connect_flow`, which also polls the platform if the user approves in an app and no callback
//! arrives. `participant` decides who may continue the flow. The handlers parse and respond; the
//! library `connecting` makes the step.
//!
//! `connect_links` starts connect flows for the customers of a user.
//!
//! `receive_deauthorization` handles notifications from platforms; `account_page` and
//! `account_forms` are the page of connections and its buttons. `choices_page` shows the values of an
//! option, and `consent_page` asks for the consent that TikTok requires for each post.

mod account_forms;
mod account_page;
mod choices;
mod choices_page;
pub mod config;
mod connect_links;
mod connect_page;
mod consent_page;
mod delete_connection;
mod error;
mod flow_pages;
mod list_choices;
mod list_connections;
mod list_platforms;
mod participant;
mod platform_call;
mod poll_connect_flow;
mod profiles;
mod receive_callback;
mod receive_deauthorization;
mod recipient;
mod response;
mod show_client_document;
mod show_connection;
mod start_connect_flow;
mod stored_vault;
#[cfg(test)]
mod testing;

use std::sync::Arc;

use api::Api;
use axum::Router;
use axum::extract::FromRef;
use axum::middleware::map_response_with_state;
use axum::routing::{get, post};
use cloud::events::EventBus;
use cloud::seal::Sealer;
use connecting::{ConnectFlows, CredentialService};
use domain::options::PlatformOptions;
use domain::plan::Plans;
use platforms::{CallbackUrls, Connect, Registry};

use crate::connect_links::{create_connect_link, link_pages};
use crate::profiles::{change_profile, create_profile, delete_profile, list_profiles, show_profile};
pub use connect_links::{ConnectLinkSettings, InvalidReturnOrigin, ReturnOrigins};
pub use domain::connect_flow::Guests;
pub use stored_vault::StoredVault;

#[derive(Clone)]
pub struct App {
    pub api: Api,
    pub platforms: Registry<dyn Connect>,
    pub vocabulary: PlatformOptions,
    pub sealer: Arc<dyn Sealer>,
    /// For events of connections.
    pub events: Arc<dyn EventBus>,
    pub plans: Plans,
    pub guests: Guests,
    pub connect_links: ConnectLinkSettings,
}

impl FromRef<App> for Api {
    fn from_ref(app: &App) -> Self {
        app.api.clone()
    }
}

impl App {
    fn connect_flows(&self) -> ConnectFlows {
        let Self { api, platforms, sealer, events, plans, guests, .. } = self.clone();
        let Api { store, clock, ids, origin, .. } = api;
        ConnectFlows { store, platforms, sealer, events, clock, ids, plans, guests, origin }
    }

    fn addresses(&self, platform: &dyn Connect) -> CallbackUrls {
        CallbackUrls::new(&self.api.origin, platform.name())
    }

    fn credential_service(&self) -> CredentialService {
        let Api { store, clock, .. } = &self.api;
        let (sealer, events) = (self.sealer.clone(), self.events.clone());
        CredentialService { store: store.clone(), sealer, events, clock: clock.clone() }
    }
}

/// To be completed by `api::finish`.
pub fn router(app: App) -> Router {
    routes()
        .route("/account/connections", get(account_page::show_accounts))
        .route("/account/connections/connect", post(account_forms::connect))
        .route("/account/connections/{connection}/disconnect", post(account_forms::disconnect))
        .route("/account/connections/{connection}/choices/{option}", get(choices_page::show_choices))
        .route("/account/connections/{connection}/consent/{post}", get(consent_page::show_consent))
        .route("/connect/{state_token}", get(connect_page::show_connect_flow).post(connect_page::submit_connect_flow))
        .merge(connect_link_pages(&app))
        .route("/connect/callback/{platform}", get(receive_callback::receive_callback))
        .route("/connect/callback/{platform}/{server}", get(receive_callback::receive_server_callback))
        .route("/connect/deauthorize/{platform}", post(receive_deauthorization::deauthorize))
        .route(
            "/connect/delete-data/{platform}",
            get(receive_deauthorization::show_deletion).post(receive_deauthorization::delete_data),
        )
        .route("/connect/client/{platform}", get(show_client_document::show_client_document))
        .with_state(app)
}

fn connect_link_pages(app: &App) -> Router<App> {
    Router::new()
        .route("/connect-links/brand.css", get(link_pages::show_brand_style))
        .route("/connect-links/{link}", get(link_pages::show_link).post(link_pages::open_link))
        .route("/connect-links/{link}/accounts", get(link_pages::show_link_accounts))
        .route("/connect-links/{link}/consent", get(link_pages::consents::show_link_consent))
        .route("/connect-links/{link}/connect", post(link_pages::connect_with_link))
        .route("/connect-links/{link}/end", post(link_pages::end_link))
        .layer(map_response_with_state(app.clone(), link_pages::with_branded_error))
}

api::routes!(
    App: start_connect_flow,
    poll_connect_flow,
    list_connections,
    show_connection,
    delete_connection,
    list_choices,
    list_platforms,
    list_profiles,
    create_profile,
    show_profile,
    change_profile,
    delete_profile,
    create_connect_link
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_described_under_its_name() {
        let document = serde_json::to_value(documented()).unwrap();
        let mut names = Vec::new();
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                names.push(operation["operationId"].as_str().unwrap().to_owned());
                for part in ["summary", "security", "responses"] {
                    assert!(!operation[part].is_null(), "{method} {path}: {part}");
                }
            }
        }
        names.sort();
        assert_eq!(
            names,
            [
                "connectLink.store",
                "connection.choices",
                "connection.destroy",
                "connection.index",
                "connection.show",
                "connectionOAuth.status",
                "connectionOAuth.store",
                "platform.index",
                "profile.destroy",
                "profile.index",
                "profile.show",
                "profile.store",
                "profile.update"
            ]
        );
    }
}
