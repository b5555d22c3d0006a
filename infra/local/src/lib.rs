//! The whole service in one process, on embedded stores: DynamoDB is dynoxide, S3 is s3s-fs, the
//! queue and the event bus are channels, and the platform is the sandbox. The routers and the store
//! code are those of a deployment.

mod call_log;
mod clients;
mod deliveries;
mod demo;
mod dynamodb;
mod erasure;
mod error;
mod events;
mod fakes;
mod hosts;
mod issuer;
mod meter;
mod options;
mod pictures;
mod queue;
mod request_log;
mod s3;
pub mod sandbox;
mod sealing_key;
mod service;
mod stack;
mod timers;
mod unread;
mod webhook_queue;

pub use error::LocalError;
pub use options::Options;
pub use pictures::KEPT as DERIVED_KEPT;
pub use service::{Running, StoreKeys, start};
