//! Behavior of one adapter each that the conformance suite does not cover.
#![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

mod bluesky;
mod discord;
mod discord_bot;
mod facebook;
mod ghost;
mod google_business;
mod instagram;
mod linkedin;
mod mastodon;
mod matrix;
mod pinterest;
mod prelude;
mod slack;
mod telegram;
mod threads;
mod tiktok;
mod wordpress;
mod x;
mod youtube;
