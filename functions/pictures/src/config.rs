use cloud::bucket::BucketConfig;
use cloud::config::{ConfigError, optional, required};

#[derive(Clone, Debug)]
pub struct Config {
    /// `MEDIA_BUCKET`; for object storage outside AWS also `MEDIA_ENDPOINT`.
    pub bucket: BucketConfig,
}

impl Config {
    pub fn from_env() -> Result<Self, ConfigError> {
        // This function creates no links, so the endpoint for users is not needed.
        let (name, endpoint) = (required("MEDIA_BUCKET")?, optional("MEDIA_ENDPOINT"));
        Ok(Self { bucket: BucketConfig { name, endpoint, public_endpoint: None } })
    }
}
