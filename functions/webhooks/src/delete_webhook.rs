use api::openapi::{Invalid, Missing, Refused, WEBHOOKS};
use api::scope_guard::WebhooksWrite;
use api::{ApiError, ApiResult, Caller, Id, Params};
use axum::extract::State;
use cloud::audit;
use domain::id::WebhookId;
use http::StatusCode;

use crate::App;

#[utoipa::path(
    delete,
    path = "/api/v1/webhooks/{webhook}",
    operation_id = "webhook.destroy",
    tag = WEBHOOKS,
    summary = "Delete a webhook",
    description = "Deliveries that are still waiting are not sent.",
    security(("token" = [])),
    params(("webhook" = u64, Path, description = "The webhook's id", minimum = 1, maximum = 9_007_199_254_740_991_i64)),
    responses((status = 204, description = "The webhook is deleted"), Refused, Missing, Invalid)
)]
pub(crate) async fn delete_webhook(
    State(app): State<App>,
    caller: Caller<WebhooksWrite>,
    Id(webhook): Id<WebhookId>,
    params: Params,
) -> ApiResult<StatusCode> {
    app.api.store.webhook(caller.owner, webhook).await?.ok_or(ApiError::NotFound)?;
    params.none()?;
    if !app.api.store.remove_webhook(caller.owner, webhook).await? {
        return Err(ApiError::NotFound);
    }
    audit::Entry::new(audit::Event::WebhookRemoved).user(caller.user_id()).address(caller.ip).write();
    Ok(StatusCode::NO_CONTENT)
}
