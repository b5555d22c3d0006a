//! Everything of the cloud except DynamoDB: SDK clients, settings, the media bucket, queues, the
//! event bus, metrics, the audit trail, encryption of credentials, and operators' secrets. A function starts
//! with [`aws`].

pub mod audit;
pub mod aws;
pub mod bucket;
mod error_chain;
pub mod events;
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
