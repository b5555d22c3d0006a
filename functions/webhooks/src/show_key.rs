//! `GET /webhooks/key`.

use api::openapi::{Invalid, Limited, WEBHOOKS};
use api::{ApiResult, Params, Visitor};
use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::App;

/// What everybody may know of the key that all messages are signed with.
#[derive(Serialize, ToSchema)]
pub(crate) struct WebhookKey {
    /// An ed25519 key in base64: it verifies the signature that begins with `v1a`.
    #[schema(example = "whpk_nk1kFZbYIKOQKCRKMLVRrzQGfTi4o4VUjkOjCp0Hw6Y=")]
    public_key: String,
}

/// The public key of this service's webhooks.
#[utoipa::path(
    get,
    path = "/api/v1/webhooks/key",
    operation_id = "webhook.key",
    tag = WEBHOOKS,
    summary = "Show the public key",
    description = "For whoever verifies messages and is not to hold a secret. It is the same for all webhooks: check that what a message tells of is yours.",
    responses((status = 200, description = "The key", body = WebhookKey), Limited, Invalid)
)]
pub(crate) async fn show_key(State(app): State<App>, _visitor: Visitor, params: Params) -> ApiResult<Json<WebhookKey>> {
    params.none()?;
    Ok(Json(WebhookKey { public_key: app.keys.key().await?.public() }))
}
