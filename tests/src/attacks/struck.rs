//! A post that met a revoked grant: it must not block its account for a day.

use serde_json::json;

use super::{Attack, AttackTargets};
use crate::{
    attacks,
    deployment::{Deployment, fresh},
    ensure,
    error::{Result, same},
    http_response::{integer, text},
    moment,
};

/// The index of @ferry on the consent page: no other attack arms faults for it.
const FERRY: usize = 5;

pub(super) fn attacks() -> Vec<Attack> {
    attacks!(20, [
        "a revoked grant strikes a post that is being sent", "the post can be cancelled, and its account disconnected" => grant_revoked_during_publish;
    ])
}

async fn grant_revoked_during_publish(deployments: &AttackTargets) -> Result<String> {
    let deployment: &Deployment = deployments.lifted();
    let mut user = deployment.new_user().await?;
    let account = user.connect(FERRY).await?;
    let name = text(&account, "username")?.to_owned();
    deployment.disarm(&name).await?;
    deployment.arm(&json!({ "account": name, "kind": "revoke" })).await?;
    let id = user.schedule(&fresh("struck"), &[&account], 1).await?;
    let waiting = moment::eventually(std::time::Duration::from_secs(40), "a post that waits", || async {
        let post = user.show(id).await?;
        Ok((post["platforms"][0]["error_message"] != json!(null)).then_some(post))
    })
    .await?;
    let status = |post: &serde_json::Value| (post["status"].clone(), post["platforms"][0]["status"].clone());
    ensure!(status(&waiting) == (json!("scheduled"), json!("pending")), "{waiting}");
    let draft = user.change(id, &json!({ "scheduled_at": null })).await?;
    same(&draft["status"], &json!("draft"), "status of the cancelled post")?;
    let path = format!("/connections/{}", integer(&account, "id")?);
    user.api.delete(&path).await?.is(204)?;
    Ok("scheduled, unscheduled with 200, disconnected with 204".to_owned())
}
