//! The platform fails to process the files of a post.

use serde_json::{Value, json};

use super::{FERRY, FaultFixture, ORCHARD};
use crate::{
    checks,
    deployment::{Deployment, fresh},
    ensure,
    error::{Result, same},
    http_response::{list, text},
    runner::Check,
};

pub(super) fn checks() -> Vec<Check> {
    let mut all = checks!("faults", FERRY.0, [post_waits_for_a_slow_upload, post_waits_for_file_processing]);
    all.extend(checks!("faults", ORCHARD.0, [failed_upload_is_retried, refused_file_fails_the_post_with_the_reason]));
    all
}

async fn post_waits_for_a_slow_upload(deployment: &Deployment) -> Result {
    let faulty = FaultFixture::new(deployment, FERRY).await?;
    publish_with_pictures(&faulty, json!({ "kind": "media_slow", "delay_ms": 4000 }), &[], 1).await
}

async fn post_waits_for_file_processing(deployment: &Deployment) -> Result {
    let faulty = FaultFixture::new(deployment, FERRY).await?;
    publish_with_pictures(&faulty, json!({ "kind": "media_processing", "delay_ms": 6000 }), &[], 1).await
}

async fn failed_upload_is_retried(deployment: &Deployment) -> Result {
    let faulty = FaultFixture::new(deployment, ORCHARD).await?;
    publish_with_pictures(&faulty, json!({ "kind": "media_error", "file": 2 }), &["internal error"], 3).await
}

/// Arms a fault, publishes a post with images, and checks that all of them are public.
async fn publish_with_pictures(
    faulty: &FaultFixture<'_>,
    fault: Value,
    expected_messages: &[&str],
    pictures: usize,
) -> Result {
    let content = fresh(text(&fault, "kind")?);
    faulty.arm(fault).await?;

    let id = faulty.schedule_with(&content, pictures).await?;
    let published = faulty.is_out_once(id, &content, expected_messages, 90).await?;

    same(list(&published.entry, "media")?.len(), pictures, "pictures on the timeline")
}

async fn refused_file_fails_the_post_with_the_reason(deployment: &Deployment) -> Result {
    let faulty = FaultFixture::new(deployment, ORCHARD).await?;
    let content = fresh("refused file");
    faulty.arm(json!({ "kind": "media_refuse", "file": 2 })).await?;

    let id = faulty.schedule_with(&content, 2).await?;
    let post = faulty.user.reaches(id, "failed", 60).await?;

    let message = text(&post["platforms"][0], "error_message")?;
    ensure!(message.contains("the sandbox does not accept this file"), "the platform's message is not in “{message}”");
    same(deployment.timeline(&content).await?.len(), 0, "entries on the timeline")
}
