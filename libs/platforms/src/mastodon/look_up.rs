use chrono::TimeDelta;

use super::account;
use super::api::Api;
use super::api::statuses::{Status, Uploaded};
use super::content;
use super::errors::is_missing_scope;
use super::grant::Grant;
use super::preparation::Progress;
use crate::deadline::Deadline;
use crate::kit::{CallError, ErrorKind};
use crate::publish_request::{PublishRequest, ReplyTo};
use crate::recognition::{self, Listed, PostMatch, Recognition, Timeline, TimelineSnapshot};

const CLOCK_SKEW: TimeDelta = TimeDelta::minutes(5);

#[derive(Debug)]
pub(super) enum ListingError {
    Disconnected {
        reason: String,
    },
    Forbidden,
    /// An error that may pass.
    Passing {
        reason: String,
    },
}

impl From<CallError> for ListingError {
    fn from(error: CallError) -> Self {
        // Checked first: the grant is valid and only does not cover reading.
        if is_missing_scope(&error) {
            return Self::Forbidden;
        }
        match error.kind {
            ErrorKind::Unauthorized => Self::Disconnected { reason: error.message },
            _ => Self::Passing { reason: error.message },
        }
    }
}

pub(super) struct StatusTimeline<'a> {
    pub(super) api: &'a Api,
    pub(super) grant: &'a Grant,
    pub(super) request: &'a PublishRequest<'a>,
    pub(super) progress: &'a Progress,
    pub(super) watch: &'a Deadline,
}

impl StatusTimeline<'_> {
    /// Looks for the status among those that are newer than the publish call. A reply is newer than
    /// what it follows.
    pub(super) async fn look_up(&self) -> Result<Recognition, ListingError> {
        if account::id_on_server(self.request.profile).is_none() {
            return Err(ListingError::Forbidden);
        }
        let before: &[String] = match (self.request.reply_to, &self.progress.before) {
            (Some(ReplyTo { root, parent }), _) => &[parent, root].map(|it| it.platform_post_id.clone()),
            (None, Some(TimelineSnapshot::Showed(ids))) => ids.as_slice(),
            (None, Some(TimelineSnapshot::Unreadable)) => return Err(ListingError::Forbidden),
            // The statuses of the lost window are found by their times.
            (None, None) if self.request.lost_window.is_some() => &[],
            (None, None) => {
                return Ok(Recognition::Pending { reason: "the account's earlier posts were not read".to_owned() });
            }
        };
        Ok(recognition::look_for(self, before, self.request.claims, self.watch.now()).await?)
    }

    fn is_elsewhere(&self, status: &Status) -> bool {
        match self.request.reply_to {
            None => status.is_reply(),
            Some(it) => status.is_reply_to_other(&it.parent.platform_post_id),
        }
    }

    async fn compare_text(&self, status: &Status) -> Result<PostMatch, CallError> {
        let now = self.watch.now();
        let source = match status.source() {
            Some(source) => Some(source.to_owned()),
            None => self.api.source(self.grant, &self.request.credentials.access_token, &status.id, now).await?,
        };
        Ok(match source {
            Some(source) => content::compare_source(&source, self.request.text),
            // Servers rewrite the HTML that they show, so a difference does not prove that it is
            // another status.
            None if content::reduce_html(status.content()) == content::reduce_text(self.request.text) => {
                PostMatch::Equal
            }
            None => PostMatch::Possible,
        })
    }
}

#[async_trait::async_trait]
impl Timeline for StatusTimeline<'_> {
    type Post = Status;
    type Error = CallError;

    async fn page(&self, after: Option<&str>) -> Result<Vec<Status>, CallError> {
        let Some(account) = account::id_on_server(self.request.profile) else { return Ok(Vec::new()) };
        let token = &self.request.credentials.access_token;
        let mut statuses = self.api.statuses(self.grant, token, account, after, self.watch.now()).await?;
        if let (Some(lost), None) = (self.request.lost_window, &self.progress.before) {
            statuses.retain(|it| it.at().is_none_or(|at| lost.since - CLOCK_SKEW <= at));
        }
        Ok(statuses)
    }

    /// One file is in one status only, so a status with our files is ours even if its text was
    /// edited. If the software keeps the ids of files, a status with other files is another one.
    fn post_match(&self, status: &Status) -> Option<PostMatch> {
        if status.is_boost() || self.is_elsewhere(status) {
            return Some(PostMatch::Different);
        }
        let ours = &self.progress.media;
        let has_file = |file: &Uploaded| status.shows(&file.id, file.url.as_deref());
        if !ours.is_empty() && status.files() == ours.len() && ours.iter().all(has_file) {
            return Some(PostMatch::Exact);
        }
        let can_compare_ids = self.grant.software.keeps_ids_of_files() && !(ours.is_empty() && status.files() == 0);
        can_compare_ids.then_some(PostMatch::Different)
    }

    async fn compare(&self, status: &Status) -> Result<PostMatch, CallError> {
        let ours = self.progress.media.len();
        // Some servers list a picture that the text only links to as a file of the status.
        let possible_file_counts = ours..=ours + self.request.text.matches("://").count();
        Ok(match self.compare_text(status).await? {
            PostMatch::Equal if !possible_file_counts.contains(&status.files()) => PostMatch::Possible,
            PostMatch::Different if status.is_edited() => PostMatch::Possible,
            // If the parent is deleted, the reply remains. Pleroma and snac also accept a reply to a
            // status that they do not have.
            PostMatch::Equal if self.request.reply_to.is_some() && !status.is_reply() => PostMatch::Possible,
            post_match => post_match,
        })
    }
}
