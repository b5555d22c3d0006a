//! The publish call, and the look-up of its outcome.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::{AttemptError, Claim, Published, Resolution};
use serde::Deserialize;

use super::container_status::{self, ContainerReport, ContainerStatus};
use super::listing::{self, Post, Posts};
use super::{Containers, CreatedContainer, Progress, quota};
use crate::caller::Caller;
use crate::deadline::{self, Deadline, WITHIN};
use crate::kit::{CallError, Effect, ErrorKind};
use crate::meta::errors::DAILY_QUOTA;
use crate::meta::id::GraphId;
use crate::publish_request::PublishRequest;

/// Long, because the outcome of a call that is cut off has to be looked up.
const PUBLISH: Duration = Duration::from_secs(30);

const CLOCK_SKEW: TimeDelta = TimeDelta::seconds(60);

/// How long a public post may be missing in the list. After that it is reported without a URL.
const LISTED_WITHIN: TimeDelta = TimeDelta::minutes(10);

/// The response of the publish call, and the fields of a post.
#[derive(Deserialize)]
struct PostResponse {
    id: GraphId,
    permalink: Option<String>,
}

pub(crate) async fn publish(
    platform: &impl Containers,
    request: &PublishRequest<'_>,
) -> Result<Published, AttemptError> {
    let unprepared = || AttemptError::PreparationExpired { reason: "the post has no container to publish".to_owned() };
    Publication::platform(platform, request).ok_or_else(unprepared)?.publish().await
}

/// The outcome of the publish calls, the first of which began at `since`.
pub(crate) async fn resolve(
    platform: &impl Containers,
    request: &PublishRequest<'_>,
    since: DateTime<Utc>,
) -> Resolution {
    let Some(publication) = Publication::platform(platform, request) else { return request.never_made() };
    deadline::look_up(platform.graph().title(), request, publication.resolve(since)).await
}

struct Publication<'a, C> {
    load: &'a C,
    request: &'a PublishRequest<'a>,
    container: CreatedContainer,
}

impl<'a, C: Containers> Publication<'a, C> {
    /// `None` if nothing was prepared.
    fn platform(platform: &'a C, request: &'a PublishRequest<'a>) -> Option<Self> {
        let container = Progress::stored(request).whole?;
        Some(Self { load: platform, request, container })
    }

    async fn publish(&self) -> Result<Published, AttemptError> {
        let (request, calls, deadline) = (self.request, self.load.calls(), Deadline::begin(self.request.now));
        let path = format!("/{}/{}", request.profile.account_id, calls.publish);
        let fields = [("creation_id", self.container.id.as_str())];
        match self
            .load
            .graph()
            .post::<PostResponse>(Effect::Public, Caller::for_request(request), &path, &fields, PUBLISH)
            .await
        {
            Ok(answered) => {
                let id = answered.body.id;
                let url = deadline.within(WITHIN, self.permalink(id.as_str())).await.flatten();
                Ok(Published::new(id, request.now).with_url(url))
            }
            Err(error) => {
                // Further calls only add details.
                let fallback = without_further_calls(error.clone());
                Err(deadline.within(WITHIN, self.classify_error(error)).await.unwrap_or(fallback))
            }
        }
    }

    /// The URL of a post. An error is ignored.
    async fn permalink(&self, id: &str) -> Option<String> {
        let path = format!("/{id}");
        let response = self
            .load
            .graph()
            .get::<PostResponse>(Caller::for_request(self.request), &path, &[("fields", "id,permalink")])
            .await;
        response.ok()?.body.permalink
    }

    async fn classify_error(&self, error: CallError) -> AttemptError {
        if error.has_code(DAILY_QUOTA) {
            let retry_at = Some(quota::frees_at(self.load, self.request).await);
            return AttemptError::RetryLater { retry_at, reason: error.message };
        }
        let error = self.load.graph().confirmed(self.request, error).await;
        let may_be_container_error = match error.kind {
            ErrorKind::PreparationExpired | ErrorKind::Duplicate => true,
            ErrorKind::Unavailable => error.is_missing(),
            _ => false,
        };
        if !may_be_container_error {
            return without_further_calls(error);
        }
        // A container is published once: one that is not there any more may be the one that was published.
        let reason = error.message;
        match self.status().await {
            Ok(ContainerStatus::Ready | ContainerStatus::Working) => {
                AttemptError::RetryLater { retry_at: None, reason }
            }
            Ok(ContainerStatus::Refused { .. } | ContainerStatus::Lost(_)) => {
                AttemptError::PreparationExpired { reason }
            }
            Err(it) if it.is_expired_object() => AttemptError::PreparationExpired { reason },
            Ok(ContainerStatus::Public) | Err(_) => {
                AttemptError::Unknown { may_still_run: false, retry_at: None, reason }
            }
        }
    }

    async fn status(&self) -> Result<ContainerStatus, CallError> {
        let ContainerReport { status, .. } =
            container_status::read_status(self.load, Caller::for_request(self.request), &self.container.id, false)
                .await?
                .body;
        Ok(status)
    }

    async fn resolve(&self, since: DateTime<Utc>) -> Resolution {
        let title = self.load.graph().title();
        let is_public = match self.status().await {
            Ok(ContainerStatus::Ready) if !self.request.was_due_in_lost_window() => return Resolution::NotPublished,
            Ok(ContainerStatus::Working) => {
                return Resolution::Pending { reason: format!("{title} is still processing the post") };
            }
            Ok(ContainerStatus::Public) => true,
            // Another container may have been published.
            Ok(ContainerStatus::Ready | ContainerStatus::Refused { .. } | ContainerStatus::Lost(_)) => false,
            Err(error) if error.is_expired_object() => false,
            Err(error) => return error.resolution(),
        };
        // Two threads may have equal texts, so a reply is looked up below its parent.
        let list = match self.request.reply_to.filter(|_| self.load.has_replies()) {
            Some(reply_to) => (reply_to.parent.platform_post_id.as_str(), listing::REPLIES),
            None => (self.request.profile.account_id.as_str(), self.load.list(self.request)),
        };
        let posts = match listing::since(self.load, self.request, list, since - CLOCK_SKEW).await {
            Ok(posts) => posts,
            Err(error) => return error.resolution(),
        };
        let found = match self.ours(&posts).await {
            Ok(found) => found,
            Err(reason) => return Resolution::Pending { reason },
        };
        match found {
            Some(published) if is_public => Resolution::Found(published),
            Some(published) => Resolution::Candidate(published),
            None if is_public && self.request.called_at + LISTED_WITHIN < self.request.now => {
                Resolution::Found(Published::new(self.container.id.clone(), self.request.now))
            }
            None if is_public => {
                Resolution::Pending { reason: format!("{title} has published the post, but does not list it yet") }
            }
            None if posts.is_all => Resolution::NotFound,
            None => Resolution::Pending {
                reason: "the list of the account's posts since the publish call is incomplete".to_owned(),
            },
        }
    }

    /// The oldest of these posts that has our text and that no other delivery has claimed.
    async fn ours(&self, posts: &Posts) -> Result<Option<Published>, String> {
        // White space around a text is not always preserved.
        let text = self.load.caption(self.request).trim();
        let is_matching = |it: &&Post| it.text.trim() == text;
        let matching: Vec<&Post> = posts.posts.iter().rev().filter(is_matching).collect();
        let ids: Vec<_> = matching.iter().map(|it| it.id.clone()).collect();
        let claims = self.request.claims.find(&ids).await.map_err(|it| it.to_string())?;
        let is_claimed_by_others =
            |post: &Post| claims.iter().any(|(id, claim)| *id == post.id && *claim == Claim::Others);
        let ours = matching.into_iter().find(|it| !is_claimed_by_others(it));
        let now = self.request.now;
        Ok(ours.map(|it| Published::new(it.id.clone(), it.at.unwrap_or(now)).with_url(it.url.clone())))
    }
}

/// The consequence of an error if no further call is possible. If the error says that the container
/// does not exist or was published before, the cause may be an earlier call.
fn without_further_calls(error: CallError) -> AttemptError {
    match error.kind {
        ErrorKind::PreparationExpired | ErrorKind::Duplicate => {
            AttemptError::Unknown { may_still_run: false, retry_at: None, reason: error.message }
        }
        _ => error.into(),
    }
}
