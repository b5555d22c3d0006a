use api::openapi::{BadBody, Missing, Refused, WEBHOOKS};
use api::scope_guard::WebhooksWrite;
use api::{ApiError, ApiResult, Caller, Id, RequestBody};
use axum::Json;
use axum::extract::State;
use cloud::audit;
use contract::WebhookWithSecret;
use domain::id::WebhookId;
use domain::webhook::WebhookSecret;
use storage::{EndpointRecord, WriteOutcome, WriteRetries};

use crate::App;
use crate::change_webhook::MAX_ATTEMPTS;
use crate::error::api_error;
use crate::response::with_secret_view;

#[utoipa::path(
    post,
    path = "/api/v1/webhooks/{webhook}/rotate",
    operation_id = "webhook.rotate",
    tag = WEBHOOKS,
    summary = "Replace a webhook's secret",
    description = "For 24 hours, messages are signed with the old and the new secret, so that none fails verification while you deploy the new one. If you rotate more often, the last four replaced secrets each stay valid for 24 hours.",
    security(("token" = [])),
    params(("webhook" = u64, Path, description = "The webhook's id", minimum = 1, maximum = 9_007_199_254_740_991_i64)),
    responses((status = 200, description = "The webhook and its new secret", body = WebhookWithSecret), Refused, Missing, BadBody)
)]
pub(crate) async fn rotate_secret(
    State(app): State<App>,
    caller: Caller<WebhooksWrite>,
    Id(webhook): Id<WebhookId>,
    incoming: RequestBody,
) -> ApiResult<Json<WebhookWithSecret>> {
    let store = &app.api.store;
    let mut record = store.webhook(caller.owner, webhook).await?.ok_or(ApiError::NotFound)?;
    incoming.optional_fields(&[])?.finish(())?;

    let secret = WebhookSecret::random();
    let sealed = app.webhooks.seal_secret(&record.endpoint, &secret).await.map_err(api_error)?;
    let mut retries = WriteRetries::without_waits(MAX_ATTEMPTS);
    loop {
        let before = record.endpoint;
        let now = app.api.clock.now();
        // Only the secret changes.
        let endpoint = before.with_changes(None, None, None, now);
        record = EndpointRecord { endpoint, secrets: record.secrets.rotated(sealed.clone(), now) };
        if store.replace_webhook(&before, &record, None).await? == WriteOutcome::Applied {
            audit::Entry::new(audit::Event::WebhookRotated).user(caller.user_id()).address(caller.ip).write();
            return Ok(Json(with_secret_view(&record, &secret, now)));
        }
        record = store.webhook(caller.owner, webhook).await?.ok_or(ApiError::NotFound)?;
        retries.next_attempt().await?;
    }
}
