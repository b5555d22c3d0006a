//! The environment variables of every function that publishes.

use std::sync::Arc;

use aws_config::SdkConfig;
use cloud::bucket::{Bucket, BucketConfig};
use cloud::config::{ConfigError, json, optional, parsed, required};
use cloud::events::EventBridge;
use cloud::pictures::NoPictureQueue;
use cloud::queue::SqsQueue;
use cloud::seal::{Envelope, KmsKeys};
use domain::budget::Budgets;
use domain::clock::Clock;
use domain::id::Ids;
use domain::random::Random;
use platforms::LeadTimesByPlatform;
use storage::{DEFAULT_DUE_SHARDS, Store};

use crate::{ConcurrencyLimits, HeldPermits, Publishing, RollUpLimiter};

impl Publishing {
    /// Reads `TABLE_PREFIX`, `DUE_SHARDS`, `MEDIA_BUCKET`, `MEDIA_ENDPOINT`, `MEDIA_LIMITS` (JSON),
    /// `KMS_KEY_ID`, `QUEUE_URL`, `EVENT_BUS`, `PLANS` (JSON) and `DELIVERY_CONCURRENCY`. Only the
    /// delivery function sets `pictures` and `file_addresses`, and only the posts function sets
    /// `budgets`.
    pub fn from_env(aws: &SdkConfig) -> Result<Self, ConfigError> {
        let (clock, random) = (Clock::System, Random::Os);
        let bucket = BucketConfig {
            name: required("MEDIA_BUCKET")?,
            endpoint: optional("MEDIA_ENDPOINT"),
            public_endpoint: optional("MEDIA_PUBLIC_ENDPOINT"),
        };
        let keys = KmsKeys::new(aws_sdk_kms::Client::new(aws), required("KMS_KEY_ID")?);
        Ok(Self {
            store: Store::new(
                aws_sdk_dynamodb::Client::new(aws),
                required("TABLE_PREFIX")?,
                parsed("DUE_SHARDS", DEFAULT_DUE_SHARDS)?,
                random.clone(),
            ),
            leads: LeadTimesByPlatform::default(),
            vocabulary: platforms::vocabulary(),
            bucket: Bucket::new(aws, &bucket),
            pictures: Arc::new(NoPictureQueue),
            file_addresses: None,
            sealer: Envelope::new(keys, clock.clone()),
            queue: Arc::new(SqsQueue::new(aws_sdk_sqs::Client::new(aws), required("QUEUE_URL")?, clock.clone())),
            events: Arc::new(EventBridge::new(aws_sdk_eventbridge::Client::new(aws), required("EVENT_BUS")?)),
            ids: Ids::new(clock.clone(), random.clone()),
            clock,
            media_limits: json("MEDIA_LIMITS")?,
            plans: json("PLANS")?,
            budgets: Budgets::default(),
            roll_ups: RollUpLimiter::default(),
            concurrency_limits: ConcurrencyLimits {
                environments: parsed("DELIVERY_CONCURRENCY", ConcurrencyLimits::default().environments)?,
            },
            held_permits: HeldPermits::new(random.clone()),
            random,
        })
    }
}
