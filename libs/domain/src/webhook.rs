//! Webhooks: endpoints of users that receive their events, by the specification Standard Webhooks.
//!
//! A [`WebhookDelivery`] is one event for one [`WebhookEndpoint`], attempted by a schedule until
//! the endpoint accepts it. Source: standard-webhooks/standard-webhooks,
//! `spec/standard-webhooks.md` 1.0.0.

mod address;
mod delivery;
mod endpoint;
mod kind;
mod message;
mod response;
mod retry_schedule;
mod secret;
mod secrets;
mod signing_key;

pub use address::{EndpointUrl, InvalidUrl};
pub use delivery::{Attempt, KEPT_FOR, LEASE, MAX_WAITING, WebhookDelivery, WebhookDeliveryId, WebhookDeliveryStatus};
pub use endpoint::{Creator, DISABLED_AFTER, DisabledReason, EndpointStatus, MAX_ENDPOINTS, WebhookEndpoint};
pub use kind::EventKind;
pub use message::{MessageId, WebhookMessage};
pub use response::{EndpointResponse, SHOWN_BYTES, shown};
pub use retry_schedule::{CONNECT_TIME_OUT, PLANNED_AHEAD, TIME_OUT, TRIES};
pub use secret::WebhookSecret;
pub use secrets::{MAX_REPLACED, ROTATION, ReplacedSecret, WebhookSecrets};
pub use signing_key::SigningKey;
