//! This function's environment variables, in addition to those of every HTTP function.

use cloud::config::{ConfigError, json, parsed, required};
use domain::plan::Plans;

use crate::Guests;

#[derive(Clone, Debug)]
pub struct Config {
    /// `KMS_KEY_ID`: the key that credentials are sealed under.
    pub kms_key_id: String,
    /// `EVENT_BUS`: the name of the bus that events of connections are put on.
    pub event_bus: String,
    /// `PLANS`: the plans by name, as JSON.
    pub plans: Plans,
    /// `GUEST_HAND_OFFS`: `true` if unauthenticated visitors may connect their accounts for a user
    /// who sends them the link.
    pub guests: Guests,
}

impl Config {
    pub fn from_env() -> Result<Self, ConfigError> {
        Ok(Self {
            kms_key_id: required("KMS_KEY_ID")?,
            event_bus: required("EVENT_BUS")?,
            plans: json("PLANS")?,
            guests: if parsed("GUEST_HAND_OFFS", false)? { Guests::Permitted } else { Guests::Denied },
        })
    }
}
