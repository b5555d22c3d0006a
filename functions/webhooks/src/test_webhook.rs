use api::openapi::{BadBody, Missing, Refused, WEBHOOKS};
use api::scope_guard::WebhooksWrite;
use api::{ApiError, ApiResult, Caller, Id, RequestBody};
use axum::Json;
use axum::extract::State;
use domain::id::WebhookId;
use domain::validation_errors::ValidationErrors;
use domain::webhook::{EndpointStatus, EventKind, WebhookEndpoint};
use http::StatusCode;

use crate::App;
use crate::response::delivery_view;

#[utoipa::path(
    post,
    path = "/api/v1/webhooks/{webhook}/test",
    operation_id = "webhook.test",
    tag = WEBHOOKS,
    summary = "Test a webhook",
    description = "Sends a `webhook.test` immediately. A test is never retried. The delivery shows the response. A 2xx response enables an `unverified` webhook.",
    security(("token" = [])),
    params(("webhook" = u64, Path, description = "The webhook's id", minimum = 1, maximum = 9_007_199_254_740_991_i64)),
    responses((status = 202, description = "The delivery of the test", body = contract::WebhookDelivery), Refused, Missing, BadBody)
)]
pub(crate) async fn test_webhook(
    State(app): State<App>,
    caller: Caller<WebhooksWrite>,
    Id(webhook): Id<WebhookId>,
    incoming: RequestBody,
) -> ApiResult<(StatusCode, Json<contract::WebhookDelivery>)> {
    let record = app.api.store.webhook(caller.owner, webhook).await?.ok_or(ApiError::NotFound)?;
    incoming.optional_fields(&[])?.finish(())?;
    if !record.endpoint.accepts(EventKind::WebhookTest) {
        return Err(not_accepted(&record.endpoint));
    }
    let delivery = app.webhooks.send_test(caller.user_id(), webhook).await?.ok_or(ApiError::Internal)?;
    Ok((StatusCode::ACCEPTED, Json(delivery_view(&delivery))))
}

pub(crate) fn not_accepted(endpoint: &WebhookEndpoint) -> ApiError {
    match endpoint.status() {
        EndpointStatus::Disabled => {
            ValidationErrors::one("disabled", "is true, so nothing is sent to this webhook; set it to false first")
        }
        _ => ValidationErrors::one("status", "is unverified; send a test first, and respond to it with 2xx"),
    }
    .into()
}
