//! What is checked, by what it is about.

pub mod connecting;
pub mod credentials;
pub mod intermediaries;
pub mod publishing;
pub mod recognition;
pub mod refusals;
pub mod troubles;
