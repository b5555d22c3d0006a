use cloud::config::{ConfigError, at_least_one};

use super::RateLimits;

impl RateLimits {
    /// Reads `REQUESTS_PER_MINUTE`, `MEDIA_PER_MINUTE`, `CALLS_PER_USER` and
    /// `CALLS_PER_HOST`.
    pub fn from_env() -> Result<Self, ConfigError> {
        let default = Self::default();
        Ok(Self {
            requests_per_minute: at_least_one("REQUESTS_PER_MINUTE", default.requests_per_minute)?,
            media_per_minute: at_least_one("MEDIA_PER_MINUTE", default.media_per_minute)?,
            calls_per_user: at_least_one("CALLS_PER_USER", default.calls_per_user)?,
            calls_per_host: at_least_one("CALLS_PER_HOST", default.calls_per_host)?,
        })
    }
}
