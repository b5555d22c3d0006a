//! Functions as Lambda runs them: the environment of the template, and a fake of the Runtime API
//! that sends them events.

mod environment;
mod function;
mod runtime_api;

pub use environment::{PREFIX, environment, every_platform, value};
pub use function::Function;
pub use runtime_api::Outcome;
