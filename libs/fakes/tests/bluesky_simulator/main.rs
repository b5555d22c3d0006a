//! The Bluesky fake rejects what Bluesky rejects.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic here is the failing assertion")]

mod authorization;
mod client;
mod identity;
mod passwords;
mod proofs;
mod records;
mod troubles;
mod videos;
