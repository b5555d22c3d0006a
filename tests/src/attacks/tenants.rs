//! Attempts to reach another user's resources.

use serde_json::json;

use super::{Attack, AttackTargets};
use crate::{
    attacks,
    deployment::{fresh, targets},
    ensure,
    error::Result,
};

pub(super) fn attacks() -> Vec<Attack> {
    attacks!(0, [
        "a post is scheduled on another user's account", "422: unknown account" => account_of_another_user;
    ])
}

async fn account_of_another_user(deployments: &AttackTargets) -> Result<String> {
    let (mut owner, other) = (deployments.lifted().new_user().await?, deployments.lifted().new_user().await?);
    let connection = owner.connect(0).await?;
    let body = json!({ "content": fresh("stolen"), "platforms": targets(&[&connection])?, "scheduled_at": null });
    let response = other.api.post("/posts", &body).await?;
    ensure!(response.status == 422, "{} {}", response.status, response.text);
    Ok(format!("{}: {}", response.status, response.json()?["message"]))
}
