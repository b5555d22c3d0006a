//! `POST /webhooks/{webhook}/test`.

use api::need::WebhooksWrite;
use api::openapi::{BadBody, Missing, Refused, WEBHOOKS};
use api::{ApiError, ApiResult, Caller, Id, Incoming};
use axum::Json;
use axum::extract::State;
use domain::faults::Faults;
use domain::id::{Fresh, WebhookId};
use domain::schedule::show;
use domain::webhook::{Endpoint, EventKind, Message, Notice};
use http::StatusCode;
use serde_json::json;

use crate::App;
use crate::view::DeliveryView;

/// Sends a test to a webhook.
#[utoipa::path(
    post,
    path = "/api/v1/webhooks/{webhook}/test",
    operation_id = "webhook.test",
    tag = WEBHOOKS,
    summary = "Test a webhook",
    description = "Sends a `webhook.test` at once and only once. Its delivery tells what was answered.",
    security(("token" = [])),
    params(("webhook" = u64, Path, description = "The webhook's id", minimum = 1, maximum = 9_007_199_254_740_991_i64)),
    responses((status = 202, description = "The delivery of the test", body = DeliveryView), Refused, Missing, BadBody)
)]
pub(crate) async fn test_webhook(
    State(app): State<App>,
    caller: Caller<WebhooksWrite>,
    Id(webhook): Id<WebhookId>,
    incoming: Incoming,
) -> ApiResult<(StatusCode, Json<DeliveryView>)> {
    let record = app.api.store.webhook(caller.user, webhook).await?.ok_or(ApiError::NotFound)?;
    incoming.optional_fields(&[])?.finish(())?;
    enabled(&record.endpoint)?;

    let now = app.api.clock.now();
    let fresh: Fresh = app.api.ids.fresh();
    let detail = json!({
        "id": format!("webhook.test:{}:{webhook}:{}", caller.user, fresh.get()),
        "occurred_at": show(now),
        "webhook_id": webhook,
    });
    let message = Message::of(EventKind::WebhookTest, webhook, &detail).ok_or(ApiError::Internal)?;
    let notice = Notice::new(caller.user, webhook, message, now);
    app.api.store.add_notice(&notice).await?;
    app.hint_or_leave(&notice).await;
    Ok((StatusCode::ACCEPTED, Json(DeliveryView::from(&notice))))
}

/// Refuses to send something to an endpoint that is told nothing.
pub(crate) fn enabled(endpoint: &Endpoint) -> ApiResult<()> {
    if endpoint.is_disabled() {
        let why = "is true: nothing is sent to this webhook; change that first";
        return Err(Faults::one("disabled", why).into());
    }
    Ok(())
}
