//! The checks, by subject.

pub mod connecting;
pub mod credentials;
pub mod intermediaries;
pub mod publishing;
pub mod recognition;
pub mod refusals;
pub mod threads;
pub mod troubles;
