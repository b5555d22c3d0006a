use api::openapi::{Invalid, Refused, WEBHOOKS};
use api::scope_guard::WebhooksWrite;
use api::{ApiResult, Caller, Params};
use axum::Json;
use axum::extract::State;
use contract::WebhookList;

use crate::App;
use crate::response::webhook_view;

#[utoipa::path(
    get,
    path = "/api/v1/webhooks",
    operation_id = "webhook.index",
    tag = WEBHOOKS,
    summary = "List webhooks",
    security(("token" = [])),
    responses((status = 200, description = "All webhooks of the user, oldest first", body = WebhookList), Refused, Invalid)
)]
pub(crate) async fn list_webhooks(
    State(app): State<App>,
    caller: Caller<WebhooksWrite>,
    params: Params,
) -> ApiResult<Json<WebhookList>> {
    params.none()?;
    let records = app.api.store.webhooks(caller.owner).await?;
    Ok(Json(WebhookList { data: records.iter().map(|it| webhook_view(it, app.api.clock.now())).collect() }))
}
