//! First comments: their post stays published, whatever their outcome is.

use std::time::Duration;

use serde_json::{Value, json};

use super::{FaultFixture, WINDMILL};
use crate::{
    checks,
    deployment::{Deployment, fresh},
    error::{Result, same},
    http_response::integer,
    moment,
    runner::Check,
    suite::publishing::once,
};

pub(super) fn checks() -> Vec<Check> {
    checks!(
        "faults",
        WINDMILL.0,
        [
            first_comment_follows_its_post,
            comment_is_retried_and_never_made_twice,
            refused_comment_leaves_its_post_published,
        ]
    )
}

/// Publishes a post with this first comment; returns the published post.
async fn publish(faulty: &FaultFixture<'_>, content: &str, comment: &str) -> Result<Value> {
    let target = json!({
        "connected_account_id": integer(&faulty.connection, "id")?,
        "options": { "first_comment": comment },
    });
    let body = json!({ "content": content, "platforms": [target], "scheduled_at": moment::in_seconds(0) });
    let id = integer(&faulty.user.create(&body).await?, "id")?;
    let post = faulty.user.reaches(id, "published", 30).await?;
    same(&post["platforms"][0]["error_message"], &Value::Null, "error_message of a published entry")?;
    Ok(post)
}

async fn wait_for_comment(deployment: &Deployment, comment: &str, seconds: u64) -> Result<Value> {
    let what = format!("the comment “{comment}”");
    moment::eventually(Duration::from_secs(seconds), &what, || async {
        Ok(deployment.comments(comment).await?.into_iter().next())
    })
    .await
}

async fn first_comment_follows_its_post(deployment: &Deployment) -> Result {
    let faulty = FaultFixture::new(deployment, WINDMILL).await?;
    let (content, comment) = (fresh("with a comment"), fresh("the comment"));

    let post = publish(&faulty, &content, &comment).await?;
    let shown = wait_for_comment(deployment, &comment, 30).await?;

    same(&shown["post"], &post["platforms"][0]["platform_post_id"], "the post of the comment")?;
    same(&shown["account"], &json!(faulty.account), "the account of the comment")?;
    let entry = once(deployment, &content).await?;
    same(&entry["options"], &Value::Null, "options on the timeline")
}

async fn comment_is_retried_and_never_made_twice(deployment: &Deployment) -> Result {
    let faulty = FaultFixture::new(deployment, WINDMILL).await?;
    let (lost, busy) = (fresh("answer lost"), fresh("at first busy"));
    faulty.arm(json!({ "kind": "comment_lose_answer" })).await?;
    publish(&faulty, &fresh("first"), &lost).await?;
    wait_for_comment(deployment, &lost, 30).await?;
    faulty.arm(json!({ "kind": "comment_busy", "delay_ms": 1000 })).await?;

    publish(&faulty, &fresh("second"), &busy).await?;
    // It is retried after half a minute, in which a repeat of the other would show, too.
    wait_for_comment(deployment, &busy, 90).await?;

    same(faulty.armed().await?, Value::Null, "faults of the account that did not strike")?;
    same(&deployment.comments(&lost).await?.len(), &1, "comments whose response was lost")?;
    same(&deployment.comments(&busy).await?.len(), &1, "comments that were tried again")
}

async fn refused_comment_leaves_its_post_published(deployment: &Deployment) -> Result {
    let faulty = FaultFixture::new(deployment, WINDMILL).await?;
    let comment = fresh("not wanted");
    faulty.arm(json!({ "kind": "comment_refuse" })).await?;

    let post = publish(&faulty, &fresh("without its comment"), &comment).await?;
    moment::eventually(Duration::from_secs(30), "the refusal of the comment", || async {
        Ok(faulty.armed().await?.is_null().then_some(()))
    })
    .await?;

    let id = integer(&post, "id")?;
    same(&faulty.user.show(id).await?["status"], &json!("published"), "status after the refusal")?;
    same(&deployment.comments(&comment).await?.len(), &0, "comments that were refused")
}
