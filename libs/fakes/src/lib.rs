//! Fakes of social platforms for tests, and the conformance suite that every adapter passes. What a
//! fake leaves out, its module says.
//!
//! Each fake is based on the platform's documentation, is independent of the
//! service, and listens for HTTP on loopback.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic here is the failing assertion")]

pub mod all;
pub mod bluesky;
pub mod conformance;
pub mod discord;
pub mod facebook;
pub mod fake;
pub mod ghost;
pub mod google;
pub mod google_business;
pub mod instagram;
pub mod linkedin;
pub mod mastodon;
pub mod matrix;
pub mod meta;
pub mod pinterest;
pub mod sandbox;
pub mod slack;
pub mod telegram;
pub mod threads;
pub mod tiktok;
pub mod wordpress;
pub mod x;
pub mod youtube;
