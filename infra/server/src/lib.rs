//! The whole service in one process, on embedded stores: DynamoDB is dynoxide, S3 is s3s-fs, the queue
//! and the event bus are channels. The routers and the store code are those of a deployment.

mod clients;
mod config;
mod database;
mod error;
mod events;
mod extensions;
mod pictures;
mod queue;
mod request_log;
mod s3;
mod sealing_key;
mod server;
mod settings;
mod timers;
mod unread;
mod webhook_queue;

pub use clients::{ACCESS_KEYS, Secret, access_key_for, config as client_config, function_for};
pub use config::Config;
pub use database::{CONTENT_TYPE, DynamoResponse, InProcessDatabase, Stores};
pub use error::ServerError;
pub use events::LocalEvents;
pub use extensions::{Extensions, NoExtensions};
pub use pictures::KEPT as DERIVED_KEPT;
pub use server::{Server, with_addresses};
pub use settings::{AppSources, Data, Settings};
