//! Webhooks: users' endpoints, and the delivery of events to them.
//!
//! `fan_out` turns an event from the bus into one webhook delivery for each endpoint that
//! subscribes to it. `send` makes the attempts until the endpoint accepts: the queue delays
//! those that are due soon, and `tick` finds all others. Clients manage endpoints with the
//! routes below, users with `webhooks_page`.

mod change_webhook;
pub mod config;
mod create_webhook;
mod delete_webhook;
mod endpoint_client;
mod error;
mod fan_out;
mod invocation;
mod list_deliveries;
mod list_webhooks;
mod permits;
mod queue;
mod record_response;
mod redeliver;
mod request;
mod response;
mod rotate_secret;
mod secrets;
mod send;
mod show_key;
mod show_webhook;
mod signing_keys;
mod test_webhook;
#[cfg(test)]
mod testing;
mod tick;
mod webhooks_forms;
mod webhooks_page;

use std::sync::Arc;

use api::Api;
use axum::Router;
use axum::extract::FromRef;
use axum::routing::get;
use cloud::events::EventBus;
use cloud::seal::Sealer;
use cloud::webhook_queue::WebhookQueue;
use egress::Egress;
use publishing::HeldPermits;

pub use endpoint_client::{EndpointClient, HttpEndpointClient, Request, egress_clients};
pub use error::WebhooksError;
pub use invocation::Invocation;
pub use queue::take;
pub use signing_keys::SigningKeys;

/// State of the handlers and workers.
#[derive(Clone)]
pub struct App {
    pub api: Api,
    pub sealer: Arc<dyn Sealer>,
    /// Which addresses may be endpoints.
    pub egress: Egress,
    pub calls: Arc<dyn EndpointClient>,
    /// Brings a delivery back when its next attempt is due.
    pub queue: Arc<dyn WebhookQueue>,
    /// The bus that receives `webhook.disabled`.
    pub events: Arc<dyn EventBus>,
    /// The ed25519 key that signs the messages of all webhooks.
    pub keys: SigningKeys,
    /// The permits that this process holds.
    pub held_permits: HeldPermits,
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
