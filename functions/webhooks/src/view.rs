//! Endpoints and notices as clients see them.

use chrono::{DateTime, Utc};
use domain::schedule::show;
use domain::webhook::{EventKind, WebhookDelivery, WebhookDeliveryStatus, WebhookSecret};
use serde::Serialize;
use serde_json::Value;
use storage::EndpointRecord;
use utoipa::ToSchema;

/// An endpoint.
#[derive(Serialize, ToSchema)]
#[schema(as = Webhook)]
pub(crate) struct WebhookView {
    /// The id of the webhook.
    #[schema(example = 1_234_567_003)]
    id: u64,
    /// The URL that receives the events.
    #[schema(example = "https://example.com/webhooks")]
    url: String,
    /// What it is told of; empty is everything.
    #[schema(example = json!(["post.published", "post.failed"]))]
    events: Vec<&'static str>,
    /// `unverified` (it has not answered a `webhook.test` with 2xx), `enabled` or `disabled`. Only an enabled webhook
    /// receives events.
    #[schema(example = "enabled")]
    status: &'static str,
    /// Whether it is told nothing.
    #[schema(example = false)]
    disabled: bool,
    /// Since when.
    #[schema(format = DateTime)]
    disabled_at: Option<String>,
    /// `owner`, `gone` (it answered 410) or `failing` (for five days).
    #[schema(example = "failing")]
    disabled_reason: Option<&'static str>,
    /// Since when every attempt has failed.
    #[schema(format = DateTime)]
    failing_since: Option<String>,
    /// Until when the secret before the last rotation signs too; null when only the newest one signs.
    #[schema(format = DateTime)]
    previous_secret_until: Option<String>,
    /// When the webhook was created.
    #[schema(format = DateTime, example = "2026-11-21T09:00:00.000Z")]
    created_at: String,
    /// When the webhook was last changed.
    #[schema(format = DateTime, example = "2026-11-21T09:00:00.000Z")]
    updated_at: String,
}

/// An endpoint with its secret, which is shown this once.
#[derive(Serialize, ToSchema)]
#[schema(as = WebhookWithSecret)]
pub(crate) struct WithSecret {
    #[serde(flatten)]
    webhook: WebhookView,
    /// What signatures are verified with. It is not shown again.
    #[schema(example = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD")]
    secret: String,
}

/// An event and what became of it at an endpoint.
#[derive(Serialize, ToSchema)]
#[schema(as = WebhookDelivery)]
pub(crate) struct DeliveryView {
    /// The `webhook-id` that it is sent with, the same in every attempt.
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
    /// When it is tried next; null where it is not.
    #[schema(format = DateTime)]
    next_attempt_at: Option<String>,
    /// The latest attempts, oldest first.
    attempts: Vec<AttemptView>,
    /// The beginning of what was last answered.
    last_answer: Option<String>,
    /// What is sent.
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
    /// The status that was answered; null where there was no answer.
    #[schema(example = 204)]
    status: Option<u16>,
    /// Why there was no answer.
    error: Option<String>,
    /// How long it took, in milliseconds.
    #[schema(example = 120)]
    took_ms: u64,
}

impl WebhookView {
    /// The endpoint as it is now.
    pub(crate) fn of(EndpointRecord { endpoint, secrets }: &EndpointRecord, now: DateTime<Utc>) -> Self {
        Self {
            id: endpoint.webhook_id.get(),
            url: endpoint.url.to_string(),
            events: endpoint.events.iter().copied().map(EventKind::as_str).collect(),
            status: endpoint.status().as_str(),
            disabled: endpoint.is_disabled(),
            disabled_at: endpoint.disabled_at.map(show),
            disabled_reason: endpoint.disabled_reason.map(domain::webhook::DisabledReason::as_str),
            failing_since: endpoint.failing_since.map(show),
            previous_secret_until: secrets.previous_until(now).map(show),
            created_at: show(endpoint.created_at),
            updated_at: show(endpoint.updated_at),
        }
    }
}

impl WithSecret {
    /// The endpoint and its newest secret.
    pub(crate) fn of(record: &EndpointRecord, secret: &WebhookSecret, now: DateTime<Utc>) -> Self {
        Self { webhook: WebhookView::of(record, now), secret: secret.expose().to_owned() }
    }
}

impl From<&WebhookDelivery> for DeliveryView {
    fn from(notice: &WebhookDelivery) -> Self {
        let attempts = notice.attempts.iter().map(|it| AttemptView {
            at: show(it.at),
            status: it.status,
            error: it.error.clone(),
            took_ms: it.took_ms,
        });
        Self {
            id: notice.message.id.to_string(),
            event: notice.message.kind.as_str(),
            status: notice.state.as_str(),
            created_at: show(notice.created_at),
            next_attempt_at: (notice.state == WebhookDeliveryStatus::Waiting).then(|| show(notice.next_step_at)),
            attempts: attempts.collect(),
            last_answer: notice.last_answer.clone(),
            payload: serde_json::from_str(&notice.message.body).unwrap_or_default(),
        }
    }
}
