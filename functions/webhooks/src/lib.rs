//! Webhooks: endpoints of users, and telling them what happened.
//!
//! An event comes from the bus (`tell`) and becomes a notice for each endpoint
//! that wants it. A notice is sent (`send`) until it is accepted; the queue holds
//! back what is tried again soon, and the tick (`tick`) finds everything else.
//! Clients make and look after endpoints by the routes below; a person sees them on
//! `webhooks_page`.

mod calls;
mod change_webhook;
pub mod config;
mod create_webhook;
mod delete_webhook;
mod failure;
mod heard;
mod list_deliveries;
mod list_webhooks;
mod permits;
mod queue;
mod reading;
mod redeliver;
mod rotate_secret;
mod secrets;
mod send;
mod show_key;
mod show_webhook;
mod signing_keys;
mod tell;
mod test_webhook;
#[cfg(test)]
mod testing;
mod tick;
mod view;
mod webhooks_forms;
mod webhooks_page;
mod woken;

use std::sync::Arc;

use api::Api;
use axum::Router;
use axum::extract::FromRef;
use axum::routing::get;
use cloud::events::EventBus;
use cloud::notices::NoticeQueue;
use cloud::seal::Sealer;
use outbound::Outbound;
use publishing::Places;

pub use calls::{Calls, OverHttp, Request, outbound_clients};
pub use failure::Failure;
pub use queue::take;
pub use signing_keys::SigningKeys;
pub use woken::Woken;

/// What handlers and workers need, the same for all of them.
#[derive(Clone)]
pub struct App {
    /// Store, clock, ids, limits.
    pub api: Api,
    /// Encrypts secrets before they are stored.
    pub sealer: Arc<dyn Sealer>,
    /// Which addresses may be endpoints.
    pub outbound: Outbound,
    /// Calls endpoints.
    pub calls: Arc<dyn Calls>,
    /// Brings notices when they are to be tried.
    pub queue: Arc<dyn NoticeQueue>,
    /// The bus, on which it is told that an endpoint is disabled.
    pub events: Arc<dyn EventBus>,
    /// The key of the deployment.
    pub keys: SigningKeys,
    /// The permits for calls that this process holds.
    pub places: Places,
}

impl FromRef<App> for Api {
    fn from_ref(app: &App) -> Self {
        app.api.clone()
    }
}

api::routes!(
    App: list_webhooks,
    create_webhook,
    show_key,
    show_webhook,
    change_webhook,
    delete_webhook,
    rotate_secret,
    test_webhook,
    list_deliveries,
    redeliver
);

/// The routes, to be completed by [`api::finish`].
pub fn router(app: App) -> Router {
    routes()
        .route("/account/webhooks", get(webhooks_page::show_webhooks).post(webhooks_forms::act_on_webhook))
        .with_state(app)
}
