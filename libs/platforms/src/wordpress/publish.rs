use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::{AttemptError, Published, Resolution};
use serde_json::json;

use super::api::Post;
use super::draft::{DraftPreparation, Progress, stale};
use super::errors::NO_POST;
use super::{Grant, Wordpress};
use crate::platform::{Publish, Step};
use crate::publish_request::PublishRequest;

/// Servers and the proxies in front of them end a request after a minute at most.
const SETTLE_TIME: TimeDelta = TimeDelta::seconds(90);

#[async_trait::async_trait]
impl Publish for Wordpress {
    async fn prepare(&self, request: &PublishRequest<'_>) -> Result<Step, AttemptError> {
        let grant = Grant::load(request.credentials)?;
        let caller = grant.caller(request.credentials, request.now);
        DraftPreparation { api: &self.api, caller, request }.step().await
    }

    /// One call sets the draft's status and its slug. WordPress derives an empty slug from the
    /// title.
    async fn publish(&self, request: &PublishRequest<'_>) -> Result<Published, AttemptError> {
        let grant = Grant::load(request.credentials)?;
        let caller = grant.caller(request.credentials, request.now);
        let progress = Progress::load(request);
        let Some(draft) = progress.draft.filter(|_| progress.is_whole) else {
            return Err(stale("its draft is incomplete"));
        };
        let fields = json!({ "status": status(request), "slug": request.options.text("slug").unwrap_or_default() });
        match self.api.publish(caller, draft, &fields).await.map_err(AttemptError::from) {
            Ok(post) => published(request, &post),
            Err(refused @ AttemptError::Refused { .. }) => {
                DraftPreparation { api: &self.api, caller, request }.discard(&progress).await;
                Err(refused)
            }
            Err(attempt_error) => Err(attempt_error),
        }
    }

    /// Reads the post. Its slug is our mark until the publish call takes effect.
    async fn look_up(&self, request: &PublishRequest<'_>, _: DateTime<Utc>) -> Resolution {
        let grant = match Grant::load(request.credentials) {
            Ok(grant) => grant,
            Err(unreadable) => return Resolution::Unauthorized { reason: unreadable.to_string() },
        };
        let progress = Progress::load(request);
        let Some(draft) = progress.draft.filter(|_| progress.is_whole) else { return request.never_made() };
        let post = match self.api.post(grant.caller(request.credentials, request.now), draft).await {
            Ok(post) => post,
            Err(error) if error.has_code(&[NO_POST]) => return deleted(),
            Err(error) => return error.resolution(),
        };
        if post.status == "trash" {
            return deleted();
        }
        if post.status == "draft" && post.slug == request.slug_mark() {
            return request.never_made();
        }
        match published(request, &post) {
            Ok(published) => Resolution::Found(published),
            Err(attempt_error) => Resolution::Refused { reason: attempt_error.into_reason() },
        }
    }

    /// False: a post is found by its id.
    fn recognizes_own_posts(&self) -> bool {
        false
    }

    fn settle_time(&self) -> TimeDelta {
        SETTLE_TIME
    }
}

fn status<'a>(request: &PublishRequest<'a>) -> &'a str {
    request.options.text("status").unwrap_or("publish")
}

/// The published post. A plugin may give it another status.
fn published(request: &PublishRequest<'_>, post: &Post) -> Result<Published, AttemptError> {
    let requested_status = status(request);
    if post.status != requested_status && post.status != "publish" {
        let reason =
            format!("the site stored it with the status {}, not {requested_status}: check the site", post.status);
        return Err(AttemptError::Refused { reason });
    }
    let at = post.date().filter(|_| requested_status == "publish").unwrap_or(request.now);
    Ok(Published::new(post.id.to_string(), at).with_url(post.link.clone()))
}

fn deleted() -> Resolution {
    Resolution::Refused { reason: "its draft was deleted on the site".to_owned() }
}
