//! What happens when the platform misbehaves.
//!
//! One after the other on one account that no other check publishes to, because
//! an armed fault takes whatever call comes next.

use std::time::Duration;

use serde_json::{Value, json};

use super::publishing::once;
use crate::{
    checks,
    client::{integer, text},
    ensure,
    fault::{Result, same},
    moment,
    runner::Check,
    user::{User, targets},
    world::{World, fresh},
};

pub(super) fn checks() -> Vec<Check> {
    checks!(
        "faults",
        Some("faulty account"),
        [
            a_refused_post_has_failed_and_says_why,
            a_rate_limited_post_goes_out_afterwards,
            a_post_that_met_an_error_goes_out_once,
            a_lost_answer_does_not_publish_twice,
            a_slow_platform_is_waited_for_and_nothing_is_changed_meanwhile,
            a_revoked_grant_waits_for_reconnection,
            a_failed_post_retries_only_what_is_not_published,
            a_failed_post_can_become_a_draft_where_nothing_went_out,
        ]
    )
}

const FAULTY: usize = 2;

/// A user connected to the account that faults are armed for.
async fn faulty(world: &World) -> Result<(User<'_>, Value, String)> {
    world.disarm().await?;
    let mut user = world.new_user().await?;
    let connection = user.connect(FAULTY).await?;
    let account = text(&connection, "username")?.to_owned();
    Ok((user, connection, account))
}

async fn a_refused_post_has_failed_and_says_why(world: &World) -> Result {
    let (user, connection, account) = faulty(world).await?;
    let words = fresh("refused");
    world.arm(&account, "refuse", 1, 0).await?;

    let id = user.schedule(&words, &[&connection], 1).await?;
    let post = user.reaches(id, "failed", 30).await?;

    let target = &post["platforms"][0];
    same(&target["status"], &json!("failed"), "status of the entry")?;
    ensure!(text(target, "error_message")?.len() > 10, "error_message says nothing: {target}");
    same(&target["platform_post_id"], &Value::Null, "platform_post_id")?;
    same(world.timeline(&words).await?.len(), 0, "entries on the timeline")?;
    // A failed post holds its connection no longer.
    user.api.delete(&format!("/connections/{}", integer(&connection, "id")?)).await?.is(204)?;
    Ok(())
}

async fn a_rate_limited_post_goes_out_afterwards(world: &World) -> Result {
    let (user, connection, account) = faulty(world).await?;
    let words = fresh("rate limited");
    world.arm(&account, "rate_limit", 1, 0).await?;

    let id = user.schedule(&words, &[&connection], 1).await?;
    user.reaches(id, "published", 150).await?;

    once(world, &words).await.map(|_| ())
}

async fn a_post_that_met_an_error_goes_out_once(world: &World) -> Result {
    let (user, connection, account) = faulty(world).await?;
    let words = fresh("error before");
    world.arm(&account, "error_before", 1, 0).await?;

    let id = user.schedule(&words, &[&connection], 1).await?;
    user.reaches(id, "published", 150).await?;

    once(world, &words).await.map(|_| ())
}

async fn a_lost_answer_does_not_publish_twice(world: &World) -> Result {
    let (user, connection, account) = faulty(world).await?;
    let words = fresh("lost answer");
    world.arm(&account, "lose_answer", 1, 0).await?;

    let id = user.schedule(&words, &[&connection], 1).await?;
    let post = user.reaches(id, "published", 150).await?;

    once(world, &words).await?;
    text(&post["platforms"][0], "platform_post_id")?;
    Ok(())
}

async fn a_slow_platform_is_waited_for_and_nothing_is_changed_meanwhile(world: &World) -> Result {
    let (user, connection, account) = faulty(world).await?;
    let words = fresh("slow");
    world.arm(&account, "slow", 1, 5000).await?;

    let id = user.schedule(&words, &[&connection], 1).await?;
    user.reaches(id, "publishing", 20).await?;
    let path = format!("/posts/{id}");
    let connected = format!("/connections/{}", integer(&connection, "id")?);
    for change in [json!({ "content": "new" }), json!({ "scheduled_at": null })] {
        user.api.patch(&path, &change).await?.invalid(&["status"])?;
    }
    user.api.delete(&path).await?.invalid(&["status"])?;
    user.api.delete(&connected).await?.error(422, "has_pending_posts")?;
    user.reaches(id, "published", 60).await?;

    once(world, &words).await.map(|_| ())
}

async fn a_revoked_grant_waits_for_reconnection(world: &World) -> Result {
    let (mut user, connection, account) = faulty(world).await?;
    let words = fresh("revoked");
    world.arm(&account, "revoke", 1, 0).await?;
    let path = format!("/connections/{}", integer(&connection, "id")?);

    let id = user.schedule(&words, &[&connection], 1).await?;
    moment::eventually(Duration::from_secs(30), "needs_reconnection", || async {
        let shown = user.api.get(&path).await?.ok(200)?;
        Ok((shown["needs_reconnection"] == true).then_some(()))
    })
    .await?;

    let waiting = user.show(id).await?;
    ensure!(["scheduled", "publishing"].contains(&text(&waiting, "status")?), "a waiting post is {waiting}");
    text(&waiting["platforms"][0], "error_message")?;
    let listed = user.api.get("/connections?status=needs_reconnection").await?.ok(200)?;
    same(&listed["data"][0]["id"], &connection["id"], "the connection that needs reconnection")?;
    let body = json!({ "content": "a", "platforms": targets(&[&connection])?, "scheduled_at": moment::in_seconds(60) });
    user.api.post("/posts", &body).await?.invalid(&["platforms.0.connected_account_id"])?;

    let renewed = user.connect(FAULTY).await?;
    same(&renewed["id"], &connection["id"], "id of the renewed connection")?;
    same(&renewed["needs_reconnection"], &json!(false), "needs_reconnection")?;
    user.reaches(id, "published", 150).await?;
    once(world, &words).await.map(|_| ())
}

async fn a_failed_post_retries_only_what_is_not_published(world: &World) -> Result {
    let (mut user, bad, account) = faulty(world).await?;
    let good = user.connect(1).await?;
    let (words, new) = (fresh("half"), fresh("half, second try"));
    world.arm(&account, "refuse", 1, 0).await?;
    let id = user.schedule(&words, &[&good, &bad], 1).await?;
    let post = user.reaches(id, "failed", 30).await?;
    let path = format!("/posts/{id}");
    same(&post["platforms"][0]["status"], &json!("published"), "status of the good entry")?;

    // What is public stays as it is.
    user.api.patch(&path, &json!({ "scheduled_at": null })).await?.invalid(&["scheduled_at"])?;
    user.api.patch(&path, &json!({ "platforms": targets(&[&bad])? })).await?.invalid_under("platforms")?;
    let mut other_words = targets(&[&good, &bad])?;
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

async fn a_failed_post_can_become_a_draft_where_nothing_went_out(world: &World) -> Result {
    let (user, connection, account) = faulty(world).await?;
    let words = fresh("failed to draft");
    world.arm(&account, "refuse", 2, 0).await?;
    let first = user.schedule(&words, &[&connection], 1).await?;
    user.reaches(first, "failed", 30).await?;
    let second = user.schedule(&words, &[&connection], 1).await?;
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
