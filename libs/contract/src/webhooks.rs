//! Webhook endpoints and their deliveries.

use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::exposed;
use crate::Timestamp;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Webhook {
    pub id: u64,
    /// The URL that receives messages.
    pub url: String,
    /// The events that it receives; empty means all.
    pub events: Vec<String>,
    pub status: WebhookStatus,
    /// Whether it receives nothing.
    pub disabled: bool,
    #[serde(default)]
    pub disabled_at: Option<Timestamp>,
    /// `owner`, `gone` (it returned 410) or `failing` (for five days).
    #[serde(default)]
    pub disabled_reason: Option<String>,
    /// Start of the current series of failed attempts; `None` after a success.
    #[serde(default)]
    pub failing_since: Option<Timestamp>,
    /// Until when the secret before the last rotation signs too; `None` when only the newest one
    /// signs.
    #[serde(default)]
    pub previous_secret_until: Option<Timestamp>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WebhookStatus {
    /// Receives nothing, not even tests.
    Disabled,
    /// Receives tests. A 2xx response to one of them enables it.
    Unverified,
    /// Receives events.
    Enabled,
    /// A status that this version does not know.
    #[serde(untagged)]
    Other(String),
}

impl WebhookStatus {
    /// The value in the API.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Disabled => "disabled",
            Self::Unverified => "unverified",
            Self::Enabled => "enabled",
            Self::Other(status) => status,
        }
    }
}

/// A webhook endpoint with its secret, which the API returns only once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WebhookWithSecret {
    #[serde(flatten)]
    pub webhook: Webhook,
    /// Verifies signatures: `whsec_…`.
    #[serde(serialize_with = "exposed")]
    pub secret: SecretString,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookList {
    pub data: Vec<Webhook>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewWebhook {
    /// An https URL with a public address.
    pub url: String,
    /// The events that it receives; `None` means all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<String>>,
}

/// Changes to a webhook endpoint; a field that is `None` stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookChanges {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Replaces the whole list; empty means all events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<String>>,
    /// Whether it receives nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disabled: Option<bool>,
}

/// The deployment's key, which signs each message in addition to the endpoint's secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookKey {
    /// `whpk_…`
    pub public_key: String,
}

/// One event on its way to one endpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WebhookDelivery {
    /// The header `webhook-id`, the same in every attempt.
    pub id: String,
    /// Such as `post.published`.
    pub event: String,
    pub status: DeliveryStatus,
    pub created_at: Timestamp,
    /// `None` when there is no further attempt.
    #[serde(default)]
    pub next_attempt_at: Option<Timestamp>,
    /// The latest attempts, oldest first.
    pub attempts: Vec<WebhookAttempt>,
    /// The beginning of the latest response body.
    #[serde(default)]
    pub last_answer: Option<String>,
    /// The body of the message.
    pub payload: Map<String, Value>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryStatus {
    /// There will be another attempt.
    Waiting,
    /// The endpoint accepted it.
    Delivered,
    /// There are no more attempts.
    Failed,
    /// A status that a later version of the service returns.
    #[serde(untagged)]
    Other(String),
}

impl DeliveryStatus {
    /// The value in the API.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Waiting => "waiting",
            Self::Delivered => "delivered",
            Self::Failed => "failed",
            Self::Other(it) => it,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookAttempt {
    pub at: Timestamp,
    /// The HTTP status; `None` if there was no response.
    #[serde(default)]
    pub status: Option<u16>,
    /// Why there was no response.
    #[serde(default)]
    pub error: Option<String>,
    pub took_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WebhookDeliveryList {
    /// Newest first.
    pub data: Vec<WebhookDelivery>,
    pub meta: WebhookDeliveriesMeta,
}

/// The position of a page in a list of deliveries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookDeliveriesMeta {
    /// The value of `before` for the next page; `None` on the last page.
    #[serde(default)]
    pub next: Option<String>,
}
