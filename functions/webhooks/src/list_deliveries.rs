use api::openapi::{Invalid, Missing, Refused, WEBHOOKS};
use api::scope_guard::WebhooksWrite;
use api::{ApiError, ApiResult, Caller, FieldValue, Fields, Id, Params};
use axum::Json;
use axum::extract::State;
use chrono::DateTime;
use contract::{WebhookDeliveriesMeta, WebhookDeliveryList};
use domain::id::WebhookId;
use domain::webhook::MessageId;
use storage::WebhookDeliveryCursor;

use crate::App;
use crate::response::delivery_view;

const DEFAULT_PER_PAGE: u32 = 15;

#[utoipa::path(
    get,
    path = "/api/v1/webhooks/{webhook}/deliveries",
    operation_id = "webhook.deliveries",
    tag = WEBHOOKS,
    summary = "List a webhook's deliveries",
    description = "Deliveries of the last 30 days, newest first. A delivery may be missing for a moment after it is created.",
    security(("token" = [])),
    params(
        ("webhook" = u64, Path, description = "The webhook's id", minimum = 1, maximum = 9_007_199_254_740_991_i64),
        ("per_page" = Option<u64>, Query, nullable, description = "Number of deliveries on a page, 1 to 100. Default: 15", minimum = 1, maximum = 100),
        ("before" = Option<String>, Query, nullable, description = "The `meta.next` of the previous page. Omit it for the first page"),
    ),
    responses((status = 200, description = "A page of deliveries", body = WebhookDeliveryList), Refused, Missing, Invalid)
)]
pub(crate) async fn list_deliveries(
    State(app): State<App>,
    caller: Caller<WebhooksWrite>,
    Id(webhook): Id<WebhookId>,
    params: Params,
) -> ApiResult<Json<WebhookDeliveryList>> {
    app.api.store.webhook(caller.owner, webhook).await?.ok_or(ApiError::NotFound)?;
    let mut fields = params.fields(&["per_page", "before"]);
    let (limit, cursor) = (parse_per_page(&mut fields), parse_before(&mut fields));
    fields.finish(())?;

    let (deliveries, next) =
        app.api.store.webhook_deliveries(caller.user_id(), webhook, cursor.as_ref(), limit).await?;
    let now = app.api.clock.now();
    let data = deliveries.iter().filter(|it| it.is_kept(now)).map(delivery_view).collect();
    let next = next.map(|it| format!("{}-{}", it.created_at.timestamp_millis(), it.message_id));
    Ok(Json(WebhookDeliveryList { data, meta: WebhookDeliveriesMeta { next } }))
}

fn parse_per_page(fields: &mut Fields) -> u32 {
    match fields.integer("per_page") {
        FieldValue::Value(number) if (1..=100).contains(&number) => u32::try_from(number).unwrap_or(DEFAULT_PER_PAGE),
        FieldValue::Value(_) => {
            fields.add("per_page", "must be from 1 to 100");
            DEFAULT_PER_PAGE
        }
        FieldValue::Absent | FieldValue::Null | FieldValue::Invalid => DEFAULT_PER_PAGE,
    }
}

fn parse_before(fields: &mut Fields) -> Option<WebhookDeliveryCursor> {
    let raw = fields.text("before").value()?;
    let cursor = parse_cursor(&raw);
    if cursor.is_none() {
        fields.add("before", "is invalid; send the meta.next of the previous page, or omit it");
    }
    cursor
}

fn parse_cursor(raw: &str) -> Option<WebhookDeliveryCursor> {
    let (millis, message) = raw.split_once('-')?;
    Some(WebhookDeliveryCursor {
        created_at: DateTime::from_timestamp_millis(millis.parse().ok()?)?,
        message_id: MessageId::parse(message)?,
    })
}
