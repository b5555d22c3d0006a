use std::sync::Arc;

use aws_config::SdkConfig;
use cloud::bucket::{Bucket, BucketConfig};
use cloud::config::{ConfigError, TableConfig, parsed, required};
use cloud::pictures::SqsPictureQueue;
use cloud::queue::SqsQueue;
use connecting::CredentialService;
use domain::clock::Clock;
use domain::random::Random;
use scheduling::RollUps;
use storage::{DEFAULT_DUE_SHARDS, Store};

use crate::{ConcurrencyLimits, FileAddresses, HeldPermits, Planner, Publishing};

impl ConcurrencyLimits {
    /// Reads `DELIVERY_CONCURRENCY`.
    fn from_env() -> Result<Self, ConfigError> {
        Ok(Self { environments: parsed("DELIVERY_CONCURRENCY", Self::default().environments)? })
    }
}

impl Planner {
    /// Reads `QUEUE_URL`, `DELIVERY_CONCURRENCY` and the variables of [`TableConfig::from_env`].
    pub fn from_env(aws: &SdkConfig) -> Result<Self, ConfigError> {
        let (clock, dynamodb) = (Clock::System, aws_sdk_dynamodb::Client::new(aws));
        let TableConfig { prefix, due_shards } = TableConfig::from_env(DEFAULT_DUE_SHARDS)?;
        Ok(Self {
            store: Store::new(dynamodb, prefix, due_shards, Random::Os),
            queue: Arc::new(SqsQueue::new(aws_sdk_sqs::Client::new(aws), required("QUEUE_URL")?, clock.clone())),
            clock,
            concurrency_limits: ConcurrencyLimits::from_env()?,
        })
    }
}

impl Publishing {
    /// Reads `QUEUE_URL`, `PICTURES_QUEUE_URL`, `DELIVERY_CONCURRENCY`, and the variables of
    /// [`BucketConfig::from_env`] and [`CredentialService::from_env`].
    pub fn from_env(aws: &SdkConfig, file_addresses: Option<FileAddresses>) -> Result<Self, ConfigError> {
        let sqs = aws_sdk_sqs::Client::new(aws);
        let credentials = CredentialService::from_env(aws)?;
        let CredentialService { store, events, clock, .. } = credentials.clone();
        Ok(Self {
            queue: Arc::new(SqsQueue::new(sqs.clone(), required("QUEUE_URL")?, clock.clone())),
            roll_ups: RollUps::new(store.clone(), events, clock.clone()),
            store,
            bucket: Bucket::new(aws, &BucketConfig::from_env()?),
            pictures: Arc::new(SqsPictureQueue::new(sqs, required("PICTURES_QUEUE_URL")?)),
            file_addresses,
            credentials,
            clock,
            random: Random::Os,
            concurrency_limits: ConcurrencyLimits::from_env()?,
            held_permits: HeldPermits::new(Random::Os),
        })
    }
}
