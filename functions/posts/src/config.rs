use cloud::settings::{SettingsError, json};
use domain::budget::Budgets;

/// The settings of this function, next to those of every function that publishes.
#[derive(Clone, Debug)]
pub struct Config {
    /// From `PLATFORMS` (JSON): what the posts of a user may cost.
    pub budgets: Budgets,
}

impl Config {
    pub fn from_env() -> Result<Self, SettingsError> {
        let budgets = platforms::budgets(&json("PLATFORMS")?);
        let invalid =
            |error: platforms::SetupError| SettingsError::Invalid { name: "PLATFORMS", reason: error.to_string() };
        Ok(Self { budgets: budgets.map_err(invalid)? })
    }
}
