//! The platform does not accept our credentials any more.

use serde_json::json;

use super::{FERRY, FaultFixture};
use crate::{
    checks,
    deployment::{Deployment, fresh, targets},
    ensure,
    error::{Result, same},
    http_response::integer,
    moment,
    runner::Check,
    suite::publishing::once,
};

pub(super) fn checks() -> Vec<Check> {
    checks!(
        "faults",
        FERRY.0,
        [
            expired_access_token_is_refreshed_silently,
            revoked_grant_waits_for_reconnection,
            post_waiting_for_reconnection_can_be_cancelled,
            refused_refresh_waits_for_reconnection,
            temporarily_failed_refresh_is_retried,
            lost_refresh_response_waits_for_reconnection,
        ]
    )
}

async fn expired_access_token_is_refreshed_silently(deployment: &Deployment) -> Result {
    let faulty = FaultFixture::new(deployment, FERRY).await?;

    faulty.publish_once(json!({ "kind": "expire" }), &[], 60).await?;

    let path = format!("/connections/{}", integer(&faulty.connection, "id")?);
    let shown = faulty.user.api.get(&path).await?.ok(200)?;
    same(&shown["needs_reconnection"], &json!(false), "needs_reconnection after a renewal")
}

async fn revoked_grant_waits_for_reconnection(deployment: &Deployment) -> Result {
    let faulty = FaultFixture::new(deployment, FERRY).await?;
    let content = fresh("revoked");
    faulty.arm(json!({ "kind": "revoke" })).await?;
    let id = faulty.schedule(&content).await?;
    faulty.is_lost(30).await?;

    let listed = faulty.user.api.get("/connections?status=needs_reconnection").await?.ok(200)?;
    same(&listed["data"][0]["id"], &faulty.connection["id"], "the connection that needs reconnection")?;
    let platforms = targets(&[&faulty.connection])?;
    let body = json!({ "content": "a", "platforms": platforms, "scheduled_at": moment::in_seconds(60) });
    faulty.user.api.post("/posts", &body).await?.invalid(&["platforms.0.connected_account_id"])?;

    reconnect_and_ensure_published(faulty, id, &content).await
}

async fn post_waiting_for_reconnection_can_be_cancelled(deployment: &Deployment) -> Result {
    let faulty = FaultFixture::new(deployment, FERRY).await?;
    faulty.arm(json!({ "kind": "revoke" })).await?;
    let id = faulty.schedule(&fresh("revoked and taken back")).await?;
    faulty.is_lost(30).await?;
    faulty.shows_message(id, &["onnect the account again"]).await?;
    let shown = faulty.user.show(id).await?;
    same(&shown["status"], &json!("scheduled"), "status of a post that waits for reconnection")?;
    same(&shown["platforms"][0]["status"], &json!("pending"), "status of its entry")?;
    let path = format!("/connections/{}", integer(&faulty.connection, "id")?);
    faulty.user.api.delete(&path).await?.error(422, "has_pending_posts")?;
    // Everything but its time can be changed.
    let corrected = fresh("revoked and corrected");
    for change in [json!({}), json!({ "content": corrected }), json!({ "media": [] })] {
        same(&faulty.user.change(id, &change).await?["status"], &json!("scheduled"), "status after a change")?;
    }
    let later = json!({ "scheduled_at": moment::in_seconds(600) });
    let refused = faulty.user.api.patch(&format!("/posts/{id}"), &later).await?;
    refused.invalid(&["platforms.0.connected_account_id"])?;

    let draft = faulty.user.change(id, &json!({ "scheduled_at": null })).await?;
    same(&draft["status"], &json!("draft"), "status of the cancelled post")?;
    faulty.user.api.delete(&path).await?.is(204)?;
    faulty.user.api.delete(&format!("/posts/{id}")).await?.is(204)?;
    faulty.disarm().await
}

async fn refused_refresh_waits_for_reconnection(deployment: &Deployment) -> Result {
    lose_grant_by(deployment, "refuse_refresh", 30).await
}

async fn lost_refresh_response_waits_for_reconnection(deployment: &Deployment) -> Result {
    // The refresh is retried with the old refresh token, which is already used, and that ends the
    // grant.
    lose_grant_by(deployment, "lose_refresh", 150).await
}

async fn lose_grant_by(deployment: &Deployment, kind: &str, seconds: u64) -> Result {
    let faulty = FaultFixture::new(deployment, FERRY).await?;
    let content = fresh(kind);
    faulty.arm(json!({ "kind": kind })).await?;
    let id = faulty.schedule(&content).await?;
    faulty.is_lost(seconds).await?;
    reconnect_and_ensure_published(faulty, id, &content).await
}

async fn reconnect_and_ensure_published(mut faulty: FaultFixture<'_>, id: i64, content: &str) -> Result {
    faulty.shows_message(id, &["onnect the account again"]).await?;
    same(faulty.deployment.timeline(content).await?.len(), 0, "entries on the timeline")?;

    faulty.reconnect().await?;
    faulty.user.reaches(id, "published", 150).await?;

    once(faulty.deployment, content).await.map(|_| ())
}

async fn temporarily_failed_refresh_is_retried(deployment: &Deployment) -> Result {
    let faulty = FaultFixture::new(deployment, FERRY).await?;
    let content = fresh("refresh unreachable");
    faulty.arm(json!({ "kind": "refresh_unreachable", "count": null })).await?;

    let id = faulty.schedule(&content).await?;
    let message = faulty.shows_message(id, &["cannot be refreshed now"]).await?;
    ensure!(!message.contains("onnect the account again"), "a temporary error asks for a reconnection: “{message}”");
    let path = format!("/connections/{}", integer(&faulty.connection, "id")?);
    let shown = faulty.user.api.get(&path).await?.ok(200)?;
    same(&shown["needs_reconnection"], &json!(false), "needs_reconnection while it cannot be refreshed")?;
    faulty.disarm().await?;
    faulty.user.reaches(id, "published", 180).await?;

    once(deployment, &content).await.map(|_| ())
}
