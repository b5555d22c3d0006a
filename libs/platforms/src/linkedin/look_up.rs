//! Looking up the outcome of a publish call whose response was lost.
//!
//! Facts: an app may read the posts of a page, but not those of a member (`r_member_social` is
//! closed to new apps). A second post with the same content within a short time is refused, with
//! the URN of the existing post.

use chrono::{DateTime, Utc};
use domain::delivery::{Claim, Published};
use serde::Deserialize;
use serde_json::{Value, json};

use super::api::{Api, encoded};
use super::errors::{PAGE_ERRORS, duplicate_of};
use super::{link, little_text};
use crate::kit::{Auth, CallError, Effect, ErrorKind, ListedPost, PostPage, Prepared};
use crate::publish_request::PublishRequest;
use crate::recognition::{ClaimsError, PostMatch};

const PAGE: usize = 50;

pub(super) const OF_A_MEMBER: &str = "LinkedIn does not let an app read a member's posts; check \
                                      https://www.linkedin.com/in/me/recent-activity/all/";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Post {
    id: String,
    #[serde(default)]
    commentary: String,
    /// In milliseconds since 1970.
    created_at: Option<i64>,
    #[serde(default)]
    content: Value,
    #[serde(default)]
    lifecycle_state_info: LifecycleStateInfo,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct LifecycleStateInfo {
    is_edited_by_author: bool,
}

#[derive(Deserialize)]
struct Elements {
    elements: Vec<Post>,
}

impl Post {
    fn files(&self) -> Vec<&str> {
        let several = self.content["multiImage"]["images"].as_array().into_iter().flatten();
        let all = several.chain([&self.content["media"]]);
        all.filter_map(|it| it["id"].as_str()).collect()
    }

    fn listed(self) -> ListedPost {
        let content = json!({
            "text": little_text::plain(&self.commentary),
            "files": self.files(),
            "is_edited": self.lifecycle_state_info.is_edited_by_author,
        });
        let at = self.created_at.and_then(DateTime::from_timestamp_millis);
        ListedPost { at, url: Some(link(&self.id)), content, id: self.id, ..ListedPost::default() }
    }
}

/// One page of the posts of the account. The next one starts after it: a short page need not be the
/// last.
pub(super) async fn page(api: &Api, request: &PublishRequest<'_>, start: Option<&str>) -> Result<PostPage, CallError> {
    let author = encoded(&request.profile.account_id);
    let start: usize = start.and_then(|it| it.parse().ok()).unwrap_or_default();
    let path = format!("posts?author={author}&q=author&count={PAGE}&start={start}&sortBy=CREATED");
    let Elements { elements } = api.find(Auth::post(request), &path).errors(&PAGE_ERRORS).read().await?;
    let next = (!elements.is_empty()).then(|| (start + elements.len()).to_string());
    Ok(PostPage { posts: elements.into_iter().map(Post::listed).collect(), next, is_sorted: true })
}

/// A file that we uploaded is in no other post. A post with the same text and number of files may
/// still be ours, in case LinkedIn gives files new names.
pub(super) fn compare(request: &PublishRequest<'_>, prepared: &Prepared<'_, String>, listed: &ListedPost) -> PostMatch {
    let ours: Vec<_> = prepared.files.iter().map(|it| it.uploaded.as_str()).collect();
    let listed_files: Vec<_> =
        listed.content["files"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if !ours.is_empty() && listed_files == ours {
        return PostMatch::Exact;
    }
    let has_same_text = listed.content["text"] == little_text::plain(&little_text::written(request.text));
    match (has_same_text, listed_files.len() == ours.len()) {
        (true, true) if ours.is_empty() => PostMatch::Equal,
        (true, true) => PostMatch::Possible,
        (false, true) if listed.content["is_edited"] == true => PostMatch::Possible,
        _ => PostMatch::Different,
    }
}

/// The existing post, if it can only be ours: an earlier call may have taken effect, and no other
/// delivery has created that post. Without an earlier call it is another post with the same
/// content.
pub(super) async fn resolve_duplicate(request: &PublishRequest<'_>, error: CallError) -> Result<Published, CallError> {
    let Some(urn) = duplicate_of(&error).filter(|_| request.may_have_published).map(str::to_owned) else {
        return Err(error);
    };
    let Ok(claims) = request.claims.find(std::slice::from_ref(&urn)).await else {
        return Err(CallError::new(ErrorKind::Unavailable, Effect::Public, ClaimsError.to_string()));
    };
    if claims.iter().any(|(_, claim)| *claim == Claim::Others) {
        // Then LinkedIn refused the earlier call as well.
        return Err(error.may_have_published(false));
    }
    Ok(published(urn, request.now))
}

pub(super) fn published(name: String, at: DateTime<Utc>) -> Published {
    let link = link(&name);
    Published::new(name, at).with_url(Some(link))
}
