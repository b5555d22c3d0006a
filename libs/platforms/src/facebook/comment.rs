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
    facebook: &Facebook,
    request: &PublishRequest<'_>,
    follow_up: &FollowUp<'_>,
    text: &str,
) -> Result<Followed, AttemptError> {
    let (caller, post) = (Caller::for_request(request), &follow_up.published.platform_post_id);
    let looks: u32 = follow_up.progress.and_then(|follow_up| follow_up.parse().ok()).unwrap_or_default();
    if Form::from_request(request)?.video().is_some() && looks < MOST_LOOKS {
        let status = Status::fetch(facebook, caller, post).await?;
        if !status.body.is_public() && status.body.failed().is_none() {
            return Ok(Followed::Again { progress: (looks + 1).to_string(), at: request.now + PAUSE });
        }
    }
    let path = format!("/{post}/comments");
    facebook.graph.post::<IgnoredAny>(Effect::Public, caller, &path, &[("message", text)], COMMENT).await?;
    Ok(Followed::Done)
}
