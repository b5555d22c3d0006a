//! This function's environment variables, in addition to those of every HTTP function.

use cloud::config::{ConfigError, json, optional, parsed, required};
use domain::plan::Plans;

use crate::{ConnectLinkSettings, Guests, ReturnOrigins};

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
    /// `BRAND` and `RETURN_ORIGINS`.
    pub connect_links: ConnectLinkSettings,
}

impl ConnectLinkSettings {
    /// Reads `BRAND` (JSON) and `RETURN_ORIGINS` (comma list).
    pub fn from_env() -> Result<Self, ConfigError> {
        let origins = optional("RETURN_ORIGINS").unwrap_or_default();
        let return_origins = ReturnOrigins::parse(&origins)
            .map_err(|error| ConfigError::Invalid { name: "RETURN_ORIGINS", reason: error.to_string() })?;
        Ok(Self { brand: json("BRAND")?, return_origins })
    }
}

impl Config {
    pub fn from_env() -> Result<Self, ConfigError> {
        Ok(Self {
            kms_key_id: required("KMS_KEY_ID")?,
            event_bus: required("EVENT_BUS")?,
            plans: json("PLANS")?,
            guests: if parsed("GUEST_HAND_OFFS", false)? { Guests::Permitted } else { Guests::Denied },
            connect_links: ConnectLinkSettings::from_env()?,
        })
    }
}
