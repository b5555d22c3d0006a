use aws_config::SdkConfig;
use chrono::TimeDelta;
use cloud::config::{ConfigError, TableConfig, at_least_one, optional, required};
use domain::access_token::TokenLifetime;
use domain::clock::Clock;
use domain::id::Ids;
use domain::random::Random;
use storage::{DEFAULT_DUE_SHARDS, Store};
use url::Url;

use crate::{Api, RateLimits, TrustedProxy};

/// Default of `TOKEN_DAYS`: days after its last use until a token expires.
const TOKEN_DAYS: u32 = 180;

/// Default of `TOKEN_MAX_DAYS`: days after its creation until a token expires.
const TOKEN_MAX_DAYS: u32 = 400;

impl Api {
    /// Reads `ORIGIN`, `TOKEN_DAYS`, `TOKEN_MAX_DAYS`, `ALLOWED_ORIGINS` (comma list), and the
    /// variables of [`TableConfig::from_env`], [`RateLimits::from_env`],
    /// [`TrustedProxy::from_env`] and [`TrustedProxy::mcp_from_env`].
    pub fn from_env(aws: &SdkConfig) -> Result<Self, ConfigError> {
        let dynamodb = aws_sdk_dynamodb::Client::new(aws);
        let TableConfig { prefix, due_shards } = TableConfig::from_env(DEFAULT_DUE_SHARDS)?;
        let (clock, random) = (Clock::System, Random::Os);
        Ok(Self {
            store: Store::new(dynamodb, prefix, due_shards, random.clone()),
            ids: Ids::new(clock.clone(), random.clone()),
            clock,
            random,
            limits: RateLimits::from_env()?,
            origin: parse_origin(&required("ORIGIN")?)?,
            token_lifetime: TokenLifetime {
                unused: TimeDelta::days(at_least_one("TOKEN_DAYS", TOKEN_DAYS)?.into()),
                at_most: TimeDelta::days(at_least_one("TOKEN_MAX_DAYS", TOKEN_MAX_DAYS)?.into()),
            },
            allowed_origins: list(&optional("ALLOWED_ORIGINS").unwrap_or_default()),
            proxies: TrustedProxy::from_env()?.into_iter().chain(TrustedProxy::mcp_from_env()?).collect(),
        })
    }
}

/// Without a slash at the end.
pub fn parse_origin(raw: &str) -> Result<String, ConfigError> {
    let origin = raw.trim_end_matches('/');
    match Url::parse(raw) {
        Ok(url) if url.origin().ascii_serialization() == origin => Ok(origin.to_owned()),
        _ => Err(ConfigError::Invalid {
            name: "ORIGIN",
            reason: "must be a scheme, a host and nothing after it, such as https://social.example".to_owned(),
        }),
    }
}

fn list(raw: &str) -> Vec<String> {
    raw.split(',').map(str::trim).filter(|it| !it.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_has_nothing_after_its_host() {
        assert_eq!(parse_origin("https://social.example/").unwrap(), "https://social.example");
        assert_eq!(parse_origin("http://localhost:3000").unwrap(), "http://localhost:3000");
        for raw in ["social.example", "https://social.example/api", "https://Social.example?x", "file:///x", "null"] {
            assert!(parse_origin(raw).is_err(), "{raw}");
        }
    }

    #[test]
    fn a_list_is_separated_by_commas() {
        assert_eq!(list(" https://a.example ,,https://b.example"), ["https://a.example", "https://b.example"]);
        assert!(list("").is_empty());
    }
}
