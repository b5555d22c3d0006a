use cloud::config::{ConfigError, optional};
use domain::oauth::Resource;
use secrecy::SecretString;

use super::TrustedProxy;

/// Bytes.
const SHORTEST_SECRET: usize = 32;

impl TrustedProxy {
    /// Reads `TRUSTED_PROXY_HEADER` and `TRUSTED_PROXY_SECRET`: both or none.
    pub fn from_env() -> Result<Option<Self>, ConfigError> {
        match (optional("TRUSTED_PROXY_HEADER"), optional("TRUSTED_PROXY_SECRET")) {
            (None, None) => Ok(None),
            (Some(header), Some(secret)) => {
                let Ok(address_header) = header.to_ascii_lowercase().parse() else {
                    return invalid("TRUSTED_PROXY_HEADER", "must be the name of a header".to_owned());
                };
                let secret = parse_secret("TRUSTED_PROXY_SECRET", secret)?;
                Ok(Some(Self { address_header, secret, resource: Resource::Api }))
            }
            _ => invalid("TRUSTED_PROXY_SECRET", "goes with TRUSTED_PROXY_HEADER: set both, or none".to_owned()),
        }
    }

    /// Reads `MCP_SECRET`.
    pub fn mcp_from_env() -> Result<Option<Self>, ConfigError> {
        let Some(secret) = optional("MCP_SECRET") else { return Ok(None) };
        Ok(Some(Self::mcp(parse_secret("MCP_SECRET", secret)?)))
    }
}

fn parse_secret(name: &'static str, secret: String) -> Result<SecretString, ConfigError> {
    if secret.len() < SHORTEST_SECRET {
        return invalid(name, format!("must have at least {SHORTEST_SECRET} characters"));
    }
    Ok(secret.into())
}

fn invalid<T>(name: &'static str, reason: String) -> Result<T, ConfigError> {
    Err(ConfigError::Invalid { name, reason })
}
