//! This function's environment variables.

use cloud::settings::{SettingsError, required};

/// This function's settings beside those of every function that publishes.
#[derive(Clone, Debug)]
pub struct Config {
    /// `PICTURES_QUEUE_URL`: the queue of those who make pictures fit.
    pub pictures_queue_url: String,
}

impl Config {
    /// Reads the settings.
    pub fn from_env() -> Result<Self, SettingsError> {
        Ok(Self { pictures_queue_url: required("PICTURES_QUEUE_URL")? })
    }
}
