//! Attempts to reach another user's resources.

use serde_json::json;

use super::{Arena, Attack};
use crate::{
    attacks,
    deployment::{fresh, targets},
    ensure,
    error::Result,
};

pub(super) fn attacks() -> Vec<Attack> {
    attacks!(0, [
        "a post is scheduled on another user's account", "422: unknown account" => account_of_another;
    ])
}

async fn account_of_another(arena: &Arena) -> Result<String> {
    let (mut owner, other) = (arena.lifted().new_user().await?, arena.lifted().new_user().await?);
    let theirs = owner.connect(0).await?;
    let body = json!({ "content": fresh("stolen"), "platforms": targets(&[&theirs])?, "scheduled_at": null });
    let answer = other.api.post("/posts", &body).await?;
    ensure!(answer.status == 422, "{} {}", answer.status, answer.text);
    Ok(format!("{}: {}", answer.status, answer.json()?["message"]))
}
