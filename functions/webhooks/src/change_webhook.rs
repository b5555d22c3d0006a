use api::openapi::{BadBody, Missing, Refused, WEBHOOKS};
use api::scope_guard::WebhooksWrite;
use api::{ApiError, ApiResult, Caller, FieldValue, Id, RequestBody};
use axum::Json;
use axum::extract::State;
use cloud::audit;
use contract::{Webhook, WebhookChanges};
use domain::id::WebhookId;
use domain::owner::Owner;
use domain::webhook::{EndpointUrl, EventKind};
use storage::{EndpointRecord, StorageError, WriteOutcome, WriteRetries};

use crate::App;
use crate::request;
use crate::response::webhook_view;

/// While concurrent requests change the endpoint.
pub(crate) const MAX_ATTEMPTS: u32 = 8;

#[utoipa::path(
    patch,
    path = "/api/v1/webhooks/{webhook}",
    operation_id = "webhook.update",
    tag = WEBHOOKS,
    summary = "Change a webhook",
    description = "Omitted fields keep their value. After a change of `url`, the webhook is `unverified` until it responds to a `webhook.test` with 2xx. Events that occur while a webhook is disabled or unverified are never sent to it.",
    security(("token" = [])),
    params(("webhook" = u64, Path, description = "The webhook's id", minimum = 1, maximum = 9_007_199_254_740_991_i64)),
    request_body(content = WebhookChanges),
    responses((status = 200, description = "The changed webhook", body = Webhook), Refused, Missing, BadBody)
)]
pub(crate) async fn change_webhook(
    State(app): State<App>,
    caller: Caller<WebhooksWrite>,
    Id(webhook): Id<WebhookId>,
    incoming: RequestBody,
) -> ApiResult<Json<Webhook>> {
    let webhook_before = app.api.store.webhook(caller.owner, webhook).await?;
    webhook_before.ok_or(ApiError::NotFound)?;
    let mut fields = incoming.fields(request::CHANGES)?;
    let url = match request::url(&app, &mut fields) {
        FieldValue::Null => {
            fields.add("url", "may not be null; omit it to keep the URL");
            None
        }
        given => given.value(),
    };
    let events = request::events(&mut fields).value();
    let disabled = request::disabled(&mut fields);
    fields.finish(())?;

    let changed = app.change(caller.owner, webhook, &Changes { url, events, disabled }).await?;
    let record = changed.ok_or(ApiError::NotFound)?;
    audit::Entry::new(audit::Event::WebhookChanged).user(caller.user_id()).address(caller.ip).write();
    Ok(Json(webhook_view(&record, app.api.clock.now())))
}

/// `None` keeps the value.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) url: Option<EndpointUrl>,
    pub(crate) events: Option<Vec<EventKind>>,
    pub(crate) disabled: Option<bool>,
}

impl App {
    /// `None` if the owner has no such endpoint.
    pub(crate) async fn change(
        &self,
        owner: impl Into<Owner>,
        webhook: WebhookId,
        changes: &Changes,
    ) -> Result<Option<EndpointRecord>, StorageError> {
        let (owner, store) = (owner.into(), &self.api.store);
        let mut retries = WriteRetries::without_waits(MAX_ATTEMPTS);
        loop {
            let Some(record) = store.webhook(owner, webhook).await? else { return Ok(None) };
            let before = record.endpoint;
            let Changes { url, events, disabled } = changes;
            let endpoint = before.with_changes(url.clone(), events.clone(), *disabled, self.api.clock.now());
            let record = EndpointRecord { endpoint, ..record };
            if store.replace_webhook(&before, &record, None).await? == WriteOutcome::Applied {
                return Ok(Some(record));
            }
            retries.next_attempt().await?;
        }
    }
}
