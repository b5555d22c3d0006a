use std::sync::Arc;

use aws_config::SdkConfig;
use cloud::bucket::{Bucket, BucketConfig};
use cloud::config::{ConfigError, json, required};
use cloud::events::EventBridge;
use cloud::pictures::SqsPictureQueue;
use cloud::queue::SqsQueue;
use domain::clock::Clock;
use domain::id::Ids;
use domain::random::Random;
use platforms::{LeadTimesByPlatform, SetupError};
use storage::Store;

use crate::{PostRules, RollUps, Scheduling};

impl Scheduling {
    /// Reads `EVENT_BUS`, `QUEUE_URL`, `PICTURES_QUEUE_URL`, the variables of
    /// [`BucketConfig::from_env`] and those of [`PostRules::from_env`].
    pub fn from_env(aws: &SdkConfig, store: Store) -> Result<Self, ConfigError> {
        let (clock, random, sqs) = (Clock::System, Random::Os, aws_sdk_sqs::Client::new(aws));
        let events = Arc::new(EventBridge::new(aws, required("EVENT_BUS")?));
        Ok(Self {
            roll_ups: RollUps::new(store.clone(), events.clone(), clock.clone()),
            store,
            bucket: Bucket::new(aws, &BucketConfig::from_env()?),
            pictures: Arc::new(SqsPictureQueue::new(sqs.clone(), required("PICTURES_QUEUE_URL")?)),
            queue: Arc::new(SqsQueue::new(sqs, required("QUEUE_URL")?, clock.clone())),
            events,
            ids: Ids::new(clock.clone(), random.clone()),
            clock,
            random,
            rules: PostRules::from_env()?,
        })
    }
}

impl PostRules {
    /// Reads `MEDIA_LIMITS`, `PLANS` and `PLATFORMS` (each JSON).
    fn from_env() -> Result<Self, ConfigError> {
        let invalid = |error: SetupError| ConfigError::Invalid { name: "PLATFORMS", reason: error.to_string() };
        Ok(Self {
            leads: LeadTimesByPlatform::default(),
            vocabulary: platforms::vocabulary(),
            media_limits: json("MEDIA_LIMITS")?,
            plans: json("PLANS")?,
            budgets: platforms::budgets(&json("PLATFORMS")?).map_err(invalid)?,
        })
    }
}
