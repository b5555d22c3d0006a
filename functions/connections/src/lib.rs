//! Connections: listing, showing and disconnecting accounts, and the connect flow
//! that connects one.
//!
//! A connect flow goes: `begin_connect_flow` (the client asks) → `show_connect_flow` and
//! `answer_connect_flow` (our page, where the platform has to know something
//! first) → the platform's page → `take_callback` (the platform's answer) →
//! `show_connect_flow` again (which account, where there are several; how it
//! ended). Where a person approves elsewhere and nobody is sent back, `approval`
//! asks the platform, while the page or the client waits. Meanwhile the client asks
//! `poll_connect_flow`. `party` says who may go on
//! with it. What platforms tell by themselves comes to `take_notice`.
//!
//! `account_page` is where a person sees their connections, and `account_forms` what
//! its buttons do.

mod access_error;
mod account_forms;
mod account_page;
mod approval;
pub mod config;
mod connect_flow;
mod connection_view;
mod delete_connection;
mod error;
mod list_choices;
mod list_connections;
mod list_platforms;
mod participant;
mod plan_limit;
mod poll_connect_flow;
mod receive_callback;
mod receive_deauthorization;
mod recipient;
mod revoke_unused;
mod rule_view;
mod show_client_document;
mod show_connect_flow;
mod show_connection;
mod start_connect_flow;
mod stored_vault;
mod submit_connect_flow;
#[cfg(test)]
mod testing;
mod timeouts;
mod turn;

use std::sync::Arc;

use api::Api;
use axum::Router;
use axum::extract::FromRef;
use axum::routing::{get, post};
use cloud::events::EventBus;
use cloud::seal::Sealer;
use domain::options::Vocabulary;
use domain::plan::Plans;
use platforms::{Connect, Registry};
use publishing::CredentialService;

pub use participant::Guests;
pub use stored_vault::StoredVault;
pub use turn::LONGEST;

/// What the handlers need, the same for every request.
#[derive(Clone)]
pub struct App {
    /// Store, clock, ids, limits.
    pub api: Api,
    /// The platforms of this deployment.
    pub platforms: Registry<dyn Connect>,
    /// What a post can say on each platform alone.
    pub vocabulary: Vocabulary,
    /// Encrypts credentials before they are stored.
    pub sealer: Arc<dyn Sealer>,
    /// The bus on which events of connections are put for other programs.
    pub events: Arc<dyn EventBus>,
    /// The plans, which say what a user may use.
    pub plans: Plans,
    /// Whether guests may go on with a user's connect flow.
    pub guests: Guests,
}

impl FromRef<App> for Api {
    fn from_ref(app: &App) -> Self {
        app.api.clone()
    }
}

impl App {
    /// Those who keep the credentials.
    fn custody(&self) -> CredentialService {
        let Api { store, clock, .. } = &self.api;
        let (sealer, events) = (self.sealer.clone(), self.events.clone());
        CredentialService { store: store.clone(), sealer, events, clock: clock.clone() }
    }
}

/// The routes, to be completed by `api::finish`.
pub fn router(app: App) -> Router {
    routes()
        .route("/account/connections", get(account_page::show_accounts))
        .route("/account/connections/connect", post(account_forms::connect))
        .route("/account/connections/{connection}/disconnect", post(account_forms::disconnect))
        .route(
            "/connect/{state_token}",
            get(show_connect_flow::show_connect_flow).post(submit_connect_flow::submit_connect_flow),
        )
        .route("/connect/callback/{platform}", get(receive_callback::take_callback))
        .route("/connect/callback/{platform}/{server}", get(receive_callback::take_callback_of_server))
        .route("/connect/deauthorize/{platform}", post(receive_deauthorization::deauthorize))
        .route(
            "/connect/delete-data/{platform}",
            get(receive_deauthorization::show_deletion).post(receive_deauthorization::delete_data),
        )
        .route("/connect/client/{platform}", get(show_client_document::show_client_document))
        .with_state(app)
}

api::routes!(App: start_connect_flow, poll_connect_flow, list_connections, show_connection, delete_connection, list_choices, list_platforms);

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
                "connection.choices",
                "connection.destroy",
                "connection.index",
                "connection.show",
                "connectionOAuth.status",
                "connectionOAuth.store",
                "platform.index"
            ]
        );
    }
}
