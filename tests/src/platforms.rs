//! Real platforms, and fakes of them, connected to a running service.

pub mod bluesky;
pub mod conformance;
pub mod connecting;
pub mod ghost;
pub mod mastodon;
pub mod matrix;
mod on_server;
pub mod real;
pub mod scenes;
pub mod several;
pub mod wordpress;
