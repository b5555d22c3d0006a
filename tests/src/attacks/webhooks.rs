//! One user's webhooks and their effect on others: messages to hosts that never agreed, and slow
//! endpoints.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use futures::future::try_join_all;
use serde_json::{Value, json};

use super::{Attack, AttackTargets};
use crate::{
    attacks,
    deployment::{User, fresh},
    ensure,
    error::{Result, TestError, same},
    http_response::list,
    moment,
    webhook_receiver::received,
};

pub(super) fn attacks() -> Vec<Attack> {
    attacks!(23, [
        "nine webhooks name a host that fails every test, and 48 events follow", "the host receives only the nine tests" => events_for_unverified_host;
        "320 messages to slow webhooks wait", "another user's message arrives within 5 s" => slow_endpoints;
    ])
}

/// At endpoints of the tests. Returns the name of the first.
async fn webhooks(deployments: &AttackTargets, user: &User<'_>, behavior: &str, count: usize) -> Result<String> {
    let files = deployments.lifted().files().ok_or_else(|| TestError::new("there is no server of the tests"))?;
    let names: Vec<_> = (0..count).map(|_| fresh("hook").replace(' ', "-")).collect();
    let first = names.first().cloned().unwrap_or_default();
    for name in names {
        // One name for all, so that their messages are counted together.
        let name = if behavior == "fails" { &first } else { &name };
        let body = json!({ "url": format!("http://{files}/webhooks/{name}/{behavior}") });
        let webhook = user.api.post("/webhooks", &body).await?.ok(201)?;
        user.api.post(&format!("/webhooks/{}/test", webhook["id"]), &json!({})).await?.is(202)?;
    }
    Ok(first)
}

async fn wait_until_enabled(user: &User<'_>) -> Result {
    moment::eventually(Duration::from_secs(30), "that all webhooks are enabled", || async {
        let all = user.api.get("/webhooks").await?.ok(200)?;
        Ok(list(&all, "data")?.iter().all(|it| it["status"] == "enabled").then_some(()))
    })
    .await
}

/// Three events for each of 16 posts: post scheduled, target published, post published.
async fn publish_events(user: &User<'_>, connection: &Value) -> Result {
    let posts = (0..16).map(async |number| user.schedule(&fresh(&format!("event {number}")), &[connection], 0).await);
    try_join_all(posts).await.map(drop)
}

async fn count_waiting_messages(user: &User<'_>) -> Result<usize> {
    let webhooks = user.api.get("/webhooks").await?.ok(200)?;
    let counts = list(&webhooks, "data")?.iter().map(async |it| {
        let all = user.api.get(&format!("/webhooks/{}/deliveries?per_page=100", it["id"])).await?.ok(200)?;
        Ok::<_, TestError>(list(&all, "data")?.iter().filter(|it| it["status"] == "waiting").count())
    });
    Ok(try_join_all(counts).await?.iter().sum())
}

async fn events_for_unverified_host(deployments: &AttackTargets) -> Result<String> {
    let mut user = deployments.lifted().new_user().await?;
    let connection = user.connect(0).await?;
    let host = webhooks(deployments, &user, "fails", 9).await?;
    let tests = || async { Ok((received(&host).len() == 9).then_some(())) };
    moment::eventually(Duration::from_secs(30), "the nine tests", tests).await?;
    let witness = webhooks(deployments, &user, "accepts", 1).await?;
    moment::eventually(Duration::from_secs(30), "that the tenth is enabled", || async {
        let all = user.api.get("/webhooks").await?.ok(200)?;
        Ok(list(&all, "data")?.iter().any(|it| it["status"] == "enabled").then_some(()))
    })
    .await?;

    publish_events(&user, &connection).await?;

    let event_count = || async { Ok(Some(received(&witness).len() - 1).filter(|it| 48 <= *it)) };
    let event_count = moment::eventually(Duration::from_secs(90), "48 events at the tenth", event_count).await?;
    same(count_waiting_messages(&user).await?, 0, "messages that wait")?;
    same(received(&host).len(), 9, "messages to a host that never accepted a test")?;
    Ok(format!("9 tests, while the user's tenth webhook got {event_count} events"))
}

async fn slow_endpoints(deployments: &AttackTargets) -> Result<String> {
    let deployment = deployments.lifted();
    let (mut noisy, mut quiet) = (deployment.new_user().await?, deployment.new_user().await?);
    webhooks(deployments, &noisy, "is-slow", 10).await?;
    let quiet_hook = webhooks(deployments, &quiet, "accepts", 1).await?;
    wait_until_enabled(&noisy).await?;
    wait_until_enabled(&quiet).await?;
    let slow = noisy.connect(0).await?;
    publish_events(&noisy, &slow).await?;
    let pending = || async { Ok(Some(count_waiting_messages(&noisy).await?).filter(|it| 320 <= *it)) };
    let pending = moment::eventually(Duration::from_mins(1), "320 messages that wait", pending).await?;

    let before = Utc::now();
    quiet.connect(0).await?;
    let received_at: DateTime<Utc> = moment::eventually(Duration::from_mins(1), "the other user's message", || async {
        Ok(received(&quiet_hook).get(1).map(|it| it.at))
    })
    .await?;
    let delay = received_at - before;
    for webhook in list(&noisy.api.get("/webhooks").await?.ok(200)?, "data")? {
        noisy.api.delete(&format!("/webhooks/{}", webhook["id"])).await?.is(204)?;
    }
    ensure!(delay <= TimeDelta::seconds(5), "it came after {delay}");
    Ok(format!("{} ms with {pending} pending", delay.num_milliseconds()))
}
