//! Webhooks: users' endpoints. Clients manage them with the routes below, users with
//! `webhooks_page`. The crate `webhook_delivery` sends events to them.

mod change_webhook;
pub mod config;
mod create_form;
mod create_webhook;
mod delete_webhook;
mod error;
mod invocation;
mod list_deliveries;
mod list_webhooks;
mod redeliver;
mod request;
mod response;
mod rotate_secret;
mod show_key;
mod show_webhook;
mod test_webhook;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod webhooks_forms;
mod webhooks_page;

use api::Api;
use axum::Router;
use axum::extract::FromRef;
use axum::routing::get;
use egress::Egress;
use webhook_delivery::WebhookService;

pub use invocation::Invocation;

#[derive(Clone)]
pub struct App {
    pub api: Api,
    /// Decides which addresses may be endpoints.
    pub egress: Egress,
    pub webhooks: WebhookService,
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

/// To be completed by [`api::finish`].
pub fn router(app: App) -> Router {
    routes()
        .route("/account/webhooks", get(webhooks_page::show_webhooks).post(webhooks_forms::act_on_webhook))
        .route("/account/webhooks/new", get(create_form::show_new_webhook).post(create_form::submit_new_webhook))
        .with_state(app)
}
