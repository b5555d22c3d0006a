//! Functions as Lambda runs them: the environment that the template gives them,
//! and a fake of the Runtime API that hands them events.

mod environment;
mod function;
mod runtime_api;

pub use environment::{PREFIX, environment, value};
pub use function::Function;
pub use runtime_api::Outcome;
