//! Posts in a deployment that delivers them, with a scripted platform.

#![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

mod attachments;
mod budget;
mod change_post;
mod create_post;
mod roll_up;
mod upload_quota;
