//! Everything of the cloud except DynamoDB: SDK clients, configuration, the media bucket, queues, the
//! event bus, metrics, the audit trail, encryption of credentials, and operators' secrets. A function starts
//! with [`aws`].

pub mod audit;
pub mod aws;
pub mod bucket;
pub mod config;
mod error_chain;
pub mod events;
pub mod metrics;
pub mod pictures;
pub mod queue;
mod sdk_http;
pub mod seal;
pub mod secrets;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod trust;
pub mod waiting;
pub mod webhook_queue;
