use cloud::bucket::BucketSettings;
use cloud::settings::{SettingsError, optional, required};

#[derive(Clone, Debug)]
pub struct Config {
    /// `MEDIA_BUCKET`; for object storage outside AWS also `MEDIA_ENDPOINT`.
    pub bucket: BucketSettings,
}

impl Config {
    pub fn from_env() -> Result<Self, SettingsError> {
        // This function creates no links, so the endpoint for users is not needed.
        let (name, endpoint) = (required("MEDIA_BUCKET")?, optional("MEDIA_ENDPOINT"));
        Ok(Self { bucket: BucketSettings { name, endpoint, public_endpoint: None } })
    }
}
