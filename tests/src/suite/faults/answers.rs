//! The platform answers, but not with what was asked for.

use serde_json::{Value, json};

use super::{Faulty, ORCHARD};
use crate::{
    answer::{integer, text},
    checks, ensure,
    fault::{Result, same},
    moment,
    runner::Check,
    suite::publishing::once,
    world::targets,
    world::{Deployment, fresh},
};

pub(super) fn checks() -> Vec<Check> {
    checks!(
        "faults",
        ORCHARD.0,
        [
            a_refused_post_has_failed_and_says_why,
            a_busy_platform_is_tried_again,
            a_busy_platform_is_not_tried_before_the_time_it_gives,
            a_rate_limited_post_goes_out_afterwards,
            a_post_that_met_an_error_goes_out_once,
            a_post_that_is_public_despite_an_error_is_found,
            a_failed_post_retries_only_what_is_not_published,
            a_failed_post_can_become_a_draft_where_nothing_went_out,
        ]
    )
}

async fn a_refused_post_has_failed_and_says_why(world: &Deployment) -> Result {
    let faulty = Faulty::new(world, ORCHARD).await?;
    let words = fresh("refused");
    faulty.arm(json!({ "kind": "refuse" })).await?;

    let id = faulty.schedule(&words).await?;
    let post = faulty.user.reaches(id, "failed", 30).await?;

    let target = &post["platforms"][0];
    same(&target["status"], &json!("failed"), "status of the entry")?;
    let said = text(target, "error_message")?;
    ensure!(said.contains("against the rules of the sandbox"), "the platform's words are not in “{said}”");
    same(&target["platform_post_id"], &Value::Null, "platform_post_id")?;
    same(world.timeline(&words).await?.len(), 0, "entries on the timeline")?;
    // A failed post no longer keeps its connection from being disconnected.
    let path = format!("/connections/{}", integer(&faulty.connection, "id")?);
    faulty.user.api.delete(&path).await?.is(204)?;
    Ok(())
}

async fn a_busy_platform_is_tried_again(world: &Deployment) -> Result {
    let faulty = Faulty::new(world, ORCHARD).await?;
    let words = fresh("busy");
    faulty.arm(json!({ "kind": "busy", "count": null })).await?;

    let id = faulty.schedule(&words).await?;
    faulty.is_told(id, &["the sandbox is busy"]).await?;
    same(world.timeline(&words).await?.len(), 0, "entries on the timeline")?;
    faulty.disarm().await?;
    faulty.user.reaches(id, "published", 60).await?;

    once(world, &words).await.map(|_| ())
}

async fn a_busy_platform_is_not_tried_before_the_time_it_gives(world: &Deployment) -> Result {
    let faulty = Faulty::new(world, ORCHARD).await?;

    let out =
        faulty.goes_out_once(json!({ "kind": "busy_until", "delay_ms": 12_000 }), &["the sandbox is busy"], 60).await?;

    let due = moment::read(&out.post["scheduled_at"])?;
    let waited = moment::read(&out.entry["received_at"])? - due;
    ensure!(12_000 <= waited.num_milliseconds(), "it was tried again after {waited}, and 12 s were asked for");
    Ok(())
}

async fn a_rate_limited_post_goes_out_afterwards(world: &Deployment) -> Result {
    let faulty = Faulty::new(world, ORCHARD).await?;
    faulty.goes_out_once(json!({ "kind": "rate_limit", "count": 2 }), &["too many posts"], 150).await.map(|_| ())
}

async fn a_post_that_met_an_error_goes_out_once(world: &Deployment) -> Result {
    let faulty = Faulty::new(world, ORCHARD).await?;
    faulty.goes_out_once(json!({ "kind": "error_before" }), &["something failed here"], 150).await.map(|_| ())
}

async fn a_post_that_is_public_despite_an_error_is_found(world: &Deployment) -> Result {
    let faulty = Faulty::new(world, ORCHARD).await?;
    faulty.goes_out_once(json!({ "kind": "error_after" }), &["something failed here"], 150).await.map(|_| ())
}

async fn a_failed_post_retries_only_what_is_not_published(world: &Deployment) -> Result {
    let mut faulty = Faulty::new(world, ORCHARD).await?;
    let good = faulty.user.connect(1).await?;
    let (words, new) = (fresh("half"), fresh("half, second try"));
    faulty.arm(json!({ "kind": "refuse" })).await?;
    let (user, bad) = (&faulty.user, &faulty.connection);
    let id = user.schedule(&words, &[&good, bad], 1).await?;
    let post = user.reaches(id, "failed", 30).await?;
    let path = format!("/posts/{id}");
    same(&post["platforms"][0]["status"], &json!("published"), "status of the good entry")?;

    // A post that is public cannot be changed any more.
    user.api.patch(&path, &json!({ "scheduled_at": null })).await?.invalid(&["scheduled_at"])?;
    user.api.patch(&path, &json!({ "platforms": targets(&[bad])? })).await?.invalid_under("platforms")?;
    let mut other_words = targets(&[&good, bad])?;
    other_words[0]["content"] = json!("rewritten");
    user.api.patch(&path, &json!({ "platforms": other_words })).await?.invalid_under("platforms.0")?;
    user.api.delete(&path).await?.invalid(&["status"])?;

    let change = json!({ "content": new, "scheduled_at": moment::in_seconds(1) });
    let again = user.change(id, &change).await?;
    same(&again["status"], &json!("scheduled"), "status after a new time")?;
    same(&again["platforms"][0]["content"], &json!(words), "words of the published entry")?;
    let post = user.reaches(id, "published", 60).await?;

    same(&post["platforms"][0]["content"], &json!(words), "words of the published entry")?;
    same(&post["platforms"][1]["error_message"], &Value::Null, "error_message of the second try")?;
    same(&once(world, &words).await?["account"], &good["username"], "account of the first words")?;
    same(&once(world, &new).await?["account"], &bad["username"], "account of the second words")
}

async fn a_failed_post_can_become_a_draft_where_nothing_went_out(world: &Deployment) -> Result {
    let faulty = Faulty::new(world, ORCHARD).await?;
    let words = fresh("failed to draft");
    faulty.arm(json!({ "kind": "refuse", "count": 2 })).await?;
    let user = &faulty.user;
    let first = faulty.schedule(&words).await?;
    user.reaches(first, "failed", 30).await?;
    let second = faulty.schedule(&words).await?;
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
    once(world, &words).await.map(|_| ())
}
