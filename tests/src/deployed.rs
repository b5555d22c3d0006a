//! The template deployed on this machine: the real binaries behind an emulator
//! of AWS that enforces their roles, and what stands around it.

mod artifacts;
mod emulator;
mod passage;
pub mod privileges;
mod processes;
mod recorder;
pub mod scenes;
mod stack;

pub use stack::Stack;

/// Where `tests/blackbox` leaves what the local stack's functions asked of
/// their stores.
pub const LOG_OF_CALLS: &str = "target/tests/calls.jsonl";

/// The same of `platforms --only keyless`, where posts are recognised by their
/// looks: the sandbox network needs none of that.
pub const LOG_OF_RECOGNITION: &str = "target/tests/recognition.jsonl";
