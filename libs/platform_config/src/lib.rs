//! Which platforms a deployment has enabled, and their app credentials. Used by every function
//! that calls platforms.

mod app_secret;
mod config;

pub use config::platforms;
