//! Finds out whether a publish call whose response was lost took effect.
//!
//! Facts: an app may read what a page has posted, and not what a member has (`r_member_social` is closed to new apps).
//! What is posted twice within a while is refused, with the URN of the post that is there.

use chrono::{DateTime, Utc};
use domain::delivery::{Claim, Published};
use serde::Deserialize;
use serde_json::{Value, json};

use super::api::{Api, encoded};
use super::errors::{OF_PAGES, duplicate_of};
use super::{link, little_text};
use crate::kit::{Auth, CallError, Effect, ErrorKind, ListedPost, PostPage, Prepared};
use crate::publish_request::PublishRequest;
use crate::recognition::{ClaimsError, PostMatch};

/// How many posts a page of a list has.
const PAGE: usize = 50;

pub(super) const OF_A_MEMBER: &str = "LinkedIn does not let an app read what a member has posted; look at your posts at \
     https://www.linkedin.com/in/me/recent-activity/all/ before you post it again";

/// A post, as its page's list has it.
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
    /// The URNs of its files.
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
        ListedPost { at, url: Some(link(&self.id)), content, id: self.id }
    }
}

/// A page of what the job's page has posted. The next one begins behind it: a short one need not be the last.
pub(super) async fn page(api: &Api, job: &PublishRequest<'_>, start: Option<&str>) -> Result<PostPage, CallError> {
    let author = encoded(&job.profile.account_id);
    let start: usize = start.and_then(|it| it.parse().ok()).unwrap_or_default();
    let path = format!("posts?author={author}&q=author&count={PAGE}&start={start}&sortBy=CREATED");
    let Elements { elements } = api.find(Auth::post(job), &path).errors(&OF_PAGES).read().await?;
    let next = (!elements.is_empty()).then(|| (start + elements.len()).to_string());
    Ok(PostPage { posts: elements.into_iter().map(Post::listed).collect(), next, is_sorted: true })
}

/// A file that we uploaded is in no other post. A post with the same text and as many other files may still be ours, in
/// case LinkedIn gives files new names.
pub(super) fn compare(job: &PublishRequest<'_>, prepared: &Prepared<'_, String>, listed: &ListedPost) -> PostMatch {
    let ours: Vec<_> = prepared.files.iter().map(|it| it.uploaded.as_str()).collect();
    let theirs: Vec<_> = listed.content["files"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if !ours.is_empty() && theirs == ours {
        return PostMatch::It;
    }
    let says_the_same = listed.content["text"] == little_text::plain(&little_text::written(job.text));
    match (says_the_same, theirs.len() == ours.len()) {
        (true, true) if ours.is_empty() => PostMatch::Same,
        (true, true) => PostMatch::Doubtful,
        (false, true) if listed.content["is_edited"] == true => PostMatch::Doubtful,
        _ => PostMatch::Other,
    }
}

/// The post of which ours is refused as a duplicate, where it can only be ours: a call before this one may have had an
/// effect, and no other delivery has made that post. Without such a call it is another post with the same words.
pub(super) async fn made_before(job: &PublishRequest<'_>, error: CallError) -> Result<Published, CallError> {
    let Some(urn) = duplicate_of(&error).filter(|_| job.may_have_published).map(str::to_owned) else {
        return Err(error);
    };
    let Ok(claims) = job.claims.of(std::slice::from_ref(&urn)).await else {
        return Err(CallError::new(ErrorKind::Unavailable, Effect::Public, ClaimsError.to_string()));
    };
    if claims.iter().any(|(_, claim)| *claim == Claim::Others) {
        // Then LinkedIn refused the earlier call as well.
        return Err(error.may_have_published(false));
    }
    Ok(published(urn, job.now))
}

/// A post that is public.
pub(super) fn published(name: String, at: DateTime<Utc>) -> Published {
    let link = link(&name);
    Published::new(name, at).with_url(Some(link))
}
