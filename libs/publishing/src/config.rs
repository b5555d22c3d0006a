//! The environment variables of the functions that plan and make deliveries.

use std::sync::Arc;

use aws_config::SdkConfig;
use cloud::bucket::{Bucket, BucketConfig};
use cloud::config::{ConfigError, parsed, required};
use cloud::events::EventBridge;
use cloud::pictures::Pictures;
use cloud::queue::SqsQueue;
use cloud::seal::{Envelope, KmsKeys};
use domain::clock::Clock;
use domain::random::Random;
use scheduling::RollUps;
use storage::{DEFAULT_DUE_SHARDS, Store};

use crate::{ConcurrencyLimits, CredentialService, FileAddresses, HeldPermits, Planner, Publishing};

/// Reads `TABLE_PREFIX` and `DUE_SHARDS`.
pub fn store_from_env(aws: &SdkConfig) -> Result<Store, ConfigError> {
    let dynamodb = aws_sdk_dynamodb::Client::new(aws);
    Ok(Store::new(dynamodb, required("TABLE_PREFIX")?, parsed("DUE_SHARDS", DEFAULT_DUE_SHARDS)?, Random::Os))
}

impl ConcurrencyLimits {
    /// Reads `DELIVERY_CONCURRENCY`.
    fn from_env() -> Result<Self, ConfigError> {
        Ok(Self { environments: parsed("DELIVERY_CONCURRENCY", Self::default().environments)? })
    }
}

impl CredentialService {
    /// Reads `KMS_KEY_ID` and `EVENT_BUS`.
    pub fn from_env(aws: &SdkConfig, store: Store) -> Result<Self, ConfigError> {
        let clock = Clock::System;
        let keys = KmsKeys::new(aws_sdk_kms::Client::new(aws), required("KMS_KEY_ID")?);
        Ok(Self {
            store,
            sealer: Envelope::new(keys, clock.clone()),
            events: Arc::new(EventBridge::new(aws_sdk_eventbridge::Client::new(aws), required("EVENT_BUS")?)),
            clock,
        })
    }
}

impl Planner {
    /// Reads `QUEUE_URL` and `DELIVERY_CONCURRENCY`.
    pub fn from_env(aws: &SdkConfig, store: Store) -> Result<Self, ConfigError> {
        let clock = Clock::System;
        Ok(Self {
            store,
            queue: Arc::new(SqsQueue::new(aws_sdk_sqs::Client::new(aws), required("QUEUE_URL")?, clock.clone())),
            clock,
            concurrency_limits: ConcurrencyLimits::from_env()?,
        })
    }
}

impl Publishing {
    /// Reads the variables of [`store_from_env`], [`BucketConfig::from_env`],
    /// [`CredentialService::from_env`] and [`Planner::from_env`].
    pub fn from_env(
        aws: &SdkConfig,
        pictures: Arc<dyn Pictures>,
        file_addresses: Option<FileAddresses>,
    ) -> Result<Self, ConfigError> {
        let credentials = CredentialService::from_env(aws, store_from_env(aws)?)?;
        let CredentialService { store, events, .. } = credentials.clone();
        let Planner { store, queue, clock, concurrency_limits } = Planner::from_env(aws, store)?;
        Ok(Self {
            roll_ups: RollUps::new(store.clone(), events, clock.clone()),
            store,
            bucket: Bucket::new(aws, &BucketConfig::from_env()?),
            pictures,
            file_addresses,
            credentials,
            queue,
            clock,
            random: Random::Os,
            concurrency_limits,
            held_permits: HeldPermits::new(Random::Os),
        })
    }
}
