//! Endpoints that are told what happened.

use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::exposed;
use crate::Timestamp;

/// An endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Webhook {
    pub id: u64,
    /// Where messages are sent.
    pub url: String,
    /// What it is told of; empty is everything.
    pub events: Vec<String>,
    /// Whether it receives events.
    pub status: WebhookStatus,
    /// Whether it is told nothing.
    pub disabled: bool,
    /// Since when.
    #[serde(default)]
    pub disabled_at: Option<Timestamp>,
    /// `owner`, `gone` (it answered 410) or `failing` (for five days).
    #[serde(default)]
    pub disabled_reason: Option<String>,
    /// Since when every attempt has failed.
    #[serde(default)]
    pub failing_since: Option<Timestamp>,
    /// Until when the secret before the last rotation signs too; `None` when only the newest one signs.
    #[serde(default)]
    pub previous_secret_until: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// Whether an endpoint receives events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WebhookStatus {
    /// It receives nothing, not even tests.
    Disabled,
    /// It receives tests. A 2xx to one of them enables it.
    Unverified,
    /// It receives events.
    Enabled,
    /// A status that this version does not know.
    #[serde(untagged)]
    Other(String),
}

impl WebhookStatus {
    /// As the API writes it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Disabled => "disabled",
            Self::Unverified => "unverified",
            Self::Enabled => "enabled",
            Self::Other(status) => status,
        }
    }
}

/// An endpoint with its secret, which is shown this once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WebhookWithSecret {
    /// The endpoint.
    #[serde(flatten)]
    pub webhook: Webhook,
    /// What signatures are verified with: `whsec_…`.
    #[serde(serialize_with = "exposed")]
    pub secret: SecretString,
}

/// The endpoints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookList {
    pub data: Vec<Webhook>,
}

/// A new endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewWebhook {
    /// Where messages are sent: https, a public address.
    pub url: String,
    /// What it is told of; `None` is everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<String>>,
}

/// What changes; what is `None` stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookChanges {
    /// Another address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Replaces the whole list; empty is everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<String>>,
    /// Whether it is told nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disabled: Option<bool>,
}

/// The key with which the deployment signs, besides each endpoint's secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookKey {
    /// `whpk_…`
    pub public_key: String,
}

/// An event and what became of it at an endpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WebhookDelivery {
    /// The `webhook-id` that it is sent with, the same in every attempt.
    pub id: String,
    /// Like `post.published`.
    pub event: String,
    /// Where it stands.
    pub status: DeliveryStatus,
    /// When it happened.
    pub created_at: Timestamp,
    /// When it is tried next.
    #[serde(default)]
    pub next_attempt_at: Option<Timestamp>,
    /// The latest attempts, oldest first.
    pub attempts: Vec<WebhookAttempt>,
    /// The beginning of what was last answered.
    #[serde(default)]
    pub last_answer: Option<String>,
    /// What is sent.
    pub payload: Map<String, Value>,
}

/// Where a delivery stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryStatus {
    /// It is tried again.
    Waiting,
    /// The endpoint accepted it.
    Delivered,
    /// It is not tried any more.
    Failed,
    /// What a later version of the service says.
    #[serde(untagged)]
    Other(String),
}

impl DeliveryStatus {
    /// As the API writes it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Waiting => "waiting",
            Self::Delivered => "delivered",
            Self::Failed => "failed",
            Self::Other(it) => it,
        }
    }
}

/// An attempt to deliver an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookAttempt {
    pub at: Timestamp,
    /// The status that was answered.
    #[serde(default)]
    pub status: Option<u16>,
    /// Why there was no answer.
    #[serde(default)]
    pub error: Option<String>,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
}

/// The latest deliveries of a webhook.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WebhookDeliveryList {
    /// The newest first.
    pub data: Vec<WebhookDelivery>,
    /// Where the list goes on.
    pub meta: WebhookDeliveriesMeta,
}

/// Where a list of deliveries goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookDeliveriesMeta {
    /// What `before` says for the next ones; `None` at the end.
    #[serde(default)]
    pub next: Option<String>,
}
