use api::{CommonLayers, RateLimits, TrustedProxy};
use cloud::config::{ConfigError, optional, required};
use domain::clock::Clock;

#[derive(Clone, Debug)]
pub struct Config {
    /// `ORIGIN`: where users reach the service.
    pub origin: String,
    /// `API_ORIGIN`: the gateway. Calls bypass the proxy in front of it, which would count them for the
    /// IP address of this function.
    pub api_origin: String,
    /// `MCP_SECRET`: proves to the API that this function forwarded the client's IP address.
    pub proof: TrustedProxy,
    pub front: CommonLayers,
    /// `ALLOWED_ORIGINS`: origins whose pages may call it, separated by commas.
    pub allowed_origins: Vec<String>,
}

impl Config {
    pub fn from_env() -> Result<Self, ConfigError> {
        let allowed = optional("ALLOWED_ORIGINS").unwrap_or_default();
        let origin = required("ORIGIN")?.trim_end_matches('/').to_owned();
        let front = CommonLayers {
            clock: Clock::System,
            is_encrypted: origin.starts_with("https://"),
            limits: RateLimits::from_env()?,
            proxies: TrustedProxy::from_env()?.into_iter().collect(),
        };
        Ok(Self {
            origin,
            api_origin: required("API_ORIGIN")?,
            proof: TrustedProxy::mcp_from_env()?.ok_or(ConfigError::Missing("MCP_SECRET"))?,
            front,
            allowed_origins: allowed.split(',').map(str::trim).filter(|it| !it.is_empty()).map(str::to_owned).collect(),
        })
    }
}
