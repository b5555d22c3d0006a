//! Removal: uploads that nothing uses, the access of a user, and everything of a user.

use reqwest::Method;
use serde_json::{Value, json};

use super::{RECOVERED, Stack, item, set_number};
use crate::{
    deployment::{Deployment, fresh},
    ensure,
    error::{Result, same},
    http_response::{integer, list, text},
    moment, picture,
};

/// An upload that no post used for a day is inspected, and kept if it is valid. The time in the
/// table is changed so that it is due.
pub async fn unused_uploads_are_inspected(stack: &Stack, deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;
    let number = |it: i64| json!({ "N": it.to_string() });
    let media = stack.name("MediaTable")?;
    let two_days_ago = (moment::now() - chrono::TimeDelta::days(2)).timestamp_millis();
    let mut keys = Vec::new();
    for bytes in [picture::png(4, 4, [0, 0, 0]), b"<html></html>".to_vec(), Vec::new()] {
        let target = user.api.post("/media", &json!({ "mime_type": "image/png" })).await?.ok(201)?;
        if !bytes.is_empty() {
            ensure!(user.put(&target, &bytes).await? / 100 == 2, "the upload is refused");
        }
        let id: i64 = text(&target, "path")?.rsplit(['/', '.']).nth(1).unwrap_or_default().parse()?;
        let key = json!({ "user_id": number(user.id), "media_id": number(id) });
        set_number(stack, media, &key, "unused_since", two_days_ago).await?;
        keys.push(key);
    }

    stack.root().invoke(stack.name("UpkeepFunction")?, &json!({})).await?;

    let good = item(stack, media, &keys[0]).await?;
    ensure!(good["size_bytes"].is_object(), "the good upload was not looked at: {good}");
    same(item(stack, media, &keys[1]).await?, Value::Null, "the upload of another type")?;
    same(item(stack, media, &keys[2]).await?, Value::Null, "the upload that never came")
}

/// A user is disabled and enabled again: no earlier token is valid, and a new one is.
pub async fn disabled_user_can_be_enabled_again(stack: &Stack, deployment: &Deployment) -> Result {
    let (user, other) = (deployment.new_user().await?, deployment.new_user().await?);
    let id = user.id.to_string();
    user.api.get("/user").await?.is(200)?;

    let output = stack.run_operator_script_with("disable-user", &[&id]).await?;
    ensure!(output.contains("1 tokens of user"), "{output}");
    user.api.get("/user").await?.is(401)?;
    let output = stack.run_operator_script_with("disable-user", &[&id, "--let-in"]).await?;
    ensure!(output.contains("may sign in again"), "{output}");
    user.api.get("/user").await?.is(401)?;
    other.api.get("/user").await?.is(200)?;
    ensure!(
        stack.run_operator_script_with("disable-user", &["1"]).await.is_err(),
        "a user who does not exist was disabled"
    );
    Ok(())
}

/// The operator's command erases a user: no table has their items, their files are gone, and the
/// data of others stays.
pub async fn erased_user_leaves_no_items(stack: &Stack, deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let connection = user.connect(0).await?;
    let picture = user.picture().await?;
    let post = user.create(&json!({ "content": fresh("with a picture"), "media": [picture] })).await?;
    let published_post = user.schedule(&fresh("before the end"), &[&connection], 1).await?;
    user.reaches(published_post, "published", RECOVERED).await?;
    user.schedule(&fresh("never"), &[&connection], 86_400).await?;
    let keyed = user.api.call(Method::POST, "/posts").json(&json!({ "content": fresh("keyed") }));
    keyed.header("idempotency-key", "k").send().await?.is(201)?;
    let link = text(&list(&post, "media")?[0], "url")?.to_owned();
    let webhook = json!({ "url": "https://endpoint.invalid/" });
    let webhook = integer(&user.api.post("/webhooks", &webhook).await?.ok(201)?, "id")?;
    user.api.post(&format!("/webhooks/{webhook}/test"), &json!({})).await?.is(202)?;
    user.api.post("/profiles", &json!({ "name": "A customer", "external_id": "c-1" })).await?.is(201)?;
    // An event that its writer has left in the outbox.
    let event = json!({ "user_id": { "N": user.id.to_string() }, "event": { "S": "left behind" } });
    let planted = json!({ "TableName": stack.name("OutboxTable")?, "Item": event });
    stack.root().call("DynamoDB_20120810.PutItem", &planted).await?;
    // This platform writes no claims, so the test stores one.
    let claim = json!({
        "account": { "S": fresh("an account") },
        "post": { "S": "1" },
        "delivery": { "S": format!("{}/1/1", user.id) },
    });
    let planted = json!({ "TableName": stack.name("ClaimsTable")?, "Item": claim });
    stack.root().call("DynamoDB_20120810.PutItem", &planted).await?;
    // A file such as one derived from a large image for a platform.
    let (bucket, derived) = (stack.name("MediaBucket")?, format!("derived/{}/{:032x}", user.id, 7));
    stack.root().put_object(bucket, &derived, b"a picture").await?;
    ensure!(stack.root().has_object(bucket, &derived).await?, "the file is missing");
    let mut other = deployment.new_user().await?;
    let other_connection = integer(&other.connect(0).await?, "id")?;
    let tables = [
        "Users",
        "Grants",
        "Connections",
        "ConnectFlows",
        "Media",
        "Posts",
        "Deliveries",
        "Attempts",
        "Idempotency",
        "Claims",
        "Profiles",
        "Webhooks",
        "WebhookDeliveries",
        "Outbox",
    ];
    for table in tables {
        ensure!(0 < count_items(stack, table, user.id).await?, "{table} has nothing of the user before");
    }

    let output = stack.run_operator_script_with("erase-user", &[&user.id.to_string()]).await?;

    ensure!(output.contains("Nothing of user"), "{output}");
    for table in tables.into_iter().chain(["Limits", "Vault"]) {
        same(count_items(stack, table, user.id).await?, 0, &format!("items of the user in {table}"))?;
    }
    same(deployment.http().get(&link).send().await?.status().as_u16(), 404, "status of the user's file")?;
    ensure!(!stack.root().has_object(bucket, &derived).await?, "a derived file of the user exists");
    user.api.get("/user").await?.is(401)?;
    other.api.get(&format!("/connections/{other_connection}")).await?.is(200)?;
    Ok(())
}

/// The number of items in a table that contain this user's id.
async fn count_items(stack: &Stack, table: &str, user: i64) -> Result<usize> {
    let mut body = json!({ "TableName": stack.name(&format!("{table}Table"))?, "ConsistentRead": true });
    let mut count = 0;
    loop {
        let page = stack.root().call("DynamoDB_20120810.Scan", &body).await?;
        count += list(&page, "Items")?.iter().filter(|it| it.to_string().contains(&user.to_string())).count();
        if page["LastEvaluatedKey"].is_null() {
            return Ok(count);
        }
        body["ExclusiveStartKey"] = page["LastEvaluatedKey"].clone();
    }
}
