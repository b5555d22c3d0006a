//! Everything of the cloud except DynamoDB: SDK clients, configuration, the media bucket, queues, the
//! event bus, metrics, the audit trail, encryption of credentials, and operators' secrets. A function starts
//! with [`aws`].

pub mod audit;
pub mod aws;
#[cfg(feature = "bucket")]
pub mod bucket;
pub mod config;
mod error_chain;
#[cfg(feature = "events")]
pub mod events;
pub mod metrics;
#[cfg(feature = "pictures")]
pub mod pictures;
#[cfg(feature = "queues")]
pub mod queue;
mod sdk_http;
#[cfg(feature = "seal")]
pub mod seal;
#[cfg(feature = "secrets")]
pub mod secrets;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod timer;
mod trust;
#[cfg(feature = "queues")]
pub mod webhook_queue;
