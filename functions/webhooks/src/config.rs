//! This function's environment variables, in addition to those of every HTTP function.

use cloud::config::{ConfigError, required};

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
    pub fn from_env() -> Result<Self, ConfigError> {
        Ok(Self {
            kms_key_id: required("KMS_KEY_ID")?,
            event_bus: required("EVENT_BUS")?,
            queue_url: required("WEBHOOK_QUEUE_URL")?,
        })
    }
}
