//! The platform does not accept our credentials any more.

use serde_json::json;

use super::{FERRY, Faulty};
use crate::{
    answer::integer,
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
        FERRY.0,
        [
            an_access_token_that_ended_is_renewed_and_nobody_notices,
            a_revoked_grant_waits_for_reconnection,
            what_waits_for_reconnection_can_be_taken_back,
            a_refused_renewal_waits_for_reconnection,
            a_renewal_that_is_not_possible_now_is_tried_again,
            a_renewed_token_that_was_lost_waits_for_reconnection,
        ]
    )
}

async fn an_access_token_that_ended_is_renewed_and_nobody_notices(world: &Deployment) -> Result {
    let faulty = Faulty::new(world, FERRY).await?;

    faulty.goes_out_once(json!({ "kind": "expire" }), &[], 60).await?;

    let path = format!("/connections/{}", integer(&faulty.connection, "id")?);
    let shown = faulty.user.api.get(&path).await?.ok(200)?;
    same(&shown["needs_reconnection"], &json!(false), "needs_reconnection after a renewal")
}

async fn a_revoked_grant_waits_for_reconnection(world: &Deployment) -> Result {
    let faulty = Faulty::new(world, FERRY).await?;
    let words = fresh("revoked");
    faulty.arm(json!({ "kind": "revoke" })).await?;
    let id = faulty.schedule(&words).await?;
    faulty.is_lost(30).await?;

    let listed = faulty.user.api.get("/connections?status=needs_reconnection").await?.ok(200)?;
    same(&listed["data"][0]["id"], &faulty.connection["id"], "the connection that needs reconnection")?;
    let platforms = targets(&[&faulty.connection])?;
    let body = json!({ "content": "a", "platforms": platforms, "scheduled_at": moment::in_seconds(60) });
    faulty.user.api.post("/posts", &body).await?.invalid(&["platforms.0.connected_account_id"])?;

    waits_and_goes_out_once_reconnected(faulty, id, &words).await
}

async fn what_waits_for_reconnection_can_be_taken_back(world: &Deployment) -> Result {
    let faulty = Faulty::new(world, FERRY).await?;
    faulty.arm(json!({ "kind": "revoke" })).await?;
    let id = faulty.schedule(&fresh("revoked and taken back")).await?;
    faulty.is_lost(30).await?;
    faulty.is_told(id, &["connect the account again"]).await?;
    let shown = faulty.user.show(id).await?;
    same(&shown["status"], &json!("scheduled"), "status of a post that waits for reconnection")?;
    same(&shown["platforms"][0]["status"], &json!("pending"), "status of its entry")?;
    let path = format!("/connections/{}", integer(&faulty.connection, "id")?);
    faulty.user.api.delete(&path).await?.error(422, "has_pending_posts")?;
    // Anything of it can be changed but its time.
    let corrected = fresh("revoked and corrected");
    for change in [json!({}), json!({ "content": corrected }), json!({ "media": [] })] {
        same(&faulty.user.change(id, &change).await?["status"], &json!("scheduled"), "status after a change")?;
    }
    let later = json!({ "scheduled_at": moment::in_seconds(600) });
    let refused = faulty.user.api.patch(&format!("/posts/{id}"), &later).await?;
    refused.invalid(&["platforms.0.connected_account_id"])?;

    let draft = faulty.user.change(id, &json!({ "scheduled_at": null })).await?;
    same(&draft["status"], &json!("draft"), "status of the post taken back")?;
    faulty.user.api.delete(&path).await?.is(204)?;
    faulty.user.api.delete(&format!("/posts/{id}")).await?.is(204)?;
    faulty.disarm().await
}

async fn a_refused_renewal_waits_for_reconnection(world: &Deployment) -> Result {
    lost_by(world, "refuse_refresh", 30).await
}

async fn a_renewed_token_that_was_lost_waits_for_reconnection(world: &Deployment) -> Result {
    // The renewal is retried with the old refresh token, which is spent, and
    // that ends the grant.
    lost_by(world, "lose_refresh", 150).await
}

async fn lost_by(world: &Deployment, kind: &str, seconds: u64) -> Result {
    let faulty = Faulty::new(world, FERRY).await?;
    let words = fresh(kind);
    faulty.arm(json!({ "kind": kind })).await?;
    let id = faulty.schedule(&words).await?;
    faulty.is_lost(seconds).await?;
    waits_and_goes_out_once_reconnected(faulty, id, &words).await
}

async fn waits_and_goes_out_once_reconnected(mut faulty: Faulty<'_>, id: i64, words: &str) -> Result {
    faulty.is_told(id, &["connect the account again"]).await?;
    same(faulty.world.timeline(words).await?.len(), 0, "entries on the timeline")?;

    faulty.reconnect().await?;
    faulty.user.reaches(id, "published", 150).await?;

    once(faulty.world, words).await.map(|_| ())
}

async fn a_renewal_that_is_not_possible_now_is_tried_again(world: &Deployment) -> Result {
    let faulty = Faulty::new(world, FERRY).await?;
    let words = fresh("refresh unreachable");
    faulty.arm(json!({ "kind": "refresh_unreachable", "count": null })).await?;

    let id = faulty.schedule(&words).await?;
    let said = faulty.is_told(id, &["cannot be renewed now"]).await?;
    ensure!(!said.contains("connect the account again"), "a passing failure asks for a reconnection: “{said}”");
    let path = format!("/connections/{}", integer(&faulty.connection, "id")?);
    let shown = faulty.user.api.get(&path).await?.ok(200)?;
    same(&shown["needs_reconnection"], &json!(false), "needs_reconnection while it cannot be renewed")?;
    faulty.disarm().await?;
    faulty.user.reaches(id, "published", 180).await?;

    once(world, &words).await.map(|_| ())
}
