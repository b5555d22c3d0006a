//! This function's environment variables.

use cloud::bucket::BucketSettings;
use cloud::settings::{SettingsError, json, optional, required};
use domain::media::MediaLimits;
use domain::plan::Plans;

/// This function's settings beside those of every function that speaks HTTP.
#[derive(Clone, Debug)]
pub struct Config {
    /// `MEDIA_BUCKET`; for object storage outside AWS also `MEDIA_ENDPOINT`,
    /// and `MEDIA_PUBLIC_ENDPOINT` where users reach it under another URL.
    pub bucket: BucketSettings,
    /// `MEDIA_LIMITS`: the largest files in bytes, as JSON.
    pub limits: MediaLimits,
    /// `PLANS`: the plans by name, as JSON.
    pub plans: Plans,
}

impl Config {
    /// Reads the settings.
    pub fn from_env() -> Result<Self, SettingsError> {
        Ok(Self {
            bucket: BucketSettings {
                name: required("MEDIA_BUCKET")?,
                endpoint: optional("MEDIA_ENDPOINT"),
                public_endpoint: optional("MEDIA_PUBLIC_ENDPOINT"),
            },
            limits: json("MEDIA_LIMITS")?,
            plans: json("PLANS")?,
        })
    }
}
