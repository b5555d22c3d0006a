//! The cloud that the service stands on: SDK clients, settings, the media
//! bucket, the queues, the event bus, measures, the audit trail, sealing of credentials, secrets
//! of operators, and fetching from users' URLs.

pub mod audit;
pub mod aws;
pub mod bucket;
mod error_chain;
pub mod events;
pub mod fetch;
pub mod metrics;
pub mod pictures;
pub mod queue;
mod sdk_http;
pub mod seal;
pub mod secrets;
pub mod settings;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod trust;
pub mod webhook_queue;
