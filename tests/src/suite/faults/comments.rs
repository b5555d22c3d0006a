//! What follows a post that is public: the post stays published, whatever becomes
//! of it.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Faulty, WINDMILL};
use crate::{
    answer::integer,
    checks,
    fault::{Result, same},
    moment,
    runner::Check,
    suite::publishing::once,
    world::{Deployment, fresh},
};

pub(super) fn checks() -> Vec<Check> {
    checks!(
        "faults",
        WINDMILL.0,
        [
            a_first_comment_follows_its_post,
            a_comment_is_tried_again_and_never_made_twice,
            a_comment_that_is_refused_leaves_its_post_published,
        ]
    )
}

/// Publishes a post that says this first comment; gives it once it is published.
async fn publish(faulty: &Faulty<'_>, words: &str, comment: &str) -> Result<Value> {
    let target = json!({
        "connected_account_id": integer(&faulty.connection, "id")?,
        "options": { "first_comment": comment },
    });
    let body = json!({ "content": words, "platforms": [target], "scheduled_at": moment::in_seconds(0) });
    let id = integer(&faulty.user.create(&body).await?, "id")?;
    let post = faulty.user.reaches(id, "published", 30).await?;
    same(&post["platforms"][0]["error_message"], &Value::Null, "error_message of a published entry")?;
    Ok(post)
}

async fn appears(world: &Deployment, comment: &str, seconds: u64) -> Result<Value> {
    let what = format!("the comment “{comment}”");
    moment::eventually(Duration::from_secs(seconds), &what, || async {
        Ok(world.comments(comment).await?.into_iter().next())
    })
    .await
}

async fn a_first_comment_follows_its_post(world: &Deployment) -> Result {
    let faulty = Faulty::new(world, WINDMILL).await?;
    let (words, comment) = (fresh("with a comment"), fresh("the comment"));

    let post = publish(&faulty, &words, &comment).await?;
    let shown = appears(world, &comment, 30).await?;

    same(&shown["post"], &post["platforms"][0]["platform_post_id"], "the post of the comment")?;
    same(&shown["account"], &json!(faulty.account), "the account of the comment")?;
    let entry = once(world, &words).await?;
    same(&entry["options"], &Value::Null, "options on the timeline")
}

async fn a_comment_is_tried_again_and_never_made_twice(world: &Deployment) -> Result {
    let faulty = Faulty::new(world, WINDMILL).await?;
    let (lost, busy) = (fresh("answer lost"), fresh("at first busy"));
    faulty.arm(json!({ "kind": "comment_lose_answer" })).await?;
    publish(&faulty, &fresh("first"), &lost).await?;
    appears(world, &lost, 30).await?;
    faulty.arm(json!({ "kind": "comment_busy", "delay_ms": 1000 })).await?;

    publish(&faulty, &fresh("second"), &busy).await?;
    // It is tried again after half a minute, in which the other would have been, too.
    appears(world, &busy, 90).await?;

    same(faulty.armed().await?, Value::Null, "faults of the account that did not strike")?;
    same(&world.comments(&lost).await?.len(), &1, "comments whose answer was lost")?;
    same(&world.comments(&busy).await?.len(), &1, "comments that were tried again")
}

async fn a_comment_that_is_refused_leaves_its_post_published(world: &Deployment) -> Result {
    let faulty = Faulty::new(world, WINDMILL).await?;
    let comment = fresh("not wanted");
    faulty.arm(json!({ "kind": "comment_refuse" })).await?;

    let post = publish(&faulty, &fresh("without its comment"), &comment).await?;
    moment::eventually(Duration::from_secs(30), "the refusal of the comment", || async {
        Ok(faulty.armed().await?.is_null().then_some(()))
    })
    .await?;

    let id = integer(&post, "id")?;
    same(&faulty.user.show(id).await?["status"], &json!("published"), "status after the refusal")?;
    same(&world.comments(&comment).await?.len(), &0, "comments that were refused")
}
