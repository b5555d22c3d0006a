use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::{AttemptError, Published, Resolution};

use super::Facebook;
use super::status::Status;
use crate::caller::Caller;
use crate::meta::comments;
use crate::platform::Step;
use crate::publish_request::PublishRequest;

/// The handle of a video, which takes a while to appear.
pub(super) const VIDEO: &str = "video";

const PAUSE: TimeDelta = TimeDelta::seconds(30);
const MOST_LOOKS: u32 = 60;

/// The newest comments first, without replies to comments.
const LIST: &[(&str, &str)] = &[
    ("fields", "id,message,created_time,from"),
    ("filter", "toplevel"),
    ("order", "reverse_chronological"),
    ("limit", "50"),
];

pub(super) async fn prepare(facebook: &Facebook, request: &PublishRequest<'_>) -> Result<Step, AttemptError> {
    let Some(post) = request.commented_post() else { return Ok(Step::NeedsParent { progress: None }) };
    let looks: u32 = request.progress.and_then(|it| it.parse().ok()).unwrap_or_default();
    if post.handle.as_deref() == Some(VIDEO) && looks < MOST_LOOKS {
        let status = Status::fetch(facebook, Caller::for_request(request), &post.platform_post_id).await?;
        if !status.body.is_public() && status.body.failed().is_none() {
            return Ok(Step::Again { progress: (looks + 1).to_string(), at: request.now + PAUSE });
        }
    }
    Ok(Step::Ready { progress: None })
}

pub(super) async fn publish(
    facebook: &Facebook,
    request: &PublishRequest<'_>,
    post: &Published,
) -> Result<Published, AttemptError> {
    comments::publish(&facebook.graph, request, post).await
}

pub(super) async fn resolve(
    facebook: &Facebook,
    request: &PublishRequest<'_>,
    (post, since): (&Published, DateTime<Utc>),
) -> Resolution {
    comments::resolve(&facebook.graph, request, (post, since), LIST).await
}
