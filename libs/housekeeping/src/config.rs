use std::sync::Arc;

use aws_config::SdkConfig;
use cloud::bucket::{Bucket, BucketConfig};
use cloud::config::{ConfigError, json, required};
use cloud::events::EventBridge;
use connecting::CredentialService;
use domain::clock::Clock;
use storage::Store;

use crate::{Housekeeping, Outbox};

impl Housekeeping {
    /// Reads `MEDIA_LIMITS` (JSON) and the variables of [`BucketConfig::from_env`].
    pub fn from_env(aws: &SdkConfig, credentials: &CredentialService) -> Result<Self, ConfigError> {
        let CredentialService { store, sealer, clock, .. } = credentials.clone();
        let bucket = Bucket::new(aws, &BucketConfig::from_env()?);
        Ok(Self { store, bucket, sealer, clock, media_limits: json("MEDIA_LIMITS")? })
    }
}

impl Outbox {
    /// Reads `EVENT_BUS`.
    pub fn from_env(aws: &SdkConfig, store: Store) -> Result<Self, ConfigError> {
        let events = EventBridge::new(aws, required("EVENT_BUS")?);
        Ok(Self { store, events: Arc::new(events), clock: Clock::System })
    }
}
