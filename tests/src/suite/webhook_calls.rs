//! Messages that webhook endpoints receive, verified by independent libraries: the crate
//! `standardwebhooks` and the npm package of the same name.

use std::{io::Write, process::Stdio, time::Duration};

use serde_json::{Value, json};
use standardwebhooks::Webhook;
use steps::{ROOT, tools};

use crate::{
    checks,
    deployment::{Deployment, User, fresh},
    ensure,
    error::{Result, TestError, same},
    http_response::{list, text},
    moment,
    runner::Check,
    webhook_receiver::{ReceivedMessage, received},
};

pub(super) fn checks() -> Vec<Check> {
    checks!(
        "webhooks",
        [
            event_of_a_published_post_is_signed_and_verifies,
            only_chosen_events_are_sent,
            both_secrets_verify_after_a_rotation,
            failed_endpoint_is_retried_after_five_seconds,
            lost_response_is_resent_with_the_same_id,
            gone_endpoint_is_disabled_and_reported_to_the_other,
            slow_endpoint_delays_no_post_and_no_other_endpoint,
            webhook_delivery_can_be_repeated,
        ]
    )
}

/// A user's webhook at an endpoint of the tests.
struct TestWebhook {
    name: String,
    made: Value,
    /// The delivery of the test that enabled it.
    tested: Value,
}

impl TestWebhook {
    async fn new(user: &User<'_>, behavior: &str, events: &[&str]) -> Result<Self> {
        let files = user.deployment.files().ok_or_else(|| TestError::new("there is no server of the tests"))?;
        let name = fresh("hook").replace(' ', "-");
        let body = json!({ "url": format!("http://{files}/webhooks/{name}/{behavior}"), "events": events });
        let made = user.api.post("/webhooks", &body).await?.ok(201)?;
        same(&made["status"], &json!("unverified"), "status")?;
        let mut hook = Self { name, made, tested: Value::Null };
        hook.tested = hook.test(user).await?["id"].clone();
        let shown = moment::eventually(Duration::from_secs(20), "that the webhook is enabled", || async {
            let shown = user.api.get(&hook.path()).await?.ok(200)?;
            Ok((shown["status"] == "enabled").then_some(shown))
        })
        .await?;
        same(&shown["disabled"], &json!(false), "disabled")?;
        Ok(hook)
    }

    fn path(&self) -> String {
        format!("/webhooks/{}", self.made["id"])
    }

    /// Waits for `count` messages after the test that enabled it.
    async fn received(&self, count: usize, seconds: u64) -> Result<Vec<ReceivedMessage>> {
        let what = format!("message {count} at {}", self.name);
        moment::eventually(Duration::from_secs(seconds), &what, || async {
            Ok(Some(self.messages()).filter(|it| count <= it.len()))
        })
        .await
    }

    /// All messages so far, after the test that enabled it.
    fn messages(&self) -> Vec<ReceivedMessage> {
        received(&self.name).into_iter().skip(1).collect()
    }

    /// Waits until the latest delivery has this status, not counting the test that enabled it.
    async fn wait_for_delivery(&self, user: &User<'_>, status: &str, seconds: u64) -> Result<Value> {
        let what = format!("a delivery that is {status}");
        moment::eventually(Duration::from_secs(seconds), &what, || async {
            let all = user.api.get(&format!("{}/deliveries", self.path())).await?.ok(200)?;
            let latest = list(&all, "data")?.iter().find(|it| it["id"] != self.tested);
            Ok(latest.filter(|it| it["status"] == status).cloned())
        })
        .await
    }

    async fn test(&self, user: &User<'_>) -> Result<Value> {
        user.api.post(&format!("{}/test", self.path()), &json!({})).await?.ok(202)
    }
}

fn header(received: &ReceivedMessage, name: &str) -> String {
    received.headers.get(name).and_then(|it| it.to_str().ok()).unwrap_or_default().to_owned()
}

fn payload(received: &ReceivedMessage) -> Result<Value> {
    Ok(serde_json::from_str(&received.body)?)
}

fn verify(received: &ReceivedMessage, secret: &Value) -> Result {
    let verifier = Webhook::new(secret.as_str().unwrap_or_default()).map_err(|it| TestError::new(it.to_string()))?;
    verifier
        .verify(received.body.as_bytes(), &received.headers)
        .map_err(|it| TestError::new(format!("{it}: {received:?}")))
}

/// Verifies a message with the npm package, and with the public key alone.
async fn verify_in_javascript(deployment: &Deployment, received: &ReceivedMessage, secret: &Value) -> Result {
    tools::webhook_receiver()?;
    let key = deployment.stranger()?.get("/webhooks/key").await?.ok(200)?;
    let names = ["webhook-id", "webhook-timestamp", "webhook-signature"];
    let headers: serde_json::Map<_, _> =
        names.map(|it| (it.to_owned(), header(received, it).into())).into_iter().collect();
    let input = json!({ "secret": secret, "public_key": key["public_key"], "headers": headers, "body": received.body });
    let mut node = std::process::Command::new("node")
        .arg(format!("{ROOT}/tests/webhooks/verify.mjs"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = node.stdin.take() {
        stdin.write_all(input.to_string().as_bytes())?;
    }
    let output = node.wait_with_output()?;
    ensure!(output.status.success(), "verify.mjs: {}", String::from_utf8_lossy(&output.stderr));
    same(serde_json::from_slice::<Value>(&output.stdout)?, payload(received)?, "the verified messages")
}

async fn event_of_a_published_post_is_signed_and_verifies(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let hook = TestWebhook::new(&user, "accepts", &[]).await?;
    let connection = user.connect(0).await?;
    let post = user.schedule(&fresh("told"), &[&connection], 0).await?;

    let all = hook.received(4, 30).await?;

    let mut types = Vec::new();
    for one in &all {
        verify(one, &hook.made["secret"])?;
        ensure!(!header(one, "webhook-id").contains('.'), "webhook-id is {}", header(one, "webhook-id"));
        let sent: i64 = header(one, "webhook-timestamp").parse()?;
        ensure!((one.at.timestamp() - sent).abs() <= 5, "webhook-timestamp is {sent}");
        same(header(one, "content-type"), "application/json".to_owned(), "content-type")?;
        let trace = header(one, "traceparent");
        ensure!(trace.len() == 55 && trace.starts_with("00-"), "traceparent is {trace}");
        let payload = payload(one)?;
        same(payload.as_object().map(serde_json::Map::len), Some(4), "fields of a payload")?;
        same(&payload["webhook_id"], &hook.made["id"], "webhook_id")?;
        moment::read(&payload["timestamp"])?;
        ensure!(!one.body.contains("told"), "the text of a post is in {}", one.body);
        types.push(text(&payload, "type")?.to_owned());
        if payload["type"] == "post.published" {
            same(&payload["data"]["post_id"], &json!(post), "post_id")?;
        }
    }
    verify_in_javascript(deployment, &all[0], &hook.made["secret"]).await?;
    types.sort();
    same(
        types,
        ["connection.created", "post.published", "post.scheduled", "target.published"].map(str::to_owned).to_vec(),
        "events",
    )?;
    let delivered = hook.wait_for_delivery(&user, "delivered", 10).await?;
    same(&delivered["attempts"][0]["status"], &json!(204), "status of the attempt")
}

async fn only_chosen_events_are_sent(deployment: &Deployment) -> Result {
    let (mut user, other) = (deployment.new_user().await?, deployment.new_user().await?);
    let chosen = TestWebhook::new(&user, "accepts", &["connection.deleted"]).await?;
    let everything = TestWebhook::new(&user, "accepts", &[]).await?;
    let other_hook = TestWebhook::new(&other, "accepts", &[]).await?;
    let connection = user.connect(0).await?;
    user.api.delete(&format!("/connections/{}", connection["id"])).await?.is(204)?;

    everything.received(2, 20).await?;
    let messages = chosen.received(1, 20).await?;
    same(messages.len(), 1, "messages")?;
    same(&payload(&messages[0])?["type"], &json!("connection.deleted"), "type")?;
    same(other_hook.messages().len(), 0, "messages to another user")
}

async fn both_secrets_verify_after_a_rotation(deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;
    let hook = TestWebhook::new(&user, "accepts", &[]).await?;
    let rotated = user.api.post(&format!("{}/rotate", hook.path()), &json!({})).await?.ok(200)?;
    hook.test(&user).await?;

    let one = &hook.received(1, 20).await?[0];
    verify(one, &hook.made["secret"])?;
    verify(one, &rotated["secret"])?;
    verify_in_javascript(deployment, one, &rotated["secret"]).await
}

async fn failed_endpoint_is_retried_after_five_seconds(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let hook = TestWebhook::new(&user, "fails-once", &["connection.created"]).await?;
    user.connect(0).await?;

    let all = hook.received(2, 40).await?;
    let wait = (all[1].at - all[0].at).num_milliseconds();
    ensure!((4_400..12_000).contains(&wait), "the second came after {wait} ms");
    same(header(&all[0], "webhook-id"), header(&all[1], "webhook-id"), "webhook-id")?;
    verify(&all[1], &hook.made["secret"])?;
    let delivery = hook.wait_for_delivery(&user, "delivered", 10).await?;
    let statuses: Vec<_> = list(&delivery, "attempts")?.iter().map(|it| it["status"].clone()).collect();
    same(statuses, vec![json!(500), json!(200)], "statuses of the attempts")
}

async fn lost_response_is_resent_with_the_same_id(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let hook = TestWebhook::new(&user, "loses-once", &["connection.created"]).await?;
    user.connect(0).await?;

    let delivery = hook.wait_for_delivery(&user, "delivered", 40).await?;
    let all = hook.messages();
    let ids: std::collections::BTreeSet<_> = all.iter().map(|it| header(it, "webhook-id")).collect();
    same(ids.into_iter().collect::<Vec<_>>(), vec![text(&delivery, "id")?.to_owned()], "webhook-ids")
}

async fn gone_endpoint_is_disabled_and_reported_to_the_other(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let other = TestWebhook::new(&user, "accepts", &["webhook.disabled"]).await?;
    let gone = TestWebhook::new(&user, "is-gone", &["connection.created"]).await?;
    user.connect(0).await?;

    let message = &other.received(1, 20).await?[0];
    verify(message, &other.made["secret"])?;
    let data = payload(message)?["data"].clone();
    same((&data["webhook_id"], &data["reason"]), (&gone.made["id"], &json!("gone")), "data of the event")?;
    let shown = user.api.get(&gone.path()).await?.ok(200)?;
    same((&shown["disabled"], &shown["disabled_reason"]), (&json!(true), &json!("gone")), "disabled")?;
    let failed = gone.wait_for_delivery(&user, "failed", 10).await?;
    same(&failed["last_answer"], &json!("never again"), "last_answer")?;
    user.connect(1).await?;
    same(gone.messages().len(), 1, "messages after it was gone")?;
    let redeliver = format!("{}/deliveries/{}/redeliver", gone.path(), text(&failed, "id")?);
    user.api.post(&redeliver, &json!({})).await?.invalid(&["disabled"])?;
    let enabled = user.api.patch(&gone.path(), &json!({ "disabled": false })).await?.ok(200)?;
    same(&enabled["disabled_at"], &Value::Null, "disabled_at")?;
    user.api.post(&redeliver, &json!({})).await?.is(202)?;
    gone.received(2, 20).await.map(drop)
}

async fn slow_endpoint_delays_no_post_and_no_other_endpoint(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let slow = TestWebhook::new(&user, "is-slow", &[]).await?;
    let fast = TestWebhook::new(&user, "accepts", &["post.published"]).await?;
    let connection = user.connect(0).await?;
    let content = fresh("in time");
    user.schedule(&content, &[&connection], 0).await?;

    deployment.appears(&content, 12).await?;
    fast.received(1, 12).await?;
    let what = "an attempt without a response in time";
    let seen = moment::eventually(Duration::from_secs(40), what, || async {
        let all = user.api.get(&format!("{}/deliveries", slow.path())).await?.ok(200)?;
        let others = list(&all, "data")?.iter().filter(|it| it["id"] != slow.tested);
        let mut attempts = others.filter_map(|it| it["attempts"][0].as_object());
        Ok(attempts.next().cloned())
    })
    .await?;
    same(&seen["status"], &Value::Null, "status")?;
    ensure!(seen["error"].as_str().is_some_and(|it| it.contains("15 s")), "error is {}", seen["error"]);
    user.api.delete(&slow.path()).await?.is(204)?;
    Ok(())
}

async fn webhook_delivery_can_be_repeated(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let hook = TestWebhook::new(&user, "accepts", &["connection.created"]).await?;
    user.connect(0).await?;
    let delivery = hook.wait_for_delivery(&user, "delivered", 20).await?;

    let path = format!("{}/deliveries/{}/redeliver", hook.path(), text(&delivery, "id")?);
    let waiting = user.api.post(&path, &json!({})).await?.ok(202)?;
    same(&waiting["status"], &json!("waiting"), "status")?;
    let all = hook.received(2, 20).await?;
    same(header(&all[0], "webhook-id"), header(&all[1], "webhook-id"), "webhook-id")?;
    same(&all[0].body, &all[1].body, "the payload")?;
    verify(&all[1], &hook.made["secret"])
}
