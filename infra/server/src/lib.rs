//! The whole service in one process, on embedded stores: DynamoDB is dynoxide, S3 is s3s-fs, the queue
//! and the event bus are channels. The routers and the store code are those of a deployment.

pub mod backup;
mod clients;
mod config;
mod data_folder;
mod database;
pub mod doctor;
mod error;
mod events;
mod extensions;
mod health;
mod listener;
pub mod logs;
mod mail;
mod metrics;
mod moving;
mod pictures;
mod queue;
mod request_log;
mod restore;
mod s3;
mod sealing_key;
mod server;
mod settings;
mod sign_in_links;
mod sync;
mod timers;
mod unread;
mod webhook_queue;

pub use clients::{ACCESS_KEYS, Secret, access_key_for, config as client_config, function_for};
pub use config::{Config, Place, SettingError, read_variables};
pub use data_folder::DataFolder;
pub use database::{CONTENT_TYPE, DynamoResponse, InProcessDatabase, Stores};
pub use error::ServerError;
pub use events::LocalEvents;
pub use extensions::{Extensions, NoExtensions};
pub use listener::{Acceptor, Tls};
pub use metrics::Metrics;
pub use moving::{MoveError, Moved, Source, mark_stack_restored, move_to_stack};
pub use pictures::KEPT as DERIVED_KEPT;
pub use restore::{Restored, restore, restore_in_place};
pub use sealing_key::SealingKey;
pub use server::{Server, Started, with_addresses};
pub use settings::{AppSources, Data, Settings, SignIn};
pub use sign_in_links::LinkFolder;
