use api::openapi::{BadBody, Missing, Refused, WEBHOOKS};
use api::scope_guard::WebhooksWrite;
use api::{ApiError, ApiResult, Caller, RequestBody, Segments, path_id};
use axum::Json;
use axum::extract::State;
use domain::owner::Owner;
use domain::webhook::{MessageId, WebhookDelivery, WebhookDeliveryId, WebhookEndpoint};
use http::StatusCode;
use storage::{StorageError, WriteOutcome, WriteRetries};

use crate::App;
use crate::change_webhook::MAX_ATTEMPTS;
use crate::response::delivery_view;
use crate::test_webhook::not_accepted;

#[utoipa::path(
    post,
    path = "/api/v1/webhooks/{webhook}/deliveries/{delivery}/redeliver",
    operation_id = "webhook.redeliver",
    tag = WEBHOOKS,
    summary = "Deliver an event again",
    description = "Sends the event immediately, with the same `webhook-id`, whether or not an earlier attempt succeeded. If this attempt fails, the usual retry schedule starts again.",
    security(("token" = [])),
    params(
        ("webhook" = u64, Path, description = "The webhook's id", minimum = 1, maximum = 9_007_199_254_740_991_i64),
        ("delivery" = String, Path, description = "The delivery's id"),
    ),
    responses((status = 202, description = "The delivery, which is `waiting` again", body = contract::WebhookDelivery), Refused, Missing, BadBody)
)]
pub(crate) async fn redeliver(
    State(app): State<App>,
    caller: Caller<WebhooksWrite>,
    Segments((webhook, delivery)): Segments<(String, String)>,
    incoming: RequestBody,
) -> ApiResult<(StatusCode, Json<contract::WebhookDelivery>)> {
    let name = WebhookDeliveryId {
        user_id: caller.user_id(),
        webhook_id: path_id(&webhook)?,
        message_id: MessageId::parse(&delivery).ok_or(ApiError::NotFound)?,
    };
    let check_body = || incoming.optional_fields(&[])?.finish(());
    match app.redeliver(caller.owner, &name, check_body).await? {
        Redelivered::Queued(delivery) => Ok((StatusCode::ACCEPTED, Json(delivery_view(&delivery)))),
        Redelivered::NotFound => Err(ApiError::NotFound),
        Redelivered::NotAccepted(endpoint) => Err(not_accepted(&endpoint)),
    }
}

pub(crate) enum Redelivered {
    Queued(Box<WebhookDelivery>),
    NotFound,
    /// The endpoint is disabled or unverified.
    NotAccepted(Box<WebhookEndpoint>),
}

impl App {
    /// Makes the delivery due now. `check` may refuse the request once the delivery is found.
    pub(crate) async fn redeliver<E: From<StorageError>>(
        &self,
        owner: impl Into<Owner>,
        name: &WebhookDeliveryId,
        check: impl FnOnce() -> Result<(), E>,
    ) -> Result<Redelivered, E> {
        let (owner, store) = (owner.into(), &self.api.store);
        let mut found = store.webhook_delivery_and_endpoint(name).await?;
        let mut check = Some(check);
        let mut retries = WriteRetries::without_waits(MAX_ATTEMPTS);
        loop {
            let (Some(delivery), Some(record)) = found else { return Ok(Redelivered::NotFound) };
            let now = self.api.clock.now();
            if !delivery.is_kept(now) || !record.is_visible_to(owner) {
                return Ok(Redelivered::NotFound);
            }
            if let Some(check) = check.take() {
                check()?;
            }
            if !record.endpoint.accepts(delivery.message.kind) {
                return Ok(Redelivered::NotAccepted(Box::new(record.endpoint)));
            }
            let redelivery = delivery.redeliver(now);
            if store.replace_webhook_delivery(&delivery, &redelivery).await? == WriteOutcome::Applied {
                self.webhooks.try_queue_if_soon(&redelivery).await;
                return Ok(Redelivered::Queued(Box::new(redelivery)));
            }
            found = store.webhook_delivery_and_endpoint(name).await?;
            retries.next_attempt().await?;
        }
    }
}
