//! This function's environment variables.

use cloud::settings::{SettingsError, json, optional, required};
use domain::plan::Plans;
use platforms::SandboxSettings;

/// This function's settings beside those of every function that speaks HTTP.
#[derive(Clone, Debug)]
pub struct Config {
    /// `KMS_KEY_ID`: the key that credentials are sealed under.
    pub kms_key_id: String,
    /// `EVENT_BUS`: the name of the bus that is told of connections.
    pub event_bus: String,
    /// `PLANS`: plans by name, as JSON.
    pub plans: Plans,
    /// `SANDBOX_URL`, `SANDBOX_CLIENT_ID`, `SANDBOX_CLIENT_SECRET`: the sandbox
    /// network, where the deployment has one.
    pub sandbox: Option<SandboxSettings>,
}

impl Config {
    /// Reads them.
    pub fn from_env() -> Result<Self, SettingsError> {
        Ok(Self {
            kms_key_id: required("KMS_KEY_ID")?,
            event_bus: required("EVENT_BUS")?,
            plans: json("PLANS")?,
            sandbox: sandbox()?,
        })
    }
}

fn sandbox() -> Result<Option<SandboxSettings>, SettingsError> {
    let Some(base_url) = optional("SANDBOX_URL") else { return Ok(None) };
    Ok(Some(SandboxSettings {
        base_url: base_url.trim_end_matches('/').to_owned(),
        client_id: required("SANDBOX_CLIENT_ID")?,
        client_secret: required("SANDBOX_CLIENT_SECRET")?.into(),
    }))
}
