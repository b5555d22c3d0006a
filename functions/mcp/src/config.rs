//! This function's environment variables.

use cloud::mcp_proof::McpProof;
use cloud::settings::{SettingsError, optional, required};

/// This function's settings.
#[derive(Clone, Debug)]
pub struct Config {
    /// `ORIGIN`: where the service is.
    pub origin: String,
    /// `ALLOWED_ORIGINS`: origins whose pages may call it, separated by commas.
    pub allowed_origins: Vec<String>,
    /// `MCP_SECRET`: what shows the API that a call comes from here.
    pub proof: McpProof,
}

impl Config {
    /// Reads the settings. The error names a variable that is missing.
    pub fn from_env() -> Result<Self, SettingsError> {
        let allowed = optional("ALLOWED_ORIGINS").unwrap_or_default();
        Ok(Self {
            origin: required("ORIGIN")?.trim_end_matches('/').to_owned(),
            proof: McpProof::from_env("MCP_SECRET")?,
            allowed_origins: allowed.split(',').map(str::trim).filter(|it| !it.is_empty()).map(str::to_owned).collect(),
        })
    }
}
