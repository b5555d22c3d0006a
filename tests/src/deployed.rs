//! The template deployed on this machine: the real binaries on an emulator of
//! AWS that enforces their roles, with proxies and a platform around it.

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

/// The file in which `tests/blackbox` logs the calls that the local stack's
/// functions made to their stores.
pub const LOG_OF_CALLS: &str = "target/tests/calls.jsonl";

/// The same log of `platforms --only keyless`, where posts are recognised by
/// their looks, which the sandbox network never needs.
pub const LOG_OF_RECOGNITION: &str = "target/tests/recognition.jsonl";

/// The same log of `platforms --only several`, where posts have prices, which they do not
/// have on the sandbox network.
pub const LOG_OF_PRICES: &str = "target/tests/prices.jsonl";
