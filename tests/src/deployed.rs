//! The template deployed on this machine: the real binaries on an emulator of AWS that enforces
//! their roles, with proxies and a platform around it.

mod artifacts;
pub mod callers;
pub mod connect_flows;
mod emulator;
mod passage;
pub mod privileges;
mod processes;
mod recorder;
pub mod scenes;
mod stack;

pub use stack::Stack;

/// The file in which `tests/blackbox` logs the store calls of the local stack's functions.
pub const LOG_OF_CALLS: &str = "target/tests/calls.jsonl";

/// Like `LOG_OF_CALLS`, for `platforms --only keyless`, where posts are found by comparing lists,
/// which the sandbox platform never needs.
pub const LOG_OF_RECOGNITION: &str = "target/tests/recognition.jsonl";

/// Like `LOG_OF_CALLS`, for `platforms --only several`, where posts have prices, unlike on the
/// sandbox platform.
pub const LOG_OF_PRICES: &str = "target/tests/prices.jsonl";
