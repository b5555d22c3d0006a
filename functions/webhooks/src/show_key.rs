use api::openapi::{Invalid, Limited, WEBHOOKS};
use api::{ApiResult, Params, Visitor};
use axum::Json;
use axum::extract::State;
use contract::WebhookKey;

use crate::App;
use crate::error::api_error;

#[utoipa::path(
    get,
    path = "/api/v1/webhooks/key",
    operation_id = "webhook.key",
    tag = WEBHOOKS,
    summary = "Show the public key",
    description = "Use it to verify messages without storing a secret. The key is the same for all webhooks of all users, so also check that the resource in a message is yours.",
    responses((status = 200, description = "The key", body = WebhookKey), Limited, Invalid)
)]
pub(crate) async fn show_key(State(app): State<App>, _visitor: Visitor, params: Params) -> ApiResult<Json<WebhookKey>> {
    params.none()?;
    let key = app.webhooks.keys.key().await.map_err(api_error)?;
    Ok(Json(WebhookKey { public_key: key.public() }))
}
