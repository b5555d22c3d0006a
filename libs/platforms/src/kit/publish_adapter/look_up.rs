//! Finds out whether a publish call whose response was lost took effect.

use std::sync::atomic::{AtomicBool, Ordering};

use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::{Claim, Resolution};
use domain::post::SegmentKind;
use serde_json::Value;

use super::super::call_error::{CallError, ErrorKind};
use super::{Prepared, PublishAdapter};
use crate::publish_request::PublishRequest;
use crate::recognition::{self, Listed, Newer, PostMatch, Recognition, Timeline, TimelineSnapshot};

/// A post on later pages is neither found nor excluded.
const MAX_PAGES: usize = 10;

const CLOCK_SKEW: TimeDelta = TimeDelta::minutes(5);

/// How far a platform's clock may be behind ours for a refused post to be that of the publish call, and not that of an
/// earlier one with the same content.
const REFUSAL_CLOCK_SKEW: TimeDelta = TimeDelta::seconds(5);

pub(crate) enum LookUpMethod {
    /// Posts have our reference and can be found by it, so a post that is not found does not exist.
    Reference,
    /// [`PublishAdapter::prepare_post`] stored a draft, which the publish call makes public. Without it, there was no
    /// publish call.
    Draft,
    /// The account's posts are listed and compared. With a snapshot, a post is newer than the publish call if the list
    /// did not show it before; without, the list is asked for posts since the call. The list of a reply or a comment,
    /// which has what follows our own new post, needs no snapshot: it was empty.
    List { snapshot: bool },
    /// Nothing can be read. `advice` says where the user can look.
    None { advice: String },
}

impl LookUpMethod {
    pub(super) const fn needs_snapshot(&self) -> bool {
        matches!(self, Self::List { snapshot: true })
    }
}

/// A page of an account's posts, newest first.
pub(crate) struct PostPage {
    pub(crate) posts: Vec<ListedPost>,
    /// The cursor of the next page. `None` means that the platform reports no more posts.
    pub(crate) next: Option<String>,
    /// Whether the order is documented, so that a post older than the publish call ends the search.
    pub(crate) is_sorted: bool,
}

#[derive(Default)]
pub(crate) struct ListedPost {
    pub(crate) id: String,
    pub(crate) at: Option<DateTime<Utc>>,
    pub(crate) url: Option<String>,
    /// Input of [`PublishAdapter::compare`].
    pub(crate) content: Value,
    pub(crate) state: PostState,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum PostState {
    #[default]
    Public,
    /// The platform processes or reviews it; the reason, for the user.
    NotYetPublic(String),
    /// The platform will not make it public; the reason, for the user.
    Refused(String),
}

impl Listed for ListedPost {
    fn id(&self) -> &str {
        &self.id
    }

    fn at(&self) -> Option<DateTime<Utc>> {
        self.at
    }

    fn url(&self) -> Option<String> {
        self.url.clone()
    }
}

pub(super) async fn resolve<A: PublishAdapter>(
    adapter: &A,
    request: &PublishRequest<'_>,
    prepared: &Prepared<'_, A::Uploaded>,
    snapshot: Option<&TimelineSnapshot>,
    since: DateTime<Utc>,
) -> Resolution {
    let snapshot = match (adapter.look_up_method(request), snapshot) {
        (LookUpMethod::Draft, _) if prepared.extra.is_null() => return request.never_made(),
        (LookUpMethod::Reference | LookUpMethod::Draft, _) => {
            return adapter.find_post(request, prepared).await.unwrap_or_else(CallError::resolution);
        }
        (LookUpMethod::None { advice }, _) => return adapter.without_look_up(request, prepared, since, advice).await,
        (LookUpMethod::List { snapshot: true }, _) if request.segment != SegmentKind::Post => Some([].as_slice()),
        (LookUpMethod::List { snapshot: true }, Some(TimelineSnapshot::Showed(known))) => Some(known.as_slice()),
        // Without a snapshot, the posts of the lost window are found by their times.
        (LookUpMethod::List { snapshot: true }, None) if request.lost_window.is_some() => None,
        (LookUpMethod::List { snapshot: true }, _) => {
            let advice = "the posts of the account were not listed before the publish call".to_owned();
            return adapter.without_look_up(request, prepared, since, advice).await;
        }
        (LookUpMethod::List { snapshot: false }, _) => None,
    };
    let list = AccountPosts { adapter, request, prepared, snapshot, has_possible: AtomicBool::new(false) };
    let found = match list.newer(since - CLOCK_SKEW).await {
        Ok(mut newer) => {
            put_refused_last(&mut newer.posts, since);
            let found = recognition::find_in(&list, &newer, request.claims, request.now).await;
            found.map(|it| (it, newer.posts))
        }
        Err(error) => Err(error),
    };
    match found {
        // Another look-up would show the same, and each is billed.
        Ok((Recognition::Pending { .. }, _)) if A::LOOK_UPS_ARE_BILLED && list.has_possible.load(Ordering::Relaxed) => {
            Resolution::Undeterminable { advice: CANDIDATE_ADVICE.to_owned() }
        }
        Ok((found, posts)) => by_state(found.into(), &posts),
        Err(error) if A::FORBIDDEN_LIST_IS_FINAL && error.kind == ErrorKind::Forbidden => {
            adapter.without_look_up(request, prepared, since, error.message).await
        }
        Err(error) => error.resolution(),
    }
}

/// Removes posts that the platform refused before the publish call: the user may have tried the same post before. Moves
/// the other refused posts to the front. Posts are compared from the back, so a refusal counts only if no other post is
/// like ours.
fn put_refused_last(posts: &mut Vec<ListedPost>, since: DateTime<Utc>) {
    let is_refused = |it: &ListedPost| matches!(it.state, PostState::Refused(_));
    posts.retain(|it| !is_refused(it) || it.at.is_none_or(|at| since - REFUSAL_CLOCK_SKEW <= at));
    posts.sort_by_key(|it| !is_refused(it));
}

/// The outcome for a recognized post, which need not be public.
fn by_state(resolution: Resolution, posts: &[ListedPost]) -> Resolution {
    let (Resolution::Found(recognized) | Resolution::Candidate(recognized)) = &resolution else { return resolution };
    let post = posts.iter().find(|it| it.id == recognized.platform_post_id);
    match post.map(|it| it.state.clone()) {
        Some(PostState::NotYetPublic(reason)) => Resolution::Pending { reason },
        Some(PostState::Refused(reason)) => Resolution::Refused { reason },
        Some(PostState::Public) | None => resolution,
    }
}

/// The user message adds where to look.
const CANDIDATE_ADVICE: &str = "a post that may be this one is public";

struct AccountPosts<'a, A: PublishAdapter> {
    adapter: &'a A,
    request: &'a PublishRequest<'a>,
    prepared: &'a Prepared<'a, A::Uploaded>,
    /// The ids of the newest posts before the publish call, where the adapter asks for them.
    snapshot: Option<&'a [String]>,
    /// Whether a post may be ours, without being recognized.
    has_possible: AtomicBool,
}

impl<A: PublishAdapter> AccountPosts<'_, A> {
    /// The posts that are newer than the publish call. Reads until a known post, a post older than
    /// the call, or the end of the list.
    async fn newer(&self, since: DateTime<Utc>) -> Result<Newer<ListedPost>, CallError> {
        let (mut posts, mut next): (Vec<ListedPost>, Option<String>) = (Vec::new(), None);
        for _ in 0..MAX_PAGES {
            let asks_since = self.snapshot.is_none().then_some(since);
            let page = self.adapter.list_posts(self.request, asks_since, next.as_deref()).await?;
            let (newer, has_reached_call) = self.filter_newer(page.posts, page.is_sorted, since);
            let is_new = |it: &ListedPost| posts.iter().all(|other| other.id != it.id);
            let newer: Vec<_> = newer.into_iter().filter(is_new).collect();
            let is_found = self.has_ours(&newer).await;
            posts.extend(newer);
            if is_found {
                return Ok(Newer { posts, is_all: false });
            }
            if has_reached_call {
                return Ok(Newer { posts, is_all: true });
            }
            match page.next {
                // A cursor that does not advance would be read without end.
                Some(it) if Some(&it) != next.as_ref() => next = Some(it),
                Some(_) => break,
                // An account that showed posts before and shows none now indicates a failing
                // server.
                None => {
                    let showed_none = self.snapshot.is_none_or(<[String]>::is_empty);
                    return Ok(Newer { is_all: showed_none || !posts.is_empty(), posts });
                }
            }
        }
        Ok(Newer { posts, is_all: false })
    }

    /// The posts of a page that are newer than the publish call, and whether all posts behind them are older.
    fn filter_newer(&self, posts: Vec<ListedPost>, is_sorted: bool, since: DateTime<Utc>) -> (Vec<ListedPost>, bool) {
        let Some(known) = self.snapshot else {
            let is_older = |it: &ListedPost| it.at.is_some_and(|at| at < since);
            let has_older = posts.iter().any(is_older);
            return (posts.into_iter().filter(|it| !is_older(it)).collect(), is_sorted && has_older);
        };
        // Clocks are not compared. Posts behind a known one are older than it, also those that were not kept.
        let is_known = |it: &ListedPost| known.contains(&it.id);
        let last_known = posts.iter().rposition(is_known);
        let newer = posts.into_iter().take(last_known.unwrap_or(usize::MAX)).filter(|it| !is_known(it));
        (newer.collect(), last_known.is_some())
    }

    /// Whether one of these is certainly ours. Other pages cannot change that, and reading them may be billed.
    async fn has_ours(&self, posts: &[ListedPost]) -> bool {
        let is_certain = |it: &&ListedPost| self.adapter.compare(self.request, self.prepared, it) == PostMatch::Exact;
        let ids: Vec<_> = posts.iter().filter(is_certain).map(|it| it.id.clone()).collect();
        if ids.is_empty() {
            return false;
        }
        let is_ours = |claims: Vec<(String, Claim)>| {
            ids.iter().any(|id| !claims.iter().any(|(it, claim)| it == id && *claim == Claim::Others))
        };
        self.request.claims.find(&ids).await.is_ok_and(is_ours)
    }
}

#[async_trait::async_trait]
impl<A: PublishAdapter> Timeline for AccountPosts<'_, A> {
    type Post = ListedPost;
    type Error = CallError;

    async fn page(&self, _: Option<&str>) -> Result<Vec<ListedPost>, CallError> {
        Ok(Vec::new())
    }

    fn post_match(&self, post: &ListedPost) -> Option<PostMatch> {
        let post_match = match self.adapter.compare(self.request, self.prepared, post) {
            // It may be older than the call.
            PostMatch::Equal if self.snapshot.is_none() && post.at.is_none() => PostMatch::Possible,
            post_match => post_match,
        };
        if post_match == PostMatch::Possible {
            self.has_possible.store(true, Ordering::Relaxed);
        }
        Some(post_match)
    }
}
