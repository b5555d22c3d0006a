//! What became of a public call whose answer was lost.
//!
//! Facts: an app may read what a page has posted, and not what a member has
//! (`r_member_social` is closed to new apps). What is posted twice within a while is
//! refused, with the name of the post that is there.

use std::sync::atomic::{AtomicUsize, Ordering};

use chrono::{DateTime, Utc};
use domain::delivery::{Claim, Published, Resolution};
use http::StatusCode;
use serde::Deserialize;
use serde_json::Value;

use super::api::{Api, encoded};
use super::errors::duplicate_of;
use super::progress::Progress;
use super::{is_page, link, little_text};
use crate::job::Job;
use crate::kit::{Auth, CallError, Effect, ErrorKind};
use crate::recognition::{self, Before, ClaimsUnreadable, Likeness, Listed, Timeline};

/// How many posts a page of a list has.
const PAGE: usize = 50;

/// Where members look.
const OF_A_MEMBER: &str = "LinkedIn does not let an app read what a member has posted; look at your posts at \
                           https://www.linkedin.com/in/me/recent-activity/all/ before you post it again";

/// Where administrators of pages look.
const OF_A_PAGE: &str = "what the page has posted could not be read; look at its posts before you post it again";

/// A post, as its page's list has it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Post {
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

impl Listed for Post {
    fn id(&self) -> &str {
        &self.id
    }

    fn at(&self) -> Option<DateTime<Utc>> {
        DateTime::from_timestamp_millis(self.created_at?)
    }

    fn url(&self) -> Option<String> {
        Some(link(&self.id))
    }
}

impl Post {
    /// The names of its files.
    fn files(&self) -> Vec<&str> {
        let several = self.content["multiImage"]["images"].as_array().into_iter().flatten();
        let all = several.chain([&self.content["media"]]);
        all.filter_map(|it| it["id"].as_str()).collect()
    }
}

/// The newest posts of the job's page.
pub(super) async fn first_page(api: &Api, job: &Job<'_>) -> Result<Vec<Post>, CallError> {
    page(api, job, 0).await
}

async fn page(api: &Api, job: &Job<'_>, start: usize) -> Result<Vec<Post>, CallError> {
    let author = encoded(&job.profile.account_id);
    let path = format!("posts?author={author}&q=author&count={PAGE}&start={start}&sortBy=CREATED");
    Ok(api.find(Auth::post(job), &path).read::<Elements>().await?.elements)
}

/// What a page has posted.
struct Posts<'a> {
    api: &'a Api,
    job: &'a Job<'a>,
    /// The names of our files.
    files: &'a [String],
    /// How many were read.
    read: AtomicUsize,
}

#[async_trait::async_trait]
impl Timeline for Posts<'_> {
    type Post = Post;
    type Failure = CallError;

    async fn page(&self, after: Option<&str>) -> Result<Vec<Post>, CallError> {
        let start = if after.is_none() { 0 } else { self.read.load(Ordering::Relaxed) };
        let posts = page(self.api, self.job, start).await?;
        self.read.store(start + posts.len(), Ordering::Relaxed);
        Ok(posts)
    }

    /// A file that we uploaded is in no other post. One with the same words and as many
    /// other files may be ours all the same, should LinkedIn name files anew.
    fn likeness(&self, post: &Post) -> Option<Likeness> {
        let theirs = post.files();
        if !self.files.is_empty() && theirs == self.files {
            return Some(Likeness::It);
        }
        let says_the_same =
            little_text::plain(&post.commentary) == little_text::plain(&little_text::written(self.job.text));
        Some(match (says_the_same, theirs.len() == self.files.len()) {
            (true, true) if self.files.is_empty() => Likeness::Same,
            (true, true) => Likeness::Doubtful,
            (false, true) if post.lifecycle_state_info.is_edited_by_author => Likeness::Doubtful,
            _ => Likeness::Other,
        })
    }
}

/// Asks whether the public call took effect.
pub(super) async fn resolve(api: &Api, job: &Job<'_>) -> Resolution {
    let progress = Progress::of(job);
    if progress.files.len() != job.media.len() {
        // The public call comes after all files, so it was never made.
        return Resolution::NotThere;
    }
    if !is_page(job.profile) {
        return Resolution::Unknowable { advice: OF_A_MEMBER.to_owned() };
    }
    let Some(Before::Showed(before)) = &progress.before else {
        return Resolution::Unknowable { advice: OF_A_PAGE.to_owned() };
    };
    let posts = Posts { api, job, files: &progress.files, read: AtomicUsize::new(0) };
    match recognition::look_for(&posts, before, job.claims, job.now).await {
        Ok(found) => found.into(),
        Err(error) if error.is_status(StatusCode::FORBIDDEN) => Resolution::Unknowable { advice: OF_A_PAGE.to_owned() },
        Err(error) => error.resolution(),
    }
}

/// The post of which ours is refused as a duplicate, where it can only be ours: a call before this one may have had an
/// effect, and no other delivery has made that post. Without such a call it is another post with the same words.
pub(super) async fn made_before(job: &Job<'_>, error: CallError) -> Result<Published, CallError> {
    let Some(urn) = duplicate_of(&error).filter(|_| job.doubted).map(str::to_owned) else { return Err(error) };
    let Ok(claims) = job.claims.of(std::slice::from_ref(&urn)).await else {
        return Err(CallError::new(ErrorKind::Unavailable, Effect::Public, ClaimsUnreadable.to_string()));
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
    Published::new(name, at).seen_at(Some(link))
}
