//! The first comment on a post of Facebook or Instagram.
//!
//! Facts: there is no idempotency key for comments. The comments on a post can be listed: on
//! Facebook with the id of each author, on Instagram with the username. Sources: `object/comments`,
//! `ig-media/comments`, and `Comment` and `IGComment` of the business SDK.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::connection::AccountInfo;
use domain::delivery::{AttemptError, Published, Resolution};
use serde::Deserialize;

use super::{Graph, GraphId, List, time};
use crate::caller::Caller;
use crate::kit::{CallError, Effect, ErrorKind};
use crate::publish_request::PublishRequest;
use crate::recognition::{self, Listed, PostMatch, Timeline};

/// Long, because the outcome of a call that is cut off has to be looked up.
const COMMENT: Duration = Duration::from_secs(28);

const CLOCK_SKEW: TimeDelta = TimeDelta::minutes(1);

#[derive(Deserialize)]
struct CreatedComment {
    id: GraphId,
}

struct Comment {
    id: String,
    text: String,
    at: Option<DateTime<Utc>>,
    /// Whether our account wrote it; `None` if the list does not say.
    is_by_account: Option<bool>,
}

/// Instagram sends `text`, `timestamp` and `username`; Facebook sends `message`, `created_time` and
/// `from`.
#[derive(Deserialize)]
struct Entry {
    id: GraphId,
    text: Option<String>,
    message: Option<String>,
    timestamp: Option<String>,
    created_time: Option<String>,
    from: Option<Author>,
    username: Option<String>,
}

#[derive(Deserialize)]
struct Author {
    id: String,
}

impl Entry {
    fn comment(self, account: &AccountInfo) -> Comment {
        let at = self.timestamp.or(self.created_time).as_deref().and_then(time::read);
        let is_by_account = match (self.from, self.username, &account.username) {
            (Some(author), ..) => Some(author.id == account.account_id),
            (None, Some(username), Some(ours)) => Some(username.eq_ignore_ascii_case(ours)),
            _ => None,
        };
        Comment { id: self.id.into(), text: self.text.or(self.message).unwrap_or_default(), at, is_by_account }
    }
}

impl Listed for Comment {
    fn id(&self) -> &str {
        &self.id
    }

    fn at(&self) -> Option<DateTime<Utc>> {
        self.at
    }

    fn url(&self) -> Option<String> {
        None
    }
}

pub(crate) async fn publish(
    graph: &Graph,
    request: &PublishRequest<'_>,
    post: &Published,
) -> Result<Published, AttemptError> {
    let path = format!("/{}/comments", post.platform_post_id);
    let fields = [("message", request.text)];
    let call = graph.post::<CreatedComment>(Effect::Public, Caller::for_request(request), &path, &fields, COMMENT);
    match call.await {
        Ok(created) => Ok(Published::new(created.body.id, request.now)),
        // A post that is not found is not available everywhere yet.
        Err(error) if error.kind == ErrorKind::PreparationExpired || error.is_missing() => {
            Err(AttemptError::RetryLater { retry_at: None, reason: error.message })
        }
        Err(error) if error.kind == ErrorKind::Unauthorized && is_about_permission(&error) => {
            let reason = format!(
                "{} does not permit comments: connect the account again and leave all permissions on ({})",
                graph.title(),
                error.message
            );
            Err(AttemptError::Refused { reason })
        }
        Err(error) => Err(error.into()),
    }
}

/// `query` selects the fields and the order.
pub(crate) async fn resolve(
    graph: &Graph,
    request: &PublishRequest<'_>,
    (post, since): (&Published, DateTime<Utc>),
    query: &[(&str, &str)],
) -> Resolution {
    let comments = Comments { graph, request, post, since: since - CLOCK_SKEW, query, next: Mutex::default() };
    match recognition::look_for(&comments, &[], request.claims, request.now).await {
        Ok(found) => found.into(),
        Err(error) if is_about_permission(&error) => {
            let advice = format!(
                "{} does not let the app read the comments on the post ({}); look below the post",
                graph.title(),
                error.message
            );
            Resolution::Undeterminable { advice }
        }
        Err(error) => error.resolution(),
    }
}

/// A missing permission for comments means nothing for the connection.
fn is_about_permission(error: &CallError) -> bool {
    error.has_code(&["10", "200"])
}

struct Comments<'a> {
    graph: &'a Graph,
    request: &'a PublishRequest<'a>,
    post: &'a Published,
    since: DateTime<Utc>,
    query: &'a [(&'a str, &'a str)],
    next: Mutex<Option<String>>,
}

#[async_trait::async_trait]
impl Timeline for Comments<'_> {
    type Post = Comment;
    type Error = CallError;

    async fn page(&self, after: Option<&str>) -> Result<Vec<Comment>, CallError> {
        let next = self.next.lock().unwrap_or_else(PoisonError::into_inner).take();
        if after.is_some() && next.is_none() {
            return Ok(Vec::new());
        }
        let path = format!("/{}/comments", self.post.platform_post_id);
        let caller = Caller::for_request(self.request);
        let list = List::<Entry>::page(self.graph, caller, &path, self.query, next.as_deref()).await?;
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = list.next();
        let comments = list.data.into_iter().map(|it| it.comment(self.request.profile));
        Ok(comments.filter(|it| it.at.is_none_or(|at| self.since <= at)).collect())
    }

    fn post_match(&self, comment: &Comment) -> Option<PostMatch> {
        let has_same_text = comment.text.trim() == self.request.text.trim();
        Some(match comment.is_by_account {
            Some(true) if has_same_text => PostMatch::Equal,
            None if has_same_text => PostMatch::Possible,
            _ => PostMatch::Different,
        })
    }
}
