//! The first comment under a post.

use std::time::Duration;

use chrono::TimeDelta;
use domain::delivery::AttemptError;
use serde::de::IgnoredAny;

use super::Facebook;
use super::kind::Form;
use super::status::Status;
use crate::caller::Caller;
use crate::kit::Effect;
use crate::platform::{FollowUp, Followed};
use crate::publish_request::PublishRequest;

const COMMENT: Duration = Duration::from_secs(28);

/// A video takes a while to appear: the pause between two looks, and the most looks.
const PAUSE: TimeDelta = TimeDelta::seconds(30);
const MOST_LOOKS: u32 = 60;

/// Adds the comment, once the post can be seen.
pub(super) async fn step(
    of: &Facebook,
    job: &PublishRequest<'_>,
    it: &FollowUp<'_>,
    words: &str,
) -> Result<Followed, AttemptError> {
    let (by, post) = (Caller::of(job), &it.published.platform_post_id);
    let looks: u32 = it.progress.and_then(|it| it.parse().ok()).unwrap_or_default();
    if Form::of(job)?.video().is_some() && looks < MOST_LOOKS {
        let asked = Status::of(of, by, post).await?;
        if !asked.body.is_public() && asked.body.failed().is_none() {
            return Ok(Followed::Again { progress: (looks + 1).to_string(), at: job.now + PAUSE });
        }
    }
    let path = format!("/{post}/comments");
    of.graph.post::<IgnoredAny>(Effect::Public, by, &path, &[("message", words)], COMMENT).await?;
    Ok(Followed::Done)
}
