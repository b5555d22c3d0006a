//! Connections: listing, showing and disconnecting accounts, and the hand-off
//! that connects one.
//!
//! A hand-off goes: `begin_hand_off` (the client asks) → `show_hand_off` and
//! `answer_hand_off` (our page, where the platform has to know something
//! first) → the platform's page → `take_callback` (the platform's answer) →
//! `show_hand_off` again (which account, where there are several; how it
//! ended). Where a person approves elsewhere and nobody is sent back, `approval`
//! asks the platform, while the page or the client waits. Meanwhile the client asks
//! `poll_hand_off`. `party` says who may go on
//! with it. What platforms tell by themselves comes to `take_notice`.
//!
//! `account_page` is where a person sees their connections, and `account_forms` what
//! its buttons do.

mod account_forms;
mod account_page;
mod answer_hand_off;
mod approval;
mod begin_hand_off;
pub mod config;
mod connection_view;
mod delete_connection;
mod failure;
mod give_back;
mod hand_off;
mod list_choices;
mod list_connections;
mod list_platforms;
mod party;
mod patience;
mod poll_hand_off;
mod receiver;
mod room;
mod rule_view;
mod show_client_document;
mod show_connection;
mod show_hand_off;
mod stored_vault;
mod take_callback;
mod take_notice;
#[cfg(test)]
mod testing;
mod turn;
mod turned_away;

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
use publishing::Custody;

pub use party::Guests;
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
    /// Whether guests may go on with a user's hand-off.
    pub guests: Guests,
}

impl FromRef<App> for Api {
    fn from_ref(app: &App) -> Self {
        app.api.clone()
    }
}

impl App {
    /// Those who keep the credentials.
    fn custody(&self) -> Custody {
        let Api { store, clock, .. } = &self.api;
        let (sealer, events) = (self.sealer.clone(), self.events.clone());
        Custody { store: store.clone(), sealer, events, clock: clock.clone() }
    }
}

/// The routes, to be completed by `api::finish`.
pub fn router(app: App) -> Router {
    routes()
        .route("/account/connections", get(account_page::show_accounts))
        .route("/account/connections/connect", post(account_forms::connect))
        .route("/account/connections/{connection}/disconnect", post(account_forms::disconnect))
        .route("/connect/{state_token}", get(show_hand_off::show_hand_off).post(answer_hand_off::answer_hand_off))
        .route("/connect/callback/{platform}", get(take_callback::take_callback))
        .route("/connect/callback/{platform}/{server}", get(take_callback::take_callback_of_server))
        .route("/connect/deauthorize/{platform}", post(take_notice::deauthorize))
        .route("/connect/delete-data/{platform}", get(take_notice::show_deletion).post(take_notice::delete_data))
        .route("/connect/client/{platform}", get(show_client_document::show_client_document))
        .with_state(app)
}

api::routes!(App: begin_hand_off, poll_hand_off, list_connections, show_connection, delete_connection, list_choices, list_platforms);

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
