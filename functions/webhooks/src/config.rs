//! This function's environment variables.

use cloud::settings::{SettingsError, required};

/// This function's settings beside those of every function that speaks HTTP.
#[derive(Clone, Debug)]
pub struct Config {
    /// `KMS_KEY_ID`: the key that secrets are sealed under.
    pub kms_key_id: String,
    /// `EVENT_BUS`: the name of the bus on which it is told that an endpoint is
    /// disabled.
    pub event_bus: String,
    /// `WEBHOOK_QUEUE_URL`: the queue of notices.
    pub queue_url: String,
}

impl Config {
    /// Reads the settings.
    pub fn from_env() -> Result<Self, SettingsError> {
        Ok(Self {
            kms_key_id: required("KMS_KEY_ID")?,
            event_bus: required("EVENT_BUS")?,
            queue_url: required("WEBHOOK_QUEUE_URL")?,
        })
    }
}
