//! This function's environment variables, in addition to those of every HTTP function.

use cloud::bucket::BucketConfig;
use cloud::config::{ConfigError, json, optional};
use domain::media::{FileKey, MediaLimits};
use domain::plan::Plans;

#[derive(Clone, Debug)]
pub struct Config {
    pub bucket: BucketConfig,
    /// `MEDIA_LIMITS`: the largest files in bytes, as JSON.
    pub limits: MediaLimits,
    /// `PLANS`: the plans by name, as JSON.
    pub plans: Plans,
    /// `FILE_SECRET`: verifies the URLs of files that platforms fetch.
    pub file_key: Option<FileKey>,
}

impl Config {
    pub fn from_env() -> Result<Self, ConfigError> {
        Ok(Self {
            bucket: BucketConfig::from_env()?,
            limits: json("MEDIA_LIMITS")?,
            plans: json("PLANS")?,
            file_key: optional("FILE_SECRET")
                .map(|it| FileKey::new(&it))
                .transpose()
                .map_err(|it| ConfigError::Invalid { name: "FILE_SECRET", reason: it.to_string() })?,
        })
    }
}
