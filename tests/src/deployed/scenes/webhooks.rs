//! Webhooks of a deployed stack. No endpoint can be reached from there: a failed attempt shows that
//! everything before it works.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Stack, item, set, set_number};
use crate::{
    deployment::{Deployment, User},
    error::{Result, same},
    http_response::{integer, list, text},
    moment,
};

/// The number of attempts before the last one.
const LAST_BUT_ONE: i64 = 9;

/// Events reach an endpoint through the bus and the queue, the ticks find events that were left in
/// the outbox, and an endpoint that failed for days is disabled. Times in the tables are changed so
/// that all of it is due.
pub async fn endpoint_receives_events(stack: &Stack, deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let created = user.api.post("/webhooks", &json!({ "url": "https://endpoint.invalid/" })).await?.ok(201)?;
    let id = integer(&created, "id")?;
    user.api.post(&format!("/webhooks/{id}/test"), &json!({})).await?.is(202)?;
    wait_for_attempt(&user, id, "webhook.test").await?;
    let webhook = json!({ "user_id": { "N": user.id.to_string() }, "webhook_id": { "N": id.to_string() } });
    // As if the endpoint had accepted the test.
    set(stack, stack.name("WebhooksTable")?, &webhook, "is_verified", json!({ "BOOL": true })).await?;
    user.connect(0).await?;
    let first = wait_for_attempt(&user, id, "connection.created").await?;
    let message = text(&first, "id")?;
    let outbox = stack.name("OutboxTable")?;
    let own = json!({
        "TableName": outbox,
        "KeyConditionExpression": "user_id = :user",
        "ExpressionAttributeValues": { ":user": { "N": user.id.to_string() } },
    });
    // Sooner than the tick would remove it.
    moment::eventually(Duration::from_secs(20), "that the event leaves the outbox", || async {
        let left = stack.root().call("DynamoDB_20120810.Query", &own).await?;
        Ok((left["Count"] == 0).then_some(()))
    })
    .await?;

    // The queue message is lost, so the tick must find the delivery.
    let number = |it: i64| json!({ "N": it.to_string() });
    let delivery_key = json!({ "user_id": number(user.id), "notice": { "S": format!("{id:016}#{message}") } });
    let deliveries = stack.name("WebhookDeliveriesTable")?;
    let past = moment::now().timestamp_millis() - 1_000;
    moment::eventually(Duration::from_secs(30), "the second attempt", || async {
        Ok((item(stack, deliveries, &delivery_key).await?["tries"]["N"] == "2").then_some(()))
    })
    .await?;
    set_number(stack, deliveries, &delivery_key, "next_step_at", past).await?;
    set_number(stack, deliveries, &delivery_key, "due_at", past).await?;
    stack.root().invoke(stack.name("WebhooksFunction")?, &json!({})).await?;
    moment::eventually(Duration::from_mins(1), "the third attempt", || async {
        Ok((item(stack, deliveries, &delivery_key).await?["tries"]["N"] == "3").then_some(()))
    })
    .await?;

    // An event that its writer has left in the outbox.
    let event = format!("post.scheduled:{}:1", user.id);
    let detail = json!({
        "id": event,
        "occurred_at": moment::in_seconds(0),
        "user_id": user.id.to_string(),
        "post_id": user.id,
    });
    let outbox_item = json!({
        "user_id": number(user.id),
        "event": { "S": event },
        "kind": { "S": "post.scheduled" },
        "detail": { "S": detail.to_string() },
        "due_shard": { "S": "due#0" },
        "due_at": number(past),
    });
    stack.root().call("DynamoDB_20120810.PutItem", &json!({ "TableName": outbox, "Item": outbox_item })).await?;
    stack.root().invoke(stack.name("PublisherFunction")?, &json!({})).await?;
    let key = json!({ "user_id": outbox_item["user_id"], "event": outbox_item["event"] });
    same(item(stack, outbox, &key).await?, Value::Null, "the event in the outbox")?;
    wait_for_attempt(&user, id, "post.scheduled").await?;

    let days_ago = (moment::now() - chrono::TimeDelta::days(6)).timestamp_millis();
    set_number(stack, stack.name("WebhooksTable")?, &webhook, "failing_since", days_ago).await?;
    // The next attempt is the last one.
    set_number(stack, deliveries, &delivery_key, "tries", LAST_BUT_ONE).await?;
    set_number(stack, deliveries, &delivery_key, "next_step_at", past).await?;
    set_number(stack, deliveries, &delivery_key, "due_at", past).await?;
    stack.root().invoke(stack.name("WebhooksFunction")?, &json!({})).await?;
    let disabled = moment::eventually(Duration::from_secs(30), "that the webhook is disabled", || async {
        let shown = user.api.get(&format!("/webhooks/{id}")).await?.ok(200)?;
        Ok((shown["disabled"] == true).then_some(shown))
    })
    .await?;
    same(&disabled["disabled_reason"], &json!("failing"), "disabled_reason")?;
    user.api.delete(&format!("/webhooks/{id}")).await?.is(204)?;

    // Another webhook is deleted with the token that created it.
    let created = user.api.post("/webhooks", &json!({ "url": "https://endpoint.invalid/" })).await?.ok(201)?;
    let page = user.browser.open(&format!("{}/account", deployment.origin())).await?;
    user.browser.press(&page, "Revoke", &[("delete_webhooks", "true")]).await?;
    let webhook = json!({ "user_id": number(user.id), "webhook_id": number(integer(&created, "id")?) });
    same(item(stack, stack.name("WebhooksTable")?, &webhook).await?, Value::Null, "the webhook of a revoked token")
}

async fn wait_for_attempt(user: &User<'_>, webhook: i64, event: &str) -> Result<Value> {
    moment::eventually(Duration::from_mins(1), &format!("an attempt to tell of {event}"), || async {
        let all = user.api.get(&format!("/webhooks/{webhook}/deliveries")).await?.ok(200)?;
        let found = list(&all, "data")?.iter().find(|it| it["event"] == event && it["attempts"][0].is_object());
        Ok(found.cloned())
    })
    .await
}
