//! Scenes of a deployed stack: functions die, a new version is deployed, time passes, dead letters
//! are replayed.

mod erasure;
mod moving;
mod webhooks;

use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};
use serde_json::{Value, json};

pub use self::erasure::{
    disabled_user_can_be_enabled_again, erased_profile_leaves_no_items, erased_user_leaves_no_items,
    unused_uploads_are_inspected,
};
pub use self::moving::machine_moves_to_the_stack;
pub use self::webhooks::endpoint_receives_events;
use super::Stack;
use crate::{
    deployment::{Deployment, User, fresh, targets},
    ensure,
    error::{Result, TestError, same},
    http_response::{integer, list, text},
    moment,
};

/// Seconds that the last post may take after a function died with its lease: the lease must expire,
/// the next tick must find the delivery, and it must be sent.
const RECOVERED: u64 = 300;

/// By id and text.
struct ScheduledPosts(Vec<(i64, String)>);

impl ScheduledPosts {
    /// Due one after the other from `first` seconds on.
    async fn scheduled(user: &User<'_>, connection: &Value, count: i64, first: i64) -> Result<Self> {
        let posts = stream::iter(0..count).map(async |number| {
            let content = fresh("on its way");
            let id = user.schedule(&content, &[connection], first + number).await?;
            Ok::<_, TestError>((id, content))
        });
        Ok(Self(posts.buffer_unordered(4).try_collect().await?))
    }

    async fn ensure_published_once(&self, user: &User<'_>) -> Result {
        for (id, _) in &self.0 {
            user.reaches(*id, "published", RECOVERED).await?;
        }
        let timeline = user.deployment.all_posts().await?;
        for (id, content) in &self.0 {
            let found = timeline.iter().filter(|it| it["text"] == content.as_str()).count();
            same(found, 1, &format!("entries on the timeline for post {id}"))?;
        }
        Ok(())
    }
}

pub async fn killed_functions_publish_each_post_once(stack: &Stack, deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let connection = user.connect(0).await?;
    let posts = ScheduledPosts::scheduled(&user, &connection, 24, 12).await?;
    let mut killed = 0;
    for round in 0..40 {
        tokio::time::sleep(Duration::from_millis(900)).await;
        killed += stack.kill(["delivery", "publisher", "delivery", "posts"][round % 4])?;
    }
    ensure!(5 <= killed, "only {killed} functions were running when they were to die");
    posts.ensure_published_once(&user).await
}

/// Posts are due during the deployment.
pub async fn update_keeps_ids_and_posts(stack: &mut Stack, deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let connection = user.connect(0).await?;
    let names = stack.names().clone();
    let before = user.api.get("/connections").await?.ok(200)?;
    let posts = ScheduledPosts::scheduled(&user, &connection, 45, 10).await?;

    stack.update().await?;

    let is_kept = |name: &String| !name.ends_with("Permission");
    for (name, physical) in names.iter().filter(|(name, _)| is_kept(name)) {
        same(stack.name(name)?, physical, &format!("physical name of {name} after the update"))?;
    }
    same(user.api.get("/connections").await?.ok(200)?, before, "connections after the update")?;
    posts.ensure_published_once(&user).await?;
    let shown = user.api.get("/posts?per_page=50").await?.ok(200)?;
    same(list(&shown, "data")?.len(), posts.0.len(), "posts after the update")
}

/// The times in the tables are changed so that credentials and an unused upload are due.
pub async fn upkeep_refreshes_and_removes(stack: &Stack, deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let connection = integer(&user.connect(0).await?, "id")?;
    let path = user.picture().await?;
    // A post has used the upload and released it.
    let draft = integer(&user.create(&json!({ "content": fresh("draft"), "media": [path] })).await?, "id")?;
    user.api.call(reqwest::Method::DELETE, &format!("/posts/{draft}")).send().await?.is(204)?;
    let media_id: i64 = path.rsplit(['/', '.']).nth(1).unwrap_or_default().parse()?;
    let number = |it: i64| json!({ "N": it.to_string() });
    let connection_key = json!({ "user_id": number(user.id), "connection_id": number(connection) });
    let media_key = json!({ "user_id": number(user.id), "media_id": number(media_id) });
    let media = stack.name("MediaTable")?;
    let credentials = stack.name("CredentialsTable")?;
    let grant_key = find_grant_key(stack, &connection_key).await?;
    set_number(stack, credentials, &grant_key, "refresh_at", moment::now().timestamp_millis()).await?;
    let thirty_days_ago = (moment::now() - chrono::TimeDelta::days(30)).timestamp_millis();
    set_number(stack, media, &media_key, "unused_since", thirty_days_ago).await?;

    // Another user's grant is revoked by the platform, and this user must be notified.
    let mut other = deployment.new_user().await?;
    let lost = other.connect(1).await?;
    let lost_key = json!({ "user_id": number(other.id), "connection_id": number(integer(&lost, "id")?) });
    let lost_grant = find_grant_key(stack, &lost_key).await?;
    set_number(stack, credentials, &lost_grant, "refresh_at", moment::now().timestamp_millis()).await?;
    let account = text(&lost, "username")?;
    deployment.arm(&json!({ "account": account, "kind": "refuse_refresh" })).await?;

    stack.root().invoke(stack.name("UpkeepFunction")?, &json!({})).await?;

    deployment.disarm(account).await?;
    let shown = other.api.get(&format!("/connections/{}", integer(&lost, "id")?)).await?.ok(200)?;
    same(&shown["needs_reconnection"], &json!(true), "needs_reconnection after the grant was revoked")?;
    let refreshed = item(stack, credentials, &grant_key).await?;
    let next: i64 = refreshed["refresh_at"]["N"].as_str().unwrap_or_default().parse()?;
    ensure!(moment::now().timestamp_millis() < next, "the credentials were not renewed: {next}");
    same(item(stack, media, &media_key).await?, Value::Null, "the upload that nothing uses")?;
    let content = fresh("with new credentials");
    let connection = user.api.get(&format!("/connections/{connection}")).await?.ok(200)?;
    let id = user.schedule(&content, &[&connection], 1).await?;
    user.reaches(id, "published", 60).await?;
    Ok(())
}

pub async fn dead_letters_are_replayed(stack: &Stack, deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let connection = user.connect(0).await?;
    let post = user.create(&json!({ "content": fresh("a letter"), "platforms": targets(&[&connection])? })).await?;
    let delivery_message = letter(&user, &post, &connection)?;
    let (dead_letter_queue, queue) = (stack.name("DeadLetterQueue")?, stack.name("DeliveryQueue")?);
    // Messages of earlier scenes may wait there for minutes: for a platform that limited the rate,
    // or behind a function that was killed.
    let others = count_messages(stack, queue).await?;
    for _ in 0..3 {
        let message = json!({ "QueueUrl": dead_letter_queue, "MessageBody": delivery_message.to_string() });
        stack.root().call("AmazonSQS.SendMessage", &message).await?;
    }

    let output = stack.operator("replay-dead-letters").await?;

    ensure!(output.contains('3'), "the command does not print the number: {output}");
    for (url, rest) in [(dead_letter_queue, 0), (queue, others)] {
        let done = || async { Ok((count_messages(stack, url).await? <= rest).then_some(())) };
        moment::eventually(Duration::from_mins(1), &format!("no message in {url}"), done).await?;
    }
    Ok(())
}

pub async fn edge_is_deployed(stack: &Stack) -> Result {
    let mut created = stack.deploy_edge().await?;
    created.sort();
    let wanted = [
        "AWS::CloudFront::Distribution",
        "AWS::CloudFront::Function",
        "AWS::CloudFront::OriginRequestPolicy",
        "AWS::WAFv2::WebACL",
    ];
    same(created, wanted.map(str::to_owned).into(), "what was made")
}

/// A day later, tokens are marked as used, and a user gets the name that the issuer now has.
pub async fn daily_work_is_done(stack: &Stack, deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;
    let table = stack.name("GrantsTable")?;
    for path in ["/connections", "/posts", "/user", "/webhooks", "/media"] {
        let wanted = json!({
            "TableName": table,
            "IndexName": "by_user",
            "KeyConditionExpression": "#owner = :user",
            "ExpressionAttributeNames": { "#owner": "owner" },
            "ExpressionAttributeValues": { ":user": { "N": user.id.to_string() } },
        });
        let grants = stack.root().call("DynamoDB_20120810.Query", &wanted).await?;
        let tokens = list(&grants, "Items")?.iter().filter(|it| it["last_used_at"].is_object());
        let before = (moment::now() - chrono::TimeDelta::days(2)).timestamp_millis();
        let mut found = Vec::new();
        for token in tokens {
            let key = json!({ "grant": token["grant"] });
            set_number(stack, table, &key, "last_used_at", before).await?;
            found.push(key);
        }
        ensure!(!found.is_empty(), "the user has no token: {grants}");

        if path == "/media" {
            user.picture().await?;
        } else {
            user.api.get(path).await?.ok(200)?;
        }

        for key in found {
            let now = item(stack, table, &key).await?;
            let last: i64 = now["last_used_at"]["N"].as_str().unwrap_or_default().parse()?;
            ensure!(before < last, "GET {path} did not tell the token that it is in use");
        }
    }

    let renamed = format!("{} the second", user.email.split('@').next().unwrap_or_default());
    stack.user_pool()?.rename(&user.email, &renamed).await?;
    let mut browser = deployment.browser()?;
    deployment.sign_in(&mut browser, &format!("{}/account", deployment.origin()), &user.email).await?;
    same(text(&user.api.get("/user").await?.ok(200)?, "name")?, renamed.as_str(), "name after signing in again")
}

/// The file is gone when the post is due. The user is notified.
pub async fn missing_file_fails_its_post(stack: &Stack, deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let connection = user.connect(0).await?;
    let path = user.picture().await?;
    let post = user
        .create(&json!({
            "content": fresh("without its picture"),
            "platforms": targets(&[&connection])?,
            "media": [path],
            "scheduled_at": moment::in_seconds(7200),
        }))
        .await?;
    // The file must be removed before preparation reads it, which would begin immediately if the
    // post were due soon.
    stack.root().remove_object(stack.name("MediaBucket")?, &path).await?;
    let id = integer(&post, "id")?;
    let soon = json!({ "scheduled_at": moment::in_seconds(8) });
    user.change(id, &soon).await?;

    let message_shown = || async {
        let message = user.show(id).await?["platforms"][0]["error_message"].as_str().unwrap_or_default().to_owned();
        Ok(message.contains("is not in the bucket").then_some(()))
    };
    moment::eventually(Duration::from_mins(1), "word of the lost file", message_shown).await?;
    user.api.delete(&format!("/posts/{id}")).await?.is(204)?;
    Ok(())
}

pub async fn delivery_without_its_post_ends(stack: &Stack, deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let connection = user.connect(0).await?;
    let post = user
        .create(&json!({
            "content": fresh("soon an orphan"),
            "platforms": targets(&[&connection])?,
            "scheduled_at": moment::in_seconds(7200),
        }))
        .await?;
    let delivery_message = letter(&user, &post, &connection)?;
    let table = stack.name("DeliveriesTable")?;
    let user_query = json!({
        "TableName": table,
        "KeyConditionExpression": "user_id = :user",
        "ExpressionAttributeValues": { ":user": { "N": user.id.to_string() } },
    });
    let deliveries = || async {
        let found = stack.root().call("DynamoDB_20120810.Query", &user_query).await?;
        Ok::<_, TestError>(list(&found, "Items")?.len())
    };
    same(deliveries().await?, 1, "deliveries of the post")?;
    let key =
        json!({ "user_id": { "N": user.id.to_string() }, "post_id": { "N": delivery_message["post_id"].to_string() } });
    let removal = json!({ "TableName": stack.name("PostsTable")?, "Key": key });
    stack.root().call("DynamoDB_20120810.DeleteItem", &removal).await?;

    let message = json!({ "QueueUrl": stack.name("DeliveryQueue")?, "MessageBody": delivery_message.to_string() });
    stack.root().call("AmazonSQS.SendMessage", &message).await?;

    let no_delivery = || async { Ok((deliveries().await? == 0).then_some(())) };
    moment::eventually(Duration::from_mins(1), "no delivery without a post", no_delivery).await
}

/// A change arrives after the delivery has ended, but before the post shows it: the outcome is
/// written to the post first, and then the change is refused.
pub async fn change_after_publication_is_refused(stack: &Stack, deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let connection = user.connect(0).await?;
    let id = user.schedule(&fresh("changed too late"), &[&connection], 7200).await?;
    let table = stack.name("DeliveriesTable")?;
    let user_query = json!({
        "TableName": table,
        "KeyConditionExpression": "user_id = :user",
        "ExpressionAttributeValues": { ":user": { "N": user.id.to_string() } },
    });
    let found = stack.root().call("DynamoDB_20120810.Query", &user_query).await?;
    let delivery = list(&found, "Items")?.first().cloned().unwrap_or_default();
    // The format of libs/domain/src/delivery.rs.
    let at = json!({ "N": moment::now().timestamp_millis().to_string() });
    let published = json!({ "L": [{ "M": { "platform_post_id": { "S": "1" }, "at": at } }] });
    let state = json!({ "M": { "is": { "S": "published" } } });
    let update = json!({
        "TableName": table,
        "Key": { "user_id": delivery["user_id"], "delivery": delivery["delivery"] },
        "UpdateExpression": "SET #state = :state, published = :published",
        "ExpressionAttributeNames": { "#state": "state" },
        "ExpressionAttributeValues": { ":state": state, ":published": published },
    });
    stack.root().call("DynamoDB_20120810.UpdateItem", &update).await?;

    user.api.delete(&format!("/posts/{id}")).await?.is(422)?;

    same(text(&user.show(id).await?, "status")?, "published", "status of the post")
}

/// The service gets its public address, and a platform reads its client document there. The
/// document is the same from every process, because its key is generated once and stored.
pub async fn client_document_is_served(stack: &mut Stack, deployment: &Deployment) -> Result {
    let public = "https://social.example";
    stack.move_to(public).await?;
    let address = "/connect/client/bluesky";
    let read = || async {
        let answer = deployment.http().get(format!("{}{address}", deployment.origin())).send().await?;
        same(answer.status().as_u16(), 200, &format!("status of GET {address}"))?;
        Ok::<Value, TestError>(answer.json().await?)
    };

    // A busy emulator may need more than one call to start a function whose settings changed.
    let first = async || Ok(read().await.ok());
    let document = moment::eventually(Duration::from_secs(30), "the document of the new address", first).await?;

    same(text(&document, "client_id")?, format!("{public}{address}").as_str(), "what it is called")?;
    let keys = list(&document["jwks"], "keys")?;
    ensure!(!keys.is_empty() && keys.iter().all(|it| it["d"].is_null()), "not its public keys: {document}");
    ensure!(1 <= stack.kill("connections")?, "no process of connections was running");
    same(read().await?, document, "the document of another process")
}

fn letter(user: &User<'_>, post: &Value, connection: &Value) -> Result<Value> {
    Ok(json!({
        "user_id": user.id,
        "post_id": integer(post, "id")?,
        "target_id": integer(&post["platforms"][0], "id")?,
        "connection_id": integer(connection, "id")?,
        "revision": 1,
    }))
}

async fn find_grant_key(stack: &Stack, connection_key: &Value) -> Result<Value> {
    let connection = item(stack, stack.name("ConnectionsTable")?, connection_key).await?;
    Ok(json!({ "user_id": connection["user_id"], "grant_name": connection["grant_name"] }))
}

async fn set_number(stack: &Stack, table: &str, key: &Value, name: &str, number: i64) -> Result {
    set(stack, table, key, name, json!({ "N": number.to_string() })).await
}

async fn set(stack: &Stack, table: &str, key: &Value, name: &str, value: Value) -> Result {
    let change = json!({
        "TableName": table,
        "Key": key,
        "UpdateExpression": "SET #it = :value",
        "ConditionExpression": "attribute_exists(#it)",
        "ExpressionAttributeNames": { "#it": name },
        "ExpressionAttributeValues": { ":value": value },
    });
    stack.root().call("DynamoDB_20120810.UpdateItem", &change).await?;
    Ok(())
}

/// Null when there is none.
async fn item(stack: &Stack, table: &str, key: &Value) -> Result<Value> {
    let wanted = json!({ "TableName": table, "Key": key, "ConsistentRead": true });
    Ok(stack.root().call("DynamoDB_20120810.GetItem", &wanted).await?["Item"].clone())
}

/// With hidden messages.
async fn count_messages(stack: &Stack, url: &str) -> Result<u64> {
    let names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"];
    let wanted = json!({ "QueueUrl": url, "AttributeNames": names });
    let response = stack.root().call("AmazonSQS.GetQueueAttributes", &wanted).await?;
    let mut sum = 0;
    for name in names {
        sum += text(&response["Attributes"], name)?.parse::<u64>()?;
    }
    Ok(sum)
}
