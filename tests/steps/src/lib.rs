//! Shared by all test programs, and built before any of them: installed tools, errors and reports.

pub mod bluesky;
pub mod error;
pub mod functions;
pub mod ghost;
pub mod program;
pub mod report;
pub mod schedule;
pub mod tools;
pub mod wordpress;

pub const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
