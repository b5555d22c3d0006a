//! This function's environment variables.

use cloud::bucket::BucketSettings;
use cloud::settings::{SettingsError, optional, required};

/// This function's settings.
#[derive(Clone, Debug)]
pub struct Config {
    /// `MEDIA_BUCKET`; for object storage outside AWS also `MEDIA_ENDPOINT`.
    pub bucket: BucketSettings,
}

impl Config {
    /// Reads the settings.
    pub fn from_env() -> Result<Self, SettingsError> {
        // Nobody is given a link here, so users' own address is not needed.
        let (name, endpoint) = (required("MEDIA_BUCKET")?, optional("MEDIA_ENDPOINT"));
        Ok(Self { bucket: BucketSettings { name, endpoint, public_endpoint: None } })
    }
}
