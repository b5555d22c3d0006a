//! `PATCH /webhooks/{webhook}`.

use api::openapi::{BadBody, Missing, Refused, WEBHOOKS};
use api::scope_guard::WebhooksWrite;
use api::{ApiError, ApiResult, Caller, FieldValue, Id, RequestBody};
use axum::Json;
use axum::extract::State;
use cloud::audit;
use domain::id::{UserId, WebhookId};
use domain::webhook::{EndpointUrl, EventKind};
use serde::Deserialize;
use storage::{EndpointRecord, StorageError, WriteOutcome};
use utoipa::ToSchema;

use crate::view::WebhookView;
use crate::{App, reading};

/// How often a change is tried when others change the endpoint at the same time.
pub(crate) const TRIES: usize = 8;

/// What changes; what is left out stays as it is.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WebhookChanges, example = json!({ "disabled": false }))]
#[expect(dead_code, reason = "read field by field; this is its description")]
pub(crate) struct ChangesBody {
    /// Another address.
    #[schema(format = "uri", max_length = 2048, nullable = false)]
    url: Option<String>,
    /// Replaces the whole list; empty or `null` is everything.
    #[schema(max_items = 10)]
    events: Option<Vec<String>>,
    /// Whether it is told nothing. `false` has one told again that failed.
    #[schema(nullable = false)]
    disabled: Option<bool>,
}

/// Changes a webhook.
#[utoipa::path(
    patch,
    path = "/api/v1/webhooks/{webhook}",
    operation_id = "webhook.update",
    tag = WEBHOOKS,
    summary = "Change a webhook",
    description = "What is left out stays. A changed `url` is `unverified` until it has answered a `webhook.test` with 2xx. What happens while a webhook is disabled or unverified is not sent to it later.",
    security(("token" = [])),
    params(("webhook" = u64, Path, description = "The webhook's id", minimum = 1, maximum = 9_007_199_254_740_991_i64)),
    request_body(content = ChangesBody),
    responses((status = 200, description = "The webhook as it is now", body = WebhookView), Refused, Missing, BadBody)
)]
pub(crate) async fn change_webhook(
    State(app): State<App>,
    caller: Caller<WebhooksWrite>,
    Id(webhook): Id<WebhookId>,
    incoming: RequestBody,
) -> ApiResult<Json<WebhookView>> {
    let known = app.api.store.webhook(caller.user, webhook).await?;
    known.ok_or(ApiError::NotFound)?;
    let mut fields = incoming.fields(reading::CHANGES)?;
    let url = match reading::url(&app, &mut fields) {
        FieldValue::Null => {
            fields.add("url", "may not be null; leave it out to keep the address");
            None
        }
        given => given.value(),
    };
    let events = reading::events(&mut fields).value();
    let disabled = reading::disabled(&mut fields);
    fields.finish(())?;

    let changed = app.change(caller.user, webhook, &Changes { url, events, disabled }).await?;
    let record = changed.ok_or(ApiError::NotFound)?;
    audit::Entry::new(audit::Event::WebhookChanged).user(caller.user).address(caller.ip).write();
    Ok(Json(WebhookView::of(&record, app.api.clock.now())))
}

/// What changes of an endpoint; `None` stays as it is.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) url: Option<EndpointUrl>,
    pub(crate) events: Option<Vec<EventKind>>,
    pub(crate) disabled: Option<bool>,
}

impl App {
    /// Changes an endpoint; `None` if the user has no such endpoint.
    pub(crate) async fn change(
        &self,
        user: UserId,
        webhook: WebhookId,
        changes: &Changes,
    ) -> Result<Option<EndpointRecord>, StorageError> {
        let store = &self.api.store;
        for _ in 0..TRIES {
            let Some(record) = store.webhook(user, webhook).await? else { return Ok(None) };
            let before = record.endpoint;
            let Changes { url, events, disabled } = changes;
            let endpoint = before.with_changes(url.clone(), events.clone(), *disabled, self.api.clock.now());
            let record = EndpointRecord { endpoint, ..record };
            if store.swap_webhook(&before, &record, None).await? == WriteOutcome::Applied {
                return Ok(Some(record));
            }
        }
        Err(StorageError::Contended)
    }
}
