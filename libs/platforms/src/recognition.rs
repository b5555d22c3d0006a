//! Recognising the post that a public call made when its answer was lost, on
//! platforms that neither take an idempotency key nor let us choose an id.
//!
//! Preparation reads the ids of what the account shows before the call. Whatever
//! it shows later and did not show then is newer; clocks, which differ, are not
//! compared. Of the newer posts, those that other deliveries have claimed are
//! left out, and the others are compared with the one that is looked for.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use domain::delivery::{Claim, Published, Resolution};
use serde::{Deserialize, Serialize};

/// The most pages of a timeline that are read.
const MAX_PAGES: usize = 6;

/// No platform has pages shorter than this, so that a shorter one is the last.
const SMALLEST_PAGE: usize = 20;

/// How many ids are kept of what the account showed before the call.
const MAX_KEPT: usize = 20;

/// The most posts that are compared at one look; each may take a call.
const MAX_COMPARED: usize = 20;

/// What an account showed before the public call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimelineSnapshot {
    /// The ids of its newest posts, the newest first.
    Showed(Vec<String>),
    /// What it has published may not be read.
    Unreadable,
}

impl TimelineSnapshot {
    /// Made of the first page of what it has published.
    pub fn showed(posts: &[impl Listed]) -> Self {
        Self::Showed(posts.iter().take(MAX_KEPT).map(|it| it.id().to_owned()).collect())
    }
}

/// A post as its account lists it.
pub trait Listed: Send + Sync {
    /// The platform's id of it.
    fn id(&self) -> &str;

    /// When it was made, by the platform's clock.
    fn at(&self) -> Option<DateTime<Utc>>;

    /// Where people see it.
    fn url(&self) -> Option<String>;
}

/// How much a post is like the one that is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostMatch {
    /// It is certainly this one: it has something that no other post can have.
    It,
    /// It looks the same, as another post with the same words does.
    Same,
    /// It may be this one, changed by the platform or edited since.
    Doubtful,
    /// It is another one.
    Other,
}

/// What an account has published.
#[async_trait::async_trait]
pub trait Timeline: Send + Sync {
    type Post: Listed;
    /// Why it was not read.
    type Error: Send;

    /// A page, newest first: the first one, or the one after a post.
    async fn page(&self, after: Option<&str>) -> Result<Vec<Self::Post>, Self::Error>;

    /// How much a post is like the one that is looked for; `None` where its entry
    /// in the timeline is not enough to tell.
    fn likeness(&self, post: &Self::Post) -> Option<PostMatch>;

    /// The same for a post whose entry is not enough. It may make a call. It is never asked
    /// where [`Timeline::likeness`] always tells.
    async fn compare(&self, post: &Self::Post) -> Result<PostMatch, Self::Error> {
        let _ = post;
        Ok(PostMatch::Doubtful)
    }
}

/// Knows which posts of the account were made by deliveries of this deployment.
#[async_trait::async_trait]
pub trait Claims: Send + Sync {
    /// Which of these ids are claimed, and by whom: by the delivery that asks, or
    /// by another one. No id is returned twice.
    async fn of(&self, ids: &[String]) -> Result<Vec<(String, Claim)>, ClaimsError>;
}

/// Our own store could not be asked.
#[derive(Clone, Debug, thiserror::Error)]
#[error("our own store could not be asked which posts are known")]
pub struct ClaimsError;

/// Claims of a deployment where no delivery has made anything.
#[cfg(any(test, feature = "conformance"))]
pub struct NoOtherClaims;

#[cfg(any(test, feature = "conformance"))]
#[async_trait::async_trait]
impl Claims for NoOtherClaims {
    async fn of(&self, _: &[String]) -> Result<Vec<(String, Claim)>, ClaimsError> {
        Ok(Vec::new())
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    Public(Published),
    /// A post that looks the same is public, and no delivery has claimed it.
    Recognised(Published),
    /// Everything published since was read, and it is not there.
    NotThere,
    /// It cannot be said now.
    Unclear {
        /// For the user.
        reason: String,
    },
}

impl From<Found> for Resolution {
    fn from(found: Found) -> Self {
        match found {
            Found::Public(published) => Self::Found(published),
            Found::Recognised(published) => Self::Candidate(published),
            Found::NotThere => Self::NotFound,
            Found::Unclear { reason } => Self::Pending { reason },
        }
    }
}

/// Looks for a post in what its account has published since it showed `before`.
///
/// # Errors
/// When the timeline cannot be read, with its failure.
pub async fn look_for<T: Timeline>(
    timeline: &T,
    before: &[String],
    claims: &dyn Claims,
    now: DateTime<Utc>,
) -> Result<Found, T::Error> {
    among(timeline, newer(timeline, before).await?, claims, now).await
}

/// Looks for a post among those that are newer than the publish call.
///
/// # Errors
/// When a post cannot be compared, with the failure of its timeline.
pub(crate) async fn among<T: Timeline>(
    timeline: &T,
    newer: Newer<T::Post>,
    claims: &dyn Claims,
    now: DateTime<Utc>,
) -> Result<Found, T::Error> {
    let unclear = |reason: &str| Ok(Found::Unclear { reason: reason.to_owned() });
    let Newer { posts, is_all } = newer;
    let ids: Vec<String> = posts.iter().map(|it| it.id().to_owned()).collect();
    let Ok(claims) = claims.of(&ids).await else { return unclear(&ClaimsError.to_string()) };
    let claim = |post: &T::Post| claims.iter().find(|(id, _)| id == post.id()).map(|(_, claim)| *claim);
    let published =
        |post: &T::Post| Published::new(post.id().to_owned(), post.at().unwrap_or(now)).with_url(post.url());

    // A worker claimed it for this delivery and died before it could store the
    // outcome.
    if let Some(post) = posts.iter().find(|it| claim(it) == Some(Claim::Ours)) {
        return Ok(Found::Public(published(post)));
    }
    let unclaimed: Vec<_> = posts.iter().rev().filter(|it| claim(it).is_none()).collect();
    if let Some(post) = unclaimed.iter().find(|it| timeline.likeness(it) == Some(PostMatch::It)) {
        return Ok(Found::Public(published(post)));
    }
    let (mut compared, mut is_doubtful) = (0, false);
    // The oldest first: our call followed the look at what was there before, so
    // our post is probably the first after it.
    for post in unclaimed {
        let likeness = match timeline.likeness(post) {
            Some(likeness) => likeness,
            None if compared == MAX_COMPARED => return unclear("the account has published too much since"),
            None => {
                compared += 1;
                timeline.compare(post).await?
            }
        };
        match likeness {
            PostMatch::It => return Ok(Found::Public(published(post))),
            PostMatch::Same => return Ok(Found::Recognised(published(post))),
            PostMatch::Doubtful => is_doubtful = true,
            PostMatch::Other => {}
        }
    }
    if is_doubtful {
        return unclear("the account has published something since that may be this post");
    }
    if is_all { Ok(Found::NotThere) } else { unclear("not everything was listed that the account has published since") }
}

/// The posts that are newer than a publish call.
pub(crate) struct Newer<P> {
    /// Newest first, each once.
    pub(crate) posts: Vec<P>,
    /// Whether the list is known to be complete.
    pub(crate) is_all: bool,
}

async fn newer<T: Timeline>(timeline: &T, before: &[String]) -> Result<Newer<T::Post>, T::Error> {
    let mut seen = BTreeSet::new();
    let mut posts: Vec<T::Post> = Vec::new();
    for _ in 0..MAX_PAGES {
        let page = timeline.page(posts.last().map(Listed::id)).await?;
        let Some(first) = page.first() else {
            // The account showed posts before and shows none now. That is a server
            // in trouble rather than an account whose owner has removed them all.
            let is_all = before.is_empty() || !posts.is_empty();
            return Ok(Newer { posts, is_all });
        };
        if seen.contains(first.id()) {
            // The next page is the first one again, so this server does not page.
            // Its one page was cut off at its end if it is as long as a page: no
            // shorter than `SMALLEST_PAGE`, nor than what was there before.
            let is_all = posts.len() < SMALLEST_PAGE.max(before.len());
            return Ok(Newer { posts, is_all });
        }
        // Posts behind a known one are older than it, and were there before as
        // well, even if they were not among the ids that were kept.
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
