//! This function's environment variables.

use cloud::settings::{SettingsError, required};

/// The settings of this function. Those of every HTTP function are read by [`api::Api::from_env`].
#[derive(Clone, Debug)]
pub struct Config {
    /// `KMS_KEY_ID`: the key that encrypts webhook secrets.
    pub kms_key_id: String,
    /// `EVENT_BUS`: the name of the bus that receives `webhook.disabled` events.
    pub event_bus: String,
    /// `WEBHOOK_QUEUE_URL`: the queue of webhook deliveries.
    pub queue_url: String,
}

impl Config {
    pub fn from_env() -> Result<Self, SettingsError> {
        Ok(Self {
            kms_key_id: required("KMS_KEY_ID")?,
            event_bus: required("EVENT_BUS")?,
            queue_url: required("WEBHOOK_QUEUE_URL")?,
        })
    }
}
