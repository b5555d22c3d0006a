//! Responses of the webhook routes.

use chrono::{DateTime, Utc};
use domain::schedule::show;
use domain::webhook::{EventKind, WebhookDelivery, WebhookDeliveryStatus, WebhookSecret};
use serde::Serialize;
use serde_json::Value;
use storage::EndpointRecord;
use utoipa::ToSchema;

/// A webhook: a URL that receives events.
#[derive(Serialize, ToSchema)]
#[schema(as = Webhook)]
pub(crate) struct WebhookView {
    /// The id of the webhook.
    #[schema(example = 1_234_567_003)]
    id: u64,
    /// The URL that receives the events.
    #[schema(example = "https://example.com/webhooks")]
    url: String,
    /// The event types that are sent; empty means all events.
    #[schema(example = json!(["post.published", "post.failed"]))]
    events: Vec<&'static str>,
    /// `unverified` (it has not responded to a `webhook.test` with 2xx), `enabled` or `disabled`. Only an enabled
    /// webhook receives events.
    #[schema(example = "enabled")]
    status: &'static str,
    /// `true` if nothing is sent to the webhook.
    #[schema(example = false)]
    disabled: bool,
    /// When it was disabled; null if it is not.
    #[schema(format = DateTime)]
    disabled_at: Option<String>,
    /// `owner` (you or one of your apps disabled it), `gone` (it responded with 410) or `failing` (every attempt failed
    /// for five days); null if it is not disabled.
    #[schema(example = "failing")]
    disabled_reason: Option<&'static str>,
    /// When the current series of failed attempts began; null if the last attempt succeeded.
    #[schema(format = DateTime)]
    failing_since: Option<String>,
    /// When the previous secret stops signing; null if only the newest secret signs.
    #[schema(format = DateTime)]
    previous_secret_until: Option<String>,
    /// When the webhook was created.
    #[schema(format = DateTime, example = "2026-11-21T09:00:00.000Z")]
    created_at: String,
    /// When the webhook was last changed.
    #[schema(format = DateTime, example = "2026-11-21T09:00:00.000Z")]
    updated_at: String,
}

/// A webhook with its secret, which is shown only in this response.
#[derive(Serialize, ToSchema)]
#[schema(as = WebhookWithSecret)]
pub(crate) struct WithSecret {
    #[serde(flatten)]
    webhook: WebhookView,
    /// The secret that verifies signatures. It is not shown again.
    #[schema(example = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD")]
    secret: String,
}

/// One event that is sent to a webhook, with its attempts.
#[derive(Serialize, ToSchema)]
#[schema(as = WebhookDelivery)]
pub(crate) struct DeliveryView {
    /// The value of the `webhook-id` header, the same in every attempt.
    #[schema(example = "evt_2jmj7l5rSw0yVb_vlWAYkK_YBwk2jmj7l5rSw0yVb_v")]
    id: String,
    /// The type of the event.
    #[schema(example = "post.published")]
    event: &'static str,
    /// `waiting`, `delivered` or `failed`.
    #[schema(example = "delivered")]
    status: &'static str,
    /// When the event happened.
    #[schema(format = DateTime, example = "2026-11-21T09:30:00.000Z")]
    created_at: String,
    /// When the next attempt is made; null if no attempt follows.
    #[schema(format = DateTime)]
    next_attempt_at: Option<String>,
    /// The latest attempts, at most 20, oldest first.
    attempts: Vec<AttemptView>,
    /// The beginning of the last response body, at most 1,024 bytes; null if there is none.
    last_answer: Option<String>,
    /// The request body that the webhook receives.
    #[schema(value_type = BTreeMap<String, Value>)]
    payload: Value,
}

/// An attempt to deliver an event.
#[derive(Serialize, ToSchema)]
#[schema(as = WebhookAttempt)]
struct AttemptView {
    /// When the attempt began.
    #[schema(format = DateTime, example = "2026-11-21T09:30:00.000Z")]
    at: String,
    /// The HTTP status of the response; null if there was no response.
    #[schema(example = 204)]
    status: Option<u16>,
    /// Why there was no response; null if there was a response.
    error: Option<String>,
    /// The duration of the attempt in milliseconds.
    #[schema(example = 120)]
    took_ms: u64,
}

/// A user's webhooks.
#[derive(Serialize, ToSchema)]
pub(crate) struct WebhookList {
    /// Oldest first.
    pub(crate) data: Vec<WebhookView>,
}

/// A page of deliveries of a webhook.
#[derive(Serialize, ToSchema)]
pub(crate) struct WebhookDeliveryList {
    /// Newest first.
    pub(crate) data: Vec<DeliveryView>,
    /// The position of the next page.
    pub(crate) meta: DeliveriesMeta,
}

/// The position of the next page.
#[derive(Serialize, ToSchema)]
#[schema(as = WebhookDeliveriesMeta)]
pub(crate) struct DeliveriesMeta {
    /// The value of `before` for the next page; null on the last page.
    #[schema(example = "1795253400000-evt_2jmj7l5rSw0yVb_vlWAYkK_YBwk2jmj7l5rSw0yVb_v")]
    pub(crate) next: Option<String>,
}

/// The public half of the key that signs the messages of all webhooks.
#[derive(Serialize, ToSchema)]
pub(crate) struct WebhookKey {
    /// An ed25519 public key in base64. It verifies the signature that begins with `v1a`.
    #[schema(example = "whpk_nk1kFZbYIKOQKCRKMLVRrzQGfTi4o4VUjkOjCp0Hw6Y=")]
    pub(crate) public_key: String,
}

impl WebhookView {
    pub(crate) fn new(EndpointRecord { endpoint, secrets }: &EndpointRecord, now: DateTime<Utc>) -> Self {
        Self {
            id: endpoint.webhook_id.get(),
            url: endpoint.url.to_string(),
            events: endpoint.events.iter().copied().map(EventKind::as_str).collect(),
            status: endpoint.status().as_str(),
            disabled: endpoint.is_disabled(),
            disabled_at: endpoint.disabled_at.map(show),
            disabled_reason: endpoint.disabled_reason.map(domain::webhook::DisabledReason::as_str),
            failing_since: endpoint.failing_since.map(show),
            previous_secret_until: secrets.previous_expires_at(now).map(show),
            created_at: show(endpoint.created_at),
            updated_at: show(endpoint.updated_at),
        }
    }
}

impl WithSecret {
    pub(crate) fn new(record: &EndpointRecord, secret: &WebhookSecret, now: DateTime<Utc>) -> Self {
        Self { webhook: WebhookView::new(record, now), secret: secret.expose().to_owned() }
    }
}

impl From<&WebhookDelivery> for DeliveryView {
    fn from(delivery: &WebhookDelivery) -> Self {
        let attempts = delivery.attempts.iter().map(|it| AttemptView {
            at: show(it.at),
            status: it.status,
            error: it.error.clone(),
            took_ms: it.took_ms,
        });
        Self {
            id: delivery.message.id.to_string(),
            event: delivery.message.kind.as_str(),
            status: delivery.state.as_str(),
            created_at: show(delivery.created_at),
            next_attempt_at: (delivery.state == WebhookDeliveryStatus::Waiting).then(|| show(delivery.next_step_at)),
            attempts: attempts.collect(),
            last_answer: delivery.last_answer.clone(),
            payload: serde_json::from_str(&delivery.message.body).unwrap_or_default(),
        }
    }
}
