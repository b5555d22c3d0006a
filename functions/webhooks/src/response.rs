use chrono::{DateTime, Utc};
use contract::{DeliveryStatus, Timestamp, Webhook, WebhookStatus, WebhookWithSecret};
use domain::webhook::{
    Attempt, DisabledReason, EndpointStatus, EventKind, WebhookDelivery, WebhookDeliveryStatus, WebhookSecret,
};
use storage::EndpointRecord;

pub(crate) fn webhook_view(EndpointRecord { endpoint, secrets }: &EndpointRecord, now: DateTime<Utc>) -> Webhook {
    Webhook {
        id: endpoint.webhook_id.get(),
        url: endpoint.url.to_string(),
        profile_id: endpoint.of_profile.as_ref().map(|it| it.profile_id.get()),
        events: endpoint.events.iter().copied().map(EventKind::as_str).map(str::to_owned).collect(),
        status: match endpoint.status() {
            EndpointStatus::Disabled => WebhookStatus::Disabled,
            EndpointStatus::Unverified => WebhookStatus::Unverified,
            EndpointStatus::Enabled => WebhookStatus::Enabled,
        },
        disabled: endpoint.is_disabled(),
        disabled_at: endpoint.disabled_at.map(Timestamp),
        disabled_reason: endpoint.disabled_reason.map(DisabledReason::as_str).map(str::to_owned),
        failing_since: endpoint.failing_since.map(Timestamp),
        previous_secret_until: secrets.previous_expires_at(now).map(Timestamp),
        created_at: Timestamp(endpoint.created_at),
        updated_at: Timestamp(endpoint.updated_at),
    }
}

pub(crate) fn with_secret_view(
    record: &EndpointRecord,
    secret: &WebhookSecret,
    now: DateTime<Utc>,
) -> WebhookWithSecret {
    WebhookWithSecret { webhook: webhook_view(record, now), secret: secret.expose().into() }
}

pub(crate) fn delivery_view(delivery: &WebhookDelivery) -> contract::WebhookDelivery {
    let is_waiting = delivery.state == WebhookDeliveryStatus::Waiting;
    contract::WebhookDelivery {
        id: delivery.message.id.to_string(),
        event: delivery.message.kind.as_str().to_owned(),
        status: match delivery.state {
            WebhookDeliveryStatus::Waiting => DeliveryStatus::Waiting,
            WebhookDeliveryStatus::Delivered => DeliveryStatus::Delivered,
            WebhookDeliveryStatus::Failed => DeliveryStatus::Failed,
        },
        created_at: Timestamp(delivery.created_at),
        next_attempt_at: is_waiting.then_some(Timestamp(delivery.next_step_at)),
        attempts: delivery.attempts.iter().map(attempt_view).collect(),
        last_answer: delivery.last_answer.clone(),
        payload: serde_json::from_str(&delivery.message.body).unwrap_or_default(),
    }
}

fn attempt_view(attempt: &Attempt) -> contract::WebhookAttempt {
    contract::WebhookAttempt {
        at: Timestamp(attempt.at),
        status: attempt.status,
        error: attempt.error.clone(),
        took_ms: attempt.took_ms,
    }
}
