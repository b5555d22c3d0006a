//! What every function that publishes reads from its environment.

use aws_config::SdkConfig;
use cloud::bucket::{Bucket, BucketSettings};
use cloud::events::EventBridge;
use cloud::queue::SqsQueue;
use cloud::seal::{Envelope, KmsKeys};
use cloud::settings::{SettingsError, json, optional, parsed, required};
use domain::clock::Clock;
use domain::id::Ids;
use outbound::AddressPolicy;
use platforms::{AppSource, Leads, Part, Registry, Setup, Vault};
use std::sync::Arc;
use storage::{DEFAULT_DUE_SHARDS, Store};

use crate::app_secret::AppSecret;
use crate::{Publishing, RollUps};

impl Publishing {
    /// From `TABLE_PREFIX`, `DUE_SHARDS`, `MEDIA_BUCKET`, `MEDIA_ENDPOINT`,
    /// `MEDIA_LIMITS` (JSON), `KMS_KEY_ID`, `QUEUE_URL`, `EVENT_BUS`, `PLANS`
    /// (JSON).
    pub fn from_env(aws: &SdkConfig) -> Result<Self, SettingsError> {
        let clock = Clock::System;
        let bucket = BucketSettings {
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
            ),
            leads: Leads::default(),
            bucket: Bucket::new(aws, &bucket),
            sealer: Envelope::new(keys, clock.clone()),
            queue: Arc::new(SqsQueue::new(aws_sdk_sqs::Client::new(aws), required("QUEUE_URL")?, clock.clone())),
            events: Arc::new(EventBridge::new(aws_sdk_eventbridge::Client::new(aws), required("EVENT_BUS")?)),
            ids: Ids::new(clock.clone()),
            clock,
            media_limits: json("MEDIA_LIMITS")?,
            plans: json("PLANS")?,
            roll_ups: RollUps::default(),
        })
    }
}

/// The platforms that `PLATFORMS` (JSON) switches on. Our id and secret at one,
/// where an operator has to get them, are in the secret whose name is
/// `PLATFORM_SECRETS`, a slash and the platform's name.
pub fn registry<P: Part + ?Sized>(aws: &SdkConfig, vault: Arc<dyn Vault>) -> Result<Registry<P>, SettingsError> {
    let (aws, secrets) = (aws.clone(), required("PLATFORM_SECRETS")?);
    let app = move |name: &str| -> Arc<dyn AppSource> { Arc::new(AppSecret::new(&aws, format!("{secrets}/{name}"))) };
    let setup = Setup::new(json("PLATFORMS")?, app, vault, AddressPolicy::PublicOnly);
    Registry::new(&setup).map_err(|error| SettingsError::Invalid { name: "PLATFORMS", reason: error.to_string() })
}
