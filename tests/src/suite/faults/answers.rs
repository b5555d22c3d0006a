//! The platform responds, but with an error.

use serde_json::{Value, json};

use super::{FaultFixture, ORCHARD};
use crate::{
    checks,
    deployment::{Deployment, fresh, targets},
    ensure,
    error::{Result, same},
    http_response::{integer, text},
    moment,
    runner::Check,
    suite::publishing::once,
};

pub(super) fn checks() -> Vec<Check> {
    checks!(
        "faults",
        ORCHARD.0,
        [
            refused_post_fails_with_the_reason,
            busy_platform_is_retried,
            retry_waits_for_the_time_the_platform_gives,
            rate_limited_post_is_published_later,
            post_after_a_server_error_is_published_once,
            post_published_despite_an_error_is_found,
            retry_covers_only_unpublished_targets,
            failed_post_can_become_a_draft_if_nothing_was_published,
        ]
    )
}

async fn refused_post_fails_with_the_reason(deployment: &Deployment) -> Result {
    let faulty = FaultFixture::new(deployment, ORCHARD).await?;
    let content = fresh("refused");
    faulty.arm(json!({ "kind": "refuse" })).await?;

    let id = faulty.schedule(&content).await?;
    let post = faulty.user.reaches(id, "failed", 30).await?;

    let target = &post["platforms"][0];
    same(&target["status"], &json!("failed"), "status of the entry")?;
    let message = text(target, "error_message")?;
    ensure!(message.contains("against the rules of the sandbox"), "the platform's message is not in “{message}”");
    same(&target["platform_post_id"], &Value::Null, "platform_post_id")?;
    same(deployment.timeline(&content).await?.len(), 0, "entries on the timeline")?;
    // A failed post does not prevent disconnecting.
    let path = format!("/connections/{}", integer(&faulty.connection, "id")?);
    faulty.user.api.delete(&path).await?.is(204)?;
    Ok(())
}

async fn busy_platform_is_retried(deployment: &Deployment) -> Result {
    let faulty = FaultFixture::new(deployment, ORCHARD).await?;
    let content = fresh("busy");
    faulty.arm(json!({ "kind": "busy", "count": null })).await?;

    let id = faulty.schedule(&content).await?;
    faulty.shows_message(id, &["the sandbox is busy"]).await?;
    same(deployment.timeline(&content).await?.len(), 0, "entries on the timeline")?;
    faulty.disarm().await?;
    faulty.user.reaches(id, "published", 60).await?;

    once(deployment, &content).await.map(|_| ())
}

async fn retry_waits_for_the_time_the_platform_gives(deployment: &Deployment) -> Result {
    let faulty = FaultFixture::new(deployment, ORCHARD).await?;

    let published =
        faulty.publish_once(json!({ "kind": "busy_until", "delay_ms": 12_000 }), &["the sandbox is busy"], 60).await?;

    let due = moment::read(&published.post["scheduled_at"])?;
    let waited = moment::read(&published.entry["received_at"])? - due;
    ensure!(12_000 <= waited.num_milliseconds(), "it was tried again after {waited}, and 12 s were asked for");
    Ok(())
}

async fn rate_limited_post_is_published_later(deployment: &Deployment) -> Result {
    let faulty = FaultFixture::new(deployment, ORCHARD).await?;
    faulty.publish_once(json!({ "kind": "rate_limit", "count": 2 }), &["too many posts"], 150).await.map(|_| ())
}

async fn post_after_a_server_error_is_published_once(deployment: &Deployment) -> Result {
    let faulty = FaultFixture::new(deployment, ORCHARD).await?;
    faulty.publish_once(json!({ "kind": "error_before" }), &["internal error"], 150).await.map(|_| ())
}

async fn post_published_despite_an_error_is_found(deployment: &Deployment) -> Result {
    let faulty = FaultFixture::new(deployment, ORCHARD).await?;
    faulty.publish_once(json!({ "kind": "error_after" }), &["internal error"], 150).await.map(|_| ())
}

async fn retry_covers_only_unpublished_targets(deployment: &Deployment) -> Result {
    let mut faulty = FaultFixture::new(deployment, ORCHARD).await?;
    let good = faulty.user.connect(1).await?;
    let (content, new) = (fresh("half"), fresh("half, second try"));
    faulty.arm(json!({ "kind": "refuse" })).await?;
    let (user, bad) = (&faulty.user, &faulty.connection);
    let id = user.schedule(&content, &[&good, bad], 1).await?;
    let post = user.reaches(id, "failed", 30).await?;
    let path = format!("/posts/{id}");
    same(&post["platforms"][0]["status"], &json!("published"), "status of the good entry")?;

    // A public post cannot be changed any more.
    user.api.patch(&path, &json!({ "scheduled_at": null })).await?.invalid(&["scheduled_at"])?;
    user.api.patch(&path, &json!({ "platforms": targets(&[bad])? })).await?.expect_invalid_under("platforms")?;
    let mut other_words = targets(&[&good, bad])?;
    other_words[0]["content"] = json!("rewritten");
    user.api.patch(&path, &json!({ "platforms": other_words })).await?.expect_invalid_under("platforms.0")?;
    user.api.delete(&path).await?.invalid(&["status"])?;

    let change = json!({ "content": new, "scheduled_at": moment::in_seconds(1) });
    let rescheduled = user.change(id, &change).await?;
    same(&rescheduled["status"], &json!("scheduled"), "status after a new time")?;
    same(&rescheduled["platforms"][0]["content"], &json!(content), "text of the published entry")?;
    let post = user.reaches(id, "published", 60).await?;

    same(&post["platforms"][0]["content"], &json!(content), "text of the published entry")?;
    same(&post["platforms"][1]["error_message"], &Value::Null, "error_message of the second try")?;
    same(&once(deployment, &content).await?["account"], &good["username"], "account of the first text")?;
    same(&once(deployment, &new).await?["account"], &bad["username"], "account of the second text")
}

async fn failed_post_can_become_a_draft_if_nothing_was_published(deployment: &Deployment) -> Result {
    let faulty = FaultFixture::new(deployment, ORCHARD).await?;
    let content = fresh("failed to draft");
    faulty.arm(json!({ "kind": "refuse", "count": 2 })).await?;
    let user = &faulty.user;
    let first = faulty.schedule(&content).await?;
    user.reaches(first, "failed", 30).await?;
    let second = faulty.schedule(&content).await?;
    user.reaches(second, "failed", 30).await?;
    let failed = user.api.get("/posts?status=failed").await?.ok(200)?;
    same(integer(&failed["meta"], "total")?, 2, "failed posts")?;

    let draft = user.change(first, &json!({ "scheduled_at": null })).await?;
    user.api.delete(&format!("/posts/{second}")).await?.is(204)?;

    same(&draft["status"], &json!("draft"), "status")?;
    same(&draft["platforms"][0]["status"], &json!("pending"), "status of the entry")?;
    same(&draft["platforms"][0]["error_message"], &Value::Null, "error_message")?;
    user.change(first, &json!({ "scheduled_at": moment::in_seconds(1) })).await?;
    user.reaches(first, "published", 30).await?;
    once(deployment, &content).await.map(|_| ())
}
