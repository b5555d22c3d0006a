//! `cargo dev`: the server of one machine for development, with a sandbox as platform, fakes of all
//! platforms, and an issuer without passwords.

mod call_log;
mod database_port;
mod demo;
mod development;
mod erasure;
mod error;
mod events;
mod fakes;
mod hosts;
mod issuer;
mod meter;
mod options;
mod service;
mod stack;

pub use error::LocalError;
pub use options::Options;
pub use server::DERIVED_KEPT;
pub use service::{Running, StoreKeys, start};
