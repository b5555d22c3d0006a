//! What all test programs share and what must exist before any of them is
//! compiled: programs from elsewhere, faults, and reports.

pub mod bluesky;
pub mod error;
pub mod functions;
pub mod program;
pub mod report;
pub mod schedule;
pub mod tools;
pub mod wordpress;

/// The folder of the whole project.
pub const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
