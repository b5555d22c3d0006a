//! An account whose posts carry no reference of ours: which one is ours can be
//! told from its looks only. It is read by the code that recognises posts in
//! real adapters.

use std::fmt::Write;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use domain::delivery::{AttemptError, Resolution};
use platforms::PublishRequest;
use platforms::recognition::{Listed, PostMatch, Timeline, look_for};

use super::Adapter;
use crate::network::fates::{PlatformFate, question_chances};
use crate::network::timeline::Shown;

/// A page is short, so that more than one has to be read.
const PAGE: usize = 3;

impl Listed for Shown {
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
    job: &'a PublishRequest<'a>,
}

#[async_trait]
impl Timeline for Account<'_> {
    type Post = Shown;
    type Error = Resolution;

    async fn page(&self, after: Option<&str>) -> Result<Vec<Shown>, Resolution> {
        let Self { adapter, job } = *self;
        let fates = question_chances(&adapter.network.world.weather);
        let (call, fate) = adapter.call(format!("read {} {}", adapter.spec.name, job.reference), &fates);
        call.go().await;
        let account = adapter.account(job.credentials);
        let page = adapter.network.lock().timeline.page(&job.profile.account_id, after, PAGE);
        call.come_back().await;
        match (fate, account) {
            (PlatformFate::Fine, Ok(_)) => Ok(page),
            (PlatformFate::Fine, Err(AttemptError::Unauthorized { reason })) => {
                Err(Resolution::Unauthorized { reason })
            }
            _ => Err(Resolution::Pending { reason: "it did not answer".to_owned() }),
        }
    }

    fn likeness(&self, post: &Shown) -> Option<PostMatch> {
        post.by_hand.then_some(PostMatch::Other)
    }

    async fn compare(&self, _: &Shown) -> Result<PostMatch, Resolution> {
        Ok(PostMatch::Same)
    }
}

/// The progress of preparation, followed by the posts that the account shows
/// now: a post that is not among them must have come later.
pub(super) fn with_what_is_there(adapter: &Adapter, job: &PublishRequest<'_>, reached: &str) -> String {
    let mut text = format!("{reached} ");
    for shown in adapter.network.lock().timeline.page(&job.profile.account_id, None, PAGE) {
        // Writing to a string cannot fail.
        let _ = write!(text, "{},", shown.id);
    }
    text
}

/// Looks for a post among those that have appeared since preparation.
pub(super) async fn resolve(adapter: &Adapter, job: &PublishRequest<'_>) -> Resolution {
    let before = job.progress.and_then(|it| it.split_once(' ')).map_or("", |(_, before)| before);
    let before: Vec<String> = before.split_terminator(',').map(str::to_owned).collect();
    match look_for(&Account { adapter, job }, &before, job.claims, adapter.now()).await {
        Ok(found) => found.into(),
        Err(unread) => unread,
    }
}
