//! What is checked, by what it is about.

pub mod connecting;
pub mod credentials;
pub mod publishing;
pub mod recognition;
pub mod troubles;
