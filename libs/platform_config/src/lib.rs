//! Which platforms a deployment has switched on, with what its operator keeps
//! for them: what every function that calls platforms has to know.

mod app_secret;
mod environment;

pub use environment::platforms;
