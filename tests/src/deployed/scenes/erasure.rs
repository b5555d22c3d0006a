//! Removal: uploads that nothing uses, the access of a user, and everything of a user or of a customer.

use reqwest::Method;
use serde_json::{Value, json};

use super::{RECOVERED, Stack, item, set_number};
use crate::{
    deployment::{Deployment, fresh, targets},
    ensure,
    error::{Result, same},
    http_response::{integer, list, text},
    moment, picture,
};

/// No post used the upload for a day. The time in the table is changed so that it is due.
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

/// No earlier token is valid, and a new one is.
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

/// The operator's command erases the user's files, too; the data of others stays.
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

/// A user erases a customer: no table has an item that names the customer, a post, a file or a
/// webhook of theirs, and the data of another customer stays.
pub async fn erased_profile_leaves_no_items(stack: &Stack, deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let profile = integer(&user.api.post("/profiles", &json!({ "name": "A customer" })).await?.ok(201)?, "id")?;
    let other = integer(&user.api.post("/profiles", &json!({ "name": "Another" })).await?.ok(201)?, "id")?;
    let kept = user.connect_for(other, 1).await?;
    let kept =
        json!({ "content": fresh("of another"), "media": [user.picture().await?], "platforms": targets(&[&kept])? });
    let kept = integer(&user.create(&kept).await?, "id")?;

    let email = user.email.clone();
    let limited = deployment.limited_grant(&mut user.browser, &email, profile).await?;
    let all = std::mem::replace(&mut user.api, limited);
    let connection = user.connect(0).await?;
    user.begin().await?;
    let (picture, content) = (user.picture().await?, fresh("with a picture"));
    let body = json!({ "content": content, "media": [picture], "platforms": targets(&[&connection])? });
    let draft = user.api.call(Method::POST, "/posts").json(&body).header("idempotency-key", "k");
    let draft = draft.send().await?.ok(201)?;
    let link = text(&list(&draft, "media")?[0], "url")?.to_owned();
    let published = user.schedule(&fresh("before the end"), &[&connection], 1).await?;
    user.reaches(published, "published", RECOVERED).await?;
    let webhook = json!({ "url": "https://endpoint.invalid/" });
    let webhook = integer(&user.api.post("/webhooks", &webhook).await?.ok(201)?, "id")?;
    user.api.post(&format!("/webhooks/{webhook}/test"), &json!({})).await?.is(202)?;

    let number = |it: i64| json!({ "N": it.to_string() });
    let media: i64 = picture.rsplit(['/', '.']).nth(1).unwrap_or_default().parse()?;
    let event = json!({ "profile_id": profile }).to_string();
    let event = json!({ "user_id": number(user.id), "event": { "S": "left behind" }, "detail": { "S": event } });
    let claim = json!({
        "account": { "S": fresh("an account") },
        "post": { "S": "1" },
        "delivery": { "S": format!("{}/{published}/1/0", user.id) },
    });
    for (table, planted) in [("OutboxTable", event), ("ClaimsTable", claim)] {
        let planted = json!({ "TableName": stack.name(table)?, "Item": planted });
        stack.root().call("DynamoDB_20120810.PutItem", &planted).await?;
    }
    let (bucket, derived) = (stack.name("MediaBucket")?, format!("derived/{}/{media}-{:032x}", user.id, 7));
    stack.root().put_object(bucket, &derived, b"a picture").await?;
    let names = [profile, integer(&draft, "id")?, published, media, webhook, integer(&connection, "id")?];
    let tables = [
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
        ensure!(0 < count_items_of(stack, table, &names).await?, "{table} has nothing of the customer before");
    }

    all.delete(&format!("/profiles/{profile}?erase=true")).await?.is(409)?;
    all.delete(&format!("/connections/{}", integer(&connection, "id")?)).await?.is(204)?;
    all.delete(&format!("/profiles/{profile}?erase=true")).await?.is(204)?;
    user.api.get("/posts").await?.is(401)?;
    // Two hours pass, in which uploads end and connect flows expire.
    let two_hours_ago = (moment::now() - chrono::TimeDelta::hours(2)).timestamp_millis();
    let entry = json!({ "user_id": number(user.id), "entry": { "S": format!("erasure#{profile:016}") } });
    set_number(stack, stack.name("ProfilesTable")?, &entry, "requested_at", two_hours_ago).await?;
    let key = json!({ "user_id": number(user.id), "media_id": number(media) });
    set_number(stack, stack.name("MediaTable")?, &key, "created_at", two_hours_ago).await?;
    let flows = json!({ "TableName": stack.name("ConnectFlowsTable")?, "ConsistentRead": true });
    for flow in list(&stack.root().call("DynamoDB_20120810.Scan", &flows).await?, "Items")? {
        if flow["of_profile"]["M"]["profile_id"] == number(profile) {
            let key = json!({ "connect_flow": flow["connect_flow"] });
            set_number(stack, stack.name("ConnectFlowsTable")?, &key, "expires_at", two_hours_ago).await?;
        }
    }
    for _ in 0..6 {
        stack.root().invoke(stack.name("UpkeepFunction")?, &json!({})).await?;
    }

    same(item(stack, stack.name("ProfilesTable")?, &entry).await?, Value::Null, "the entry of the erasure")?;
    for table in tables.into_iter().chain(["Users", "Limits", "Credentials", "Vault"]) {
        same(count_items_of(stack, table, &names).await?, 0, &format!("items of the customer in {table}"))?;
    }
    same(deployment.http().get(&link).send().await?.status().as_u16(), 404, "status of the customer's file")?;
    ensure!(!stack.root().has_object(bucket, &derived).await?, "a derived file of the customer exists");
    let kept = all.get(&format!("/posts/{kept}")).await?.ok(200)?;
    let link = text(&list(&kept, "media")?[0], "url")?;
    same(deployment.http().get(link).send().await?.status().as_u16(), 200, "status of the other customer's file")
}

async fn count_items(stack: &Stack, table: &str, user: i64) -> Result<usize> {
    count_items_of(stack, table, &[user]).await
}

/// Counts items that contain one of these ids.
async fn count_items_of(stack: &Stack, table: &str, ids: &[i64]) -> Result<usize> {
    let mut body = json!({ "TableName": stack.name(&format!("{table}Table"))?, "ConsistentRead": true });
    let mut count = 0;
    loop {
        let page = stack.root().call("DynamoDB_20120810.Scan", &body).await?;
        let has_id = |item: &&Value| ids.iter().any(|it| item.to_string().contains(&it.to_string()));
        count += list(&page, "Items")?.iter().filter(has_id).count();
        if page["LastEvaluatedKey"].is_null() {
            return Ok(count);
        }
        body["ExclusiveStartKey"] = page["LastEvaluatedKey"].clone();
    }
}
