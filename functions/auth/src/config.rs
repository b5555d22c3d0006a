//! This function's environment variables, in addition to those of every HTTP function.

use aws_config::SdkConfig;
use cloud::config::{ConfigError, optional, required};
use url::Url;

use crate::oidc::is_private;
use crate::{ClientSecret, OidcConfig, SignUp};

#[derive(Clone, Debug)]
pub struct Config {
    /// `OIDC_ISSUER`, `OIDC_DISCOVERY` when the issuer's discovery document is not under its own
    /// URL, `OIDC_CLIENT_ID`, and `OIDC_SECRET`, the name or ARN of the secret with our client
    /// secret, unless the client is a public one.
    pub oidc: OidcConfig,
    /// `SIGN_UP_ALLOWED`: e-mail addresses and domains, separated by commas; empty for everyone.
    pub sign_up: SignUp,
}

impl Config {
    pub fn from_env(aws: &SdkConfig) -> Result<Self, ConfigError> {
        Ok(Self {
            oidc: OidcConfig::from_env(|| optional("OIDC_SECRET").map(|it| ClientSecret::kept(aws, it)))?,
            sign_up: optional("SIGN_UP_ALLOWED").map_or(SignUp::Everyone, |it| SignUp::listed(&it)),
        })
    }
}

impl OidcConfig {
    pub fn from_env(client_secret: impl FnOnce() -> Option<ClientSecret>) -> Result<Self, ConfigError> {
        Ok(Self {
            issuer: address("OIDC_ISSUER", required("OIDC_ISSUER")?)?,
            discovery: optional("OIDC_DISCOVERY").map(|it| address("OIDC_DISCOVERY", it)).transpose()?,
            client_id: required("OIDC_CLIENT_ID")?,
            client_secret: client_secret(),
        })
    }
}

/// The issuer's URL. It needs TLS, because an attacker who changes its responses could sign in as any
/// user.
fn address(name: &'static str, raw: String) -> Result<String, ConfigError> {
    if Url::parse(&raw).is_ok_and(|it| is_private(&it)) {
        return Ok(raw);
    }
    let reason = "must be a URL with https; http only at a loopback address".to_owned();
    Err(ConfigError::Invalid { name, reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issuer_needs_https_or_loopback() {
        for raw in ["https://issuer.example/a", "http://localhost:3000/dev-issuer", "http://127.0.0.1:9"] {
            assert_eq!(address("OIDC_ISSUER", raw.to_owned()).unwrap(), raw);
        }
        for raw in ["http://issuer.example", "issuer.example", "ftp://localhost", "http://localhost.evil.example"] {
            let error = address("OIDC_ISSUER", raw.to_owned()).unwrap_err();
            assert!(error.to_string().contains("OIDC_ISSUER"), "{raw}: {error}");
        }
    }
}
