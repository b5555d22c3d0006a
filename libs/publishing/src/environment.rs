//! What every function that publishes reads from its environment.

use aws_config::SdkConfig;
use cloud::bucket::{Bucket, BucketSettings};
use cloud::events::EventBridge;
use cloud::queue::SqsQueue;
use cloud::seal::{Envelope, KmsKeys};
use cloud::settings::{SettingsError, json, optional, parsed, required};
use domain::clock::Clock;
use domain::id::Ids;
use platforms::{AppSource, Registry, SandboxSettings, Withheld};
use std::sync::Arc;
use storage::{DEFAULT_DUE_SHARDS, Store};

use crate::app_secret::AppSecret;
use crate::{Publishing, RollUps};

impl Publishing {
    /// From `TABLE_PREFIX`, `DUE_SHARDS`, `MEDIA_BUCKET`, `MEDIA_ENDPOINT`,
    /// `MEDIA_LIMITS` (JSON), `KMS_KEY_ID`, `QUEUE_URL`, `EVENT_BUS`, `PLANS`
    /// (JSON). The platforms are those of [`registry`], or of
    /// [`registry_for_planning`] in a function that calls none.
    pub fn from_env(aws: &SdkConfig, platforms: Registry) -> Result<Self, SettingsError> {
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
            platforms,
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

/// The platforms of this deployment: the sandbox when `SANDBOX_URL` is set,
/// with our id and secret from the secret that `SANDBOX_SECRET` names.
pub fn registry(aws: &SdkConfig) -> Result<Registry, SettingsError> {
    platforms(|variable| Ok(Arc::new(AppSecret::new(aws, required(variable)?))))
}

/// The same platforms for a function that asks them how long they prepare, and
/// nothing else: it is told none of our secrets there.
pub fn registry_for_planning() -> Result<Registry, SettingsError> {
    platforms(|_| Ok(Arc::new(Withheld)))
}

/// `app` makes a source of credentials from the name of the variable that
/// names their secret.
fn platforms(
    app: impl Fn(&'static str) -> Result<Arc<dyn AppSource>, SettingsError>,
) -> Result<Registry, SettingsError> {
    let sandbox = match optional("SANDBOX_URL") {
        None => None,
        Some(base_url) => {
            Some(SandboxSettings { base_url: base_url.trim_end_matches('/').to_owned(), app: app("SANDBOX_SECRET")? })
        }
    };
    Ok(Registry::new(sandbox))
}
