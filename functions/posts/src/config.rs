//! This function's environment variables, in addition to those of every function that publishes.

use cloud::config::{ConfigError, json};
use domain::budget::Budgets;

#[derive(Clone, Debug)]
pub struct Config {
    /// From `PLATFORMS` (JSON): what the posts of a user may cost.
    pub budgets: Budgets,
}

impl Config {
    pub fn from_env() -> Result<Self, ConfigError> {
        let budgets = platforms::budgets(&json("PLATFORMS")?);
        let invalid =
            |error: platforms::SetupError| ConfigError::Invalid { name: "PLATFORMS", reason: error.to_string() };
        Ok(Self { budgets: budgets.map_err(invalid)? })
    }
}
