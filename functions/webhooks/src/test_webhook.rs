//! `POST /webhooks/{webhook}/test`.

use api::openapi::{BadBody, Missing, Refused, WEBHOOKS};
use api::scope_guard::WebhooksWrite;
use api::{ApiError, ApiResult, Caller, Id, RequestBody};
use axum::Json;
use axum::extract::State;
use domain::id::{UniqueNumber, UserId, WebhookId};
use domain::schedule::show;
use domain::validation_errors::ValidationErrors;
use domain::webhook::{EndpointStatus, EventKind, WebhookDelivery, WebhookEndpoint, WebhookMessage};
use http::StatusCode;
use serde_json::json;
use storage::StorageError;

use crate::App;
use crate::view::DeliveryView;

/// Sends a test to a webhook.
#[utoipa::path(
    post,
    path = "/api/v1/webhooks/{webhook}/test",
    operation_id = "webhook.test",
    tag = WEBHOOKS,
    summary = "Test a webhook",
    description = "Sends a `webhook.test` at once and only once. Its delivery tells what was answered. A 2xx enables a webhook that is `unverified`.",
    security(("token" = [])),
    params(("webhook" = u64, Path, description = "The webhook's id", minimum = 1, maximum = 9_007_199_254_740_991_i64)),
    responses((status = 202, description = "The delivery of the test", body = DeliveryView), Refused, Missing, BadBody)
)]
pub(crate) async fn test_webhook(
    State(app): State<App>,
    caller: Caller<WebhooksWrite>,
    Id(webhook): Id<WebhookId>,
    incoming: RequestBody,
) -> ApiResult<(StatusCode, Json<DeliveryView>)> {
    let record = app.api.store.webhook(caller.user, webhook).await?.ok_or(ApiError::NotFound)?;
    incoming.optional_fields(&[])?.finish(())?;
    receives(&record.endpoint, EventKind::WebhookTest)?;

    let notice = app.test(caller.user, webhook).await?.ok_or(ApiError::Internal)?;
    Ok((StatusCode::ACCEPTED, Json(DeliveryView::from(&notice))))
}

impl App {
    /// Sends a test to an endpoint.
    pub(crate) async fn test(&self, user: UserId, webhook: WebhookId) -> Result<Option<WebhookDelivery>, StorageError> {
        let now = self.api.clock.now();
        let fresh: UniqueNumber = self.api.ids.fresh();
        let detail = json!({
            "id": format!("webhook.test:{user}:{webhook}:{}", fresh.get()),
            "occurred_at": show(now),
            "webhook_id": webhook,
        });
        let Some(message) = WebhookMessage::of(EventKind::WebhookTest, webhook, &detail) else { return Ok(None) };
        let notice = WebhookDelivery::new(user, webhook, message, now);
        self.api.store.add_webhook_delivery(&notice).await?;
        self.hint_or_leave(&notice).await;
        Ok(Some(notice))
    }
}

/// Refuses to send a message of this kind to an endpoint that does not receive it.
pub(crate) fn receives(endpoint: &WebhookEndpoint, kind: EventKind) -> ApiResult<()> {
    if endpoint.accepts(kind) {
        return Ok(());
    }
    Err(match endpoint.status() {
        EndpointStatus::Disabled => {
            ValidationErrors::one("disabled", "is true: nothing is sent to this webhook; change that first")
        }
        _ => ValidationErrors::one("status", "is unverified: the webhook has to answer a test with 2xx first"),
    }
    .into())
}
