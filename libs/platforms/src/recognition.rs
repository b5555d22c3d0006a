//! Recognizes the post of a publish call whose response was lost, on platforms without an
//! idempotency key and without an id that we choose.
//!
//! Preparation records the ids that the account shows before the call. A post that it shows later
//! and did not show then is newer; times are not compared, because clocks differ. Of the newer
//! posts, those that other deliveries have claimed are skipped, and the others are compared with
//! ours.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use domain::delivery::{Claim, Published, Resolution};
use serde::{Deserialize, Serialize};

const MAX_PAGES: usize = 6;

/// No platform has shorter pages, so a shorter page is the last one.
const SMALLEST_PAGE: usize = 20;

const MAX_KEPT: usize = 20;

/// The most posts that one look-up compares; each may need a call.
const MAX_COMPARED: usize = 20;

/// The posts that an account showed before the publish call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimelineSnapshot {
    /// The ids of its newest posts, newest first.
    Showed(Vec<String>),
    Unreadable,
}

impl TimelineSnapshot {
    pub fn from_posts(posts: &[impl Listed]) -> Self {
        Self::Showed(posts.iter().take(MAX_KEPT).map(|it| it.id().to_owned()).collect())
    }
}

pub trait Listed: Send + Sync {
    fn id(&self) -> &str;

    /// By the platform's clock.
    fn at(&self) -> Option<DateTime<Utc>>;

    fn url(&self) -> Option<String>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostMatch {
    /// Certainly ours: it has something that no other post can have.
    Exact,
    /// Its content is equal. Another post with the same text looks the same.
    Equal,
    /// It may be ours, changed by the platform or edited since.
    Possible,
    Different,
}

#[async_trait::async_trait]
pub trait Timeline: Send + Sync {
    type Post: Listed;
    type Error: Send;

    /// A page, newest first: the first one, or the one after this id.
    async fn page(&self, after: Option<&str>) -> Result<Vec<Self::Post>, Self::Error>;

    /// How a listed post compares with ours; `None` if its entry in the list is not sufficient.
    fn post_match(&self, post: &Self::Post) -> Option<PostMatch>;

    /// Like [`Timeline::post_match`], for a post whose entry is not sufficient. It may make a call.
    /// Not called where [`Timeline::post_match`] always decides.
    async fn compare(&self, post: &Self::Post) -> Result<PostMatch, Self::Error> {
        let _ = post;
        Ok(PostMatch::Possible)
    }
}

/// Knows which posts of the account were made by deliveries of this deployment.
#[async_trait::async_trait]
pub trait Claims: Send + Sync {
    /// The claimed ones of these ids, each once, with whether this delivery or another one claimed
    /// it.
    async fn find(&self, ids: &[String]) -> Result<Vec<(String, Claim)>, ClaimsError>;
}

#[derive(Clone, Debug, thiserror::Error)]
#[error("the claims of published posts could not be read")]
pub struct ClaimsError;

#[cfg(any(test, feature = "testing"))]
pub struct NoOtherClaims;

#[cfg(any(test, feature = "testing"))]
#[async_trait::async_trait]
impl Claims for NoOtherClaims {
    async fn find(&self, _: &[String]) -> Result<Vec<(String, Claim)>, ClaimsError> {
        Ok(Vec::new())
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recognition {
    Public(Published),
    /// A public post has the same content, and no delivery has claimed it.
    Candidate(Published),
    /// Everything published since was read, and ours is not there.
    NotPublished,
    Pending {
        reason: String,
    },
}

impl From<Recognition> for Resolution {
    fn from(found: Recognition) -> Self {
        match found {
            Recognition::Public(published) => Self::Found(published),
            Recognition::Candidate(published) => Self::Candidate(published),
            Recognition::NotPublished => Self::NotFound,
            Recognition::Pending { reason } => Self::Pending { reason },
        }
    }
}

/// Looks for our post in what its account has published since the snapshot `before`.
pub async fn look_for<T: Timeline>(
    timeline: &T,
    before: &[String],
    claims: &dyn Claims,
    now: DateTime<Utc>,
) -> Result<Recognition, T::Error> {
    find_in(timeline, &newer(timeline, before).await?, claims, now).await
}

/// Looks for our post among those that are newer than the publish call.
pub(crate) async fn find_in<T: Timeline>(
    timeline: &T,
    newer: &Newer<T::Post>,
    claims: &dyn Claims,
    now: DateTime<Utc>,
) -> Result<Recognition, T::Error> {
    let pending = |reason: &str| Ok(Recognition::Pending { reason: reason.to_owned() });
    let Newer { posts, is_all } = newer;
    let ids: Vec<String> = posts.iter().map(|it| it.id().to_owned()).collect();
    let Ok(claims) = claims.find(&ids).await else { return pending(&ClaimsError.to_string()) };
    let claim = |post: &T::Post| claims.iter().find(|(id, _)| id == post.id()).map(|(_, claim)| *claim);
    let published =
        |post: &T::Post| Published::new(post.id().to_owned(), post.at().unwrap_or(now)).with_url(post.url());

    // A worker claimed it for this delivery, and died before it stored the outcome.
    if let Some(post) = posts.iter().find(|it| claim(it) == Some(Claim::Ours)) {
        return Ok(Recognition::Public(published(post)));
    }
    let unclaimed: Vec<_> = posts.iter().rev().filter(|it| claim(it).is_none()).collect();
    if let Some(post) = unclaimed.iter().find(|it| timeline.post_match(it) == Some(PostMatch::Exact)) {
        return Ok(Recognition::Public(published(post)));
    }
    let (mut compared, mut is_doubtful) = (0, false);
    // The oldest first: the publish call followed the snapshot, so ours is probably the first post
    // after it.
    for post in unclaimed {
        let post_match = match timeline.post_match(post) {
            Some(post_match) => post_match,
            None if compared == MAX_COMPARED => {
                return pending("the account has published too many posts since the publish call");
            }
            None => {
                compared += 1;
                timeline.compare(post).await?
            }
        };
        match post_match {
            PostMatch::Exact => return Ok(Recognition::Public(published(post))),
            PostMatch::Equal => return Ok(Recognition::Candidate(published(post))),
            PostMatch::Possible => is_doubtful = true,
            PostMatch::Different => {}
        }
    }
    if is_doubtful {
        return pending("a post that the account has published since may be this one");
    }
    if *is_all {
        Ok(Recognition::NotPublished)
    } else {
        pending("the list of the account's posts since the publish call is incomplete")
    }
}

pub(crate) struct Newer<P> {
    /// Newest first, each once.
    pub(crate) posts: Vec<P>,
    pub(crate) is_all: bool,
}

async fn newer<T: Timeline>(timeline: &T, before: &[String]) -> Result<Newer<T::Post>, T::Error> {
    let mut seen = BTreeSet::new();
    let mut posts: Vec<T::Post> = Vec::new();
    for _ in 0..MAX_PAGES {
        let page = timeline.page(posts.last().map(Listed::id)).await?;
        let Some(first) = page.first() else {
            // An account that showed posts before and shows none now indicates a failing server
            // rather than an owner who removed them all.
            let is_all = before.is_empty() || !posts.is_empty();
            return Ok(Newer { posts, is_all });
        };
        if seen.contains(first.id()) {
            // The next page is the first one again, so this server does not paginate. Its only page
            // is cut off if it is as long as a page: no shorter than `SMALLEST_PAGE`, nor than what
            // was there before.
            let is_all = posts.len() < SMALLEST_PAGE.max(before.len());
            return Ok(Newer { posts, is_all });
        }
        // Posts behind a known one are older, and existed before the call, even if the snapshot did
        // not keep their ids.
        let is_known = |post: &T::Post| before.iter().any(|it| it == post.id());
        let last_known = page.iter().rposition(is_known);
        let newer = page.into_iter().take(last_known.unwrap_or(usize::MAX));
        posts.extend(newer.filter(|it| !is_known(it) && seen.insert(it.id().to_owned())));
        if last_known.is_some() {
            return Ok(Newer { posts, is_all: true });
        }
    }
    Ok(Newer { posts, is_all: false })
}

#[cfg(test)]
mod tests;
