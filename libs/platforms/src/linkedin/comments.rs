//! Looking up a first comment whose response was lost.
//!
//! Facts: the comments on posts of pages can be read with `r_organization_social_feed`, those on
//! posts of members by no new app. A comment has its author, text and URN. Source: Microsoft Learn,
//! "Comments API".

use chrono::DateTime;
use domain::delivery::Published;
use serde::Deserialize;
use serde_json::json;

use super::api::{Api, comments};
use super::errors::PAGE_ERRORS;
use crate::kit::{Auth, CallError, ListedPost, PostPage};
use crate::publish_request::PublishRequest;
use crate::recognition::PostMatch;

const PAGE: usize = 50;

pub(super) const OF_A_MEMBER: &str =
    "LinkedIn does not let an app read the comments on a member's post; look below the post";

#[derive(Deserialize)]
struct Elements {
    elements: Vec<Comment>,
}

#[derive(Deserialize)]
struct Comment {
    #[serde(rename = "commentUrn")]
    urn: String,
    actor: String,
    message: Message,
    created: Option<Created>,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    text: String,
}

#[derive(Deserialize)]
struct Created {
    /// In milliseconds since 1970.
    time: i64,
}

impl Comment {
    fn listed(self) -> ListedPost {
        let content = json!({ "actor": self.actor, "text": self.message.text });
        let at = self.created.and_then(|it| DateTime::from_timestamp_millis(it.time));
        ListedPost { id: self.urn, at, content, ..ListedPost::default() }
    }
}

/// One page of the comments on a post. Their order is not documented.
pub(super) async fn page(
    api: &Api,
    request: &PublishRequest<'_>,
    post: &Published,
    start: Option<&str>,
) -> Result<PostPage, CallError> {
    let start: usize = start.and_then(|it| it.parse().ok()).unwrap_or_default();
    let path = format!("{}?start={start}&count={PAGE}", comments(&post.platform_post_id));
    let Elements { elements } = api.get(Auth::post(request), &path).errors(&PAGE_ERRORS).read().await?;
    let next = (!elements.is_empty()).then(|| (start + elements.len()).to_string());
    Ok(PostPage { posts: elements.into_iter().map(Comment::listed).collect(), next, is_sorted: false })
}

pub(super) fn compare(request: &PublishRequest<'_>, listed: &ListedPost) -> PostMatch {
    let is_by_account = listed.content["actor"] == request.profile.account_id;
    let has_same_text = listed.content["text"].as_str().is_some_and(|it| it.trim() == request.text.trim());
    if is_by_account && has_same_text { PostMatch::Equal } else { PostMatch::Different }
}
