//! Fakes for social platforms, as strict as the real ones, for tests.
//!
//! Each is made from the platform's documentation, knows nothing of the
//! service, and is met over HTTP on loopback.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic here is the failing assertion")]

pub mod all;
pub mod bluesky;
pub mod discord;
pub mod facebook;
pub mod fake;
pub mod instagram;
pub mod linkedin;
pub mod mastodon;
pub mod matrix;
pub mod meta;
pub mod pinterest;
pub mod slack;
pub mod telegram;
pub mod threads;
pub mod wordpress;
pub mod x;
