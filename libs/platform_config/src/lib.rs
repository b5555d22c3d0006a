//! Which platforms a deployment has enabled, and their app credentials.

mod app_secret;
mod config;

pub use config::platforms;
