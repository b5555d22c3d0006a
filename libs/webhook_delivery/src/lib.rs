//! Delivery of events to webhook endpoints.
//!
//! `fan_out` turns an event from the bus into one webhook delivery for each endpoint that
//! subscribes to it. `send` makes the attempts until the endpoint accepts: the queue delays those
//! that are due soon, and `tick` finds all others. `take` handles the messages of the queue.

mod call_permits;
mod create_endpoint;
mod endpoint_client;
mod error;
mod fan_out;
mod queue;
mod record_response;
mod secrets;
mod send;
mod send_test;
mod signing_keys;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod tick;

use std::sync::Arc;

use cloud::events::EventBus;
use cloud::seal::Sealer;
use cloud::webhook_queue::WebhookQueue;
use domain::clock::Clock;
use domain::id::Ids;
use domain::random::Random;
use permits::HeldPermits;
use storage::Store;

pub use endpoint_client::{EndpointClient, HttpEndpointClient, Request, egress_clients};
pub use error::WebhooksError;
pub use queue::take;
pub use signing_keys::SigningKeys;

#[derive(Clone)]
pub struct WebhookService {
    pub store: Store,
    pub clock: Clock,
    pub random: Random,
    pub ids: Ids,
    pub sealer: Arc<dyn Sealer>,
    pub client: Arc<dyn EndpointClient>,
    pub queue: Arc<dyn WebhookQueue>,
    /// The bus that receives `webhook.disabled`.
    pub events: Arc<dyn EventBus>,
    /// ed25519. Signs the messages of all webhooks.
    pub keys: SigningKeys,
    pub held_permits: HeldPermits,
}
