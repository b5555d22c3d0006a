//! An account whose posts carry no reference of ours: the service recognizes its own post only by
//! comparing posts. The code that does this in real adapters reads the list.

use std::fmt::Write;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use domain::delivery::{AttemptError, Resolution};
use platforms::PublishRequest;
use platforms::recognition::{Listed, PostMatch, Timeline, look_for};

use super::Adapter;
use crate::simulated_platforms::faults::{PlatformFault, read_probabilities};
use crate::simulated_platforms::timeline::ListedPost;

/// A page is short, so that more than one must be read.
const PAGE: usize = 3;

impl Listed for ListedPost {
    fn id(&self) -> &str {
        &self.id
    }

    fn at(&self) -> Option<DateTime<Utc>> {
        Some(self.at)
    }

    fn url(&self) -> Option<String> {
        None
    }
}

struct Account<'a> {
    adapter: &'a Adapter,
    request: &'a PublishRequest<'a>,
}

#[async_trait]
impl Timeline for Account<'_> {
    type Post = ListedPost;
    type Error = Resolution;

    async fn page(&self, after: Option<&str>) -> Result<Vec<ListedPost>, Resolution> {
        let Self { adapter, request } = *self;
        let faults = read_probabilities(&adapter.platforms.world.probabilities);
        let (call, fault) = adapter.call(format!("read {} {}", adapter.spec.name, request.reference), &faults);
        call.go().await;
        let account = adapter.account(request.credentials);
        let page = adapter.platforms.lock().timeline.page(&request.profile.account_id, after, PAGE);
        call.respond().await;
        match (fault, account) {
            (PlatformFault::Fine, Ok(_)) => Ok(page),
            (PlatformFault::Fine, Err(AttemptError::Unauthorized { reason })) => {
                Err(Resolution::Unauthorized { reason })
            }
            _ => Err(Resolution::Pending { reason: "it did not answer".to_owned() }),
        }
    }

    fn post_match(&self, post: &ListedPost) -> Option<PostMatch> {
        let parent = self.request.reply_to.map(|it| &it.parent.platform_post_id);
        (post.by_hand || post.parent.as_ref() != parent).then_some(PostMatch::Different)
    }

    async fn compare(&self, _: &ListedPost) -> Result<PostMatch, Resolution> {
        Ok(PostMatch::Equal)
    }
}

/// The progress of preparation, followed by the posts that the account shows now: a post that is
/// not among them was published later.
pub(super) fn with_snapshot(adapter: &Adapter, request: &PublishRequest<'_>, reached: &str) -> String {
    let mut text = format!("{reached} ");
    for shown in adapter.platforms.lock().timeline.page(&request.profile.account_id, None, PAGE) {
        // Writing to a string cannot fail.
        let _ = write!(text, "{},", shown.id);
    }
    text
}

/// Looks for a post among those that have appeared since preparation.
pub(super) async fn resolve(adapter: &Adapter, request: &PublishRequest<'_>) -> Resolution {
    let before = request.progress.and_then(|it| it.split_once(' ')).map_or("", |(_, before)| before);
    let before: Vec<String> = before.split_terminator(',').map(str::to_owned).collect();
    match look_for(&Account { adapter, request }, &before, request.claims, adapter.now()).await {
        Ok(found) => found.into(),
        Err(unread) => unread,
    }
}
