use api::openapi::{Invalid, Missing, Refused, WEBHOOKS};
use api::scope_guard::WebhooksWrite;
use api::{ApiError, ApiResult, Caller, Id, Params};
use axum::Json;
use axum::extract::State;
use contract::Webhook;
use domain::id::WebhookId;

use crate::App;
use crate::response::webhook_view;

#[utoipa::path(
    get,
    path = "/api/v1/webhooks/{webhook}",
    operation_id = "webhook.show",
    tag = WEBHOOKS,
    summary = "Show a webhook",
    security(("token" = [])),
    params(("webhook" = u64, Path, description = "The webhook's id", minimum = 1, maximum = 9_007_199_254_740_991_i64)),
    responses((status = 200, description = "The webhook", body = Webhook), Refused, Missing, Invalid)
)]
pub(crate) async fn show_webhook(
    State(app): State<App>,
    caller: Caller<WebhooksWrite>,
    Id(webhook): Id<WebhookId>,
    params: Params,
) -> ApiResult<Json<Webhook>> {
    let record = app.api.store.webhook(caller.owner, webhook).await?.ok_or(ApiError::NotFound)?;
    params.none()?;
    Ok(Json(webhook_view(&record, app.api.clock.now())))
}
