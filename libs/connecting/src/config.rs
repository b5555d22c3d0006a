use std::sync::Arc;

use aws_config::SdkConfig;
use cloud::config::{ConfigError, TableConfig, required};
use cloud::events::EventBridge;
use cloud::seal::{Envelope, KmsKeys};
use domain::clock::Clock;
use domain::random::Random;
use storage::{DEFAULT_DUE_SHARDS, Store};

use crate::CredentialService;

impl CredentialService {
    /// Reads `KMS_KEY_ID`, `EVENT_BUS` and the variables of [`TableConfig::from_env`].
    pub fn from_env(aws: &SdkConfig) -> Result<Self, ConfigError> {
        let (clock, dynamodb) = (Clock::System, aws_sdk_dynamodb::Client::new(aws));
        let TableConfig { prefix, due_shards } = TableConfig::from_env(DEFAULT_DUE_SHARDS)?;
        let keys = KmsKeys::new(aws_sdk_kms::Client::new(aws), required("KMS_KEY_ID")?);
        Ok(Self {
            store: Store::new(dynamodb, prefix, due_shards, Random::Os),
            sealer: Envelope::new(keys, clock.clone()),
            events: Arc::new(EventBridge::new(aws, required("EVENT_BUS")?)),
            clock,
        })
    }
}
