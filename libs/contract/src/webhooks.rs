//! Webhook endpoints and their deliveries.

use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::exposed;
use crate::Timestamp;

/// A webhook: a URL that receives events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Webhook {
    /// The id of the webhook.
    #[schema(example = 1_234_567_003)]
    pub id: u64,
    /// The URL that receives the events.
    #[schema(example = "https://example.com/webhooks")]
    pub url: String,
    /// The profile whose events are sent; null if the events of all profiles are sent.
    #[schema(required)]
    pub profile_id: Option<u64>,
    /// The event types that are sent; empty means all events.
    #[schema(example = json!(["post.published", "post.failed"]))]
    pub events: Vec<String>,
    /// `unverified` (it has not responded to a `webhook.test` with 2xx), `enabled` or `disabled`. Only an enabled
    /// webhook receives events.
    #[schema(value_type = String, example = "enabled")]
    pub status: WebhookStatus,
    /// `true` if nothing is sent to the webhook.
    #[schema(example = false)]
    pub disabled: bool,
    /// When it was disabled; null if it is not.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub disabled_at: Option<Timestamp>,
    /// `owner` (you or one of your apps disabled it), `gone` (it responded with 410) or `failing` (every attempt failed
    /// for five days); null if it is not disabled.
    #[schema(example = "failing")]
    pub disabled_reason: Option<String>,
    /// When the current series of failed attempts began; null if the last attempt succeeded.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub failing_since: Option<Timestamp>,
    /// When the previous secret stops signing; null if only the newest secret signs.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub previous_secret_until: Option<Timestamp>,
    /// When the webhook was created.
    #[schema(value_type = String, format = DateTime, example = "2026-11-21T09:00:00.000Z")]
    pub created_at: Timestamp,
    /// When the webhook was last changed.
    #[schema(value_type = String, format = DateTime, example = "2026-11-21T09:00:00.000Z")]
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

/// A webhook with its secret, which is shown only in this response.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct WebhookWithSecret {
    #[serde(flatten)]
    pub webhook: Webhook,
    /// The secret that verifies signatures. It is not shown again.
    #[serde(serialize_with = "exposed")]
    #[schema(value_type = String, example = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD")]
    pub secret: SecretString,
}

/// A user's webhooks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookList {
    /// Oldest first.
    pub data: Vec<Webhook>,
}

/// A new webhook: which events are sent, and to which URL.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "url": "https://example.com/webhooks",
    "events": ["post.published", "post.failed"]
}))]
pub struct NewWebhook {
    /// An https URL that is reachable from the internet. It receives a POST for each event.
    #[schema(format = "uri", max_length = 2048)]
    pub url: String,
    /// The event types to send, each once. Omitted, `null` or empty means all events.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 11)]
    pub events: Option<Vec<String>>,
}

/// Fields to change. Omitted fields keep their value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({ "disabled": false }))]
pub struct WebhookChanges {
    /// A new URL. The webhook is `unverified` until it responds to a test with 2xx.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = "uri", max_length = 2048, nullable = false)]
    pub url: Option<String>,
    /// The event types to send, as the complete list; an empty list or `null` means all events.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 11)]
    pub events: Option<Vec<String>>,
    /// `true` stops all events. `false` enables the webhook again, even after it was disabled because of failures.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub disabled: Option<bool>,
}

/// The public half of the key that signs the messages of all webhooks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookKey {
    /// An ed25519 public key in base64. It verifies the signature that begins with `v1a`.
    #[schema(example = "whpk_nk1kFZbYIKOQKCRKMLVRrzQGfTi4o4VUjkOjCp0Hw6Y=")]
    pub public_key: String,
}

/// One event that is sent to a webhook, with its attempts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WebhookDelivery {
    /// The value of the `webhook-id` header, the same in every attempt.
    #[schema(example = "evt_2jmj7l5rSw0yVb_vlWAYkK_YBwk2jmj7l5rSw0yVb_v")]
    pub id: String,
    /// The type of the event.
    #[schema(example = "post.published")]
    pub event: String,
    /// `waiting`, `delivered` or `failed`.
    #[schema(value_type = String, example = "delivered")]
    pub status: DeliveryStatus,
    /// When the event happened.
    #[schema(value_type = String, format = DateTime, example = "2026-11-21T09:30:00.000Z")]
    pub created_at: Timestamp,
    /// When the next attempt is made; null if no attempt follows.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub next_attempt_at: Option<Timestamp>,
    /// The latest attempts, at most 20, oldest first.
    pub attempts: Vec<WebhookAttempt>,
    /// The beginning of the last response body, at most 1,024 bytes; null if there is none.
    pub last_answer: Option<String>,
    /// The request body that the webhook receives.
    #[schema(value_type = BTreeMap<String, Value>)]
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

/// An attempt to deliver an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookAttempt {
    /// When the attempt began.
    #[schema(value_type = String, format = DateTime, example = "2026-11-21T09:30:00.000Z")]
    pub at: Timestamp,
    /// The HTTP status of the response; null if there was no response.
    #[schema(example = 204)]
    pub status: Option<u16>,
    /// Why there was no response; null if there was a response.
    pub error: Option<String>,
    /// The duration of the attempt in milliseconds.
    #[schema(example = 120)]
    pub took_ms: u64,
}

/// A page of deliveries of a webhook.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WebhookDeliveryList {
    /// Newest first.
    pub data: Vec<WebhookDelivery>,
    /// The position of the next page.
    pub meta: WebhookDeliveriesMeta,
}

/// The position of the next page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookDeliveriesMeta {
    /// The value of `before` for the next page; null on the last page.
    #[schema(example = "1795253400000-evt_2jmj7l5rSw0yVb_vlWAYkK_YBwk2jmj7l5rSw0yVb_v")]
    pub next: Option<String>,
}
