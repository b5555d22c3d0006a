//! One account that a post is aimed at.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::request::{Accounts, NewSegment, NewTarget, carried};
use super::segment::{PublicSegment, SegmentContent};
use super::status::TargetStatus;
use crate::budget::Charge;
use crate::failure::FailureClass;
use crate::id::{ConnectionId, Ids, TargetId};
use crate::media::Attachment;
use crate::options::Options;
use crate::text::PostText;
use crate::upload_day::UploadDay;
use crate::validation_errors::ValidationErrors;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Stays the same as long as the post has a target for this account.
    pub target_id: TargetId,
    pub connection_id: ConnectionId,
    /// The platform's name, copied so that it can be shown after the account was disconnected.
    pub provider: String,
    /// Copied like `provider`.
    pub username: Option<String>,
    /// The text for this target only; empty where it publishes its files alone.
    pub text: Option<PostText>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media: Option<Vec<Attachment>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<Vec<SegmentContent>>,
    #[serde(default, skip_serializing_if = "Options::is_empty")]
    pub options: Options,
    /// When a person chose the [`Rules::consent_options`](crate::rules::Rules::consent_options) and agreed to the
    /// platform's terms, for exactly the texts, files and options that the target has.
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub consented_at: Option<DateTime<Utc>>,
    pub status: TargetStatus,
    /// The segments that are public: the first ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub public: Vec<PublicSegment>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment_error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// Set exactly while the status is failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureClass>,
    /// Whether it is counted among its connection's pending targets.
    pub marked: bool,
    /// The charge of each segment to its user's budget; empty if its platform has no budget.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub charges: Vec<Charge>,
    /// The day of the platform's quota on which its files are uploaded; `None` without such a quota.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upload_day: Option<UploadDay>,
}

impl Target {
    /// Resets the target, as if the segments that are not public had never been attempted.
    pub(super) fn start_over(&mut self) {
        self.status = if self.is_public() { TargetStatus::Publishing } else { TargetStatus::Pending };
        self.error_message = None;
        self.failure = None;
    }
}

/// The targets of a request. A target for an account that the post had already keeps its id.
pub(super) fn build_targets(
    named: &[NewTarget],
    before: &[Target],
    files: &[Attachment],
    accounts: &Accounts,
    ids: &Ids,
    errors: &mut ValidationErrors,
) -> Vec<Target> {
    let mut targets = Vec::new();
    let mut seen = BTreeSet::new();
    for new in named {
        let index = new.index;
        let field = format!("platforms.{index}.connected_account_id");
        if !seen.insert(new.connection_id) {
            errors.add(field, "is an account that an earlier entry already names");
            continue;
        }
        let kept = before.iter().find(|it| it.connection_id == new.connection_id);
        let published = kept.filter(|it| it.status == TargetStatus::Published);
        let thread = |named: &Vec<NewSegment>| named.iter().map(|it| it.content(files)).collect();
        match (published, accounts.get(&new.connection_id)) {
            (Some(published), _) => targets.push(published.clone()),
            (None, Some(account)) => targets.push(Target {
                target_id: kept.map_or_else(|| ids.fresh(), |it| it.target_id),
                connection_id: new.connection_id,
                provider: account.provider.clone(),
                username: account.profile.username.clone(),
                text: new.text.clone(),
                media: new.media.as_ref().map(|named| carried(named, files)),
                thread: new.thread.as_ref().map(thread),
                options: new.options.said.clone(),
                consented_at: new.consented_at.or(kept.and_then(|it| it.consented_at)),
                status: kept.map_or(TargetStatus::Pending, |it| it.status),
                public: kept.map(|it| it.public.clone()).unwrap_or_default(),
                comment_error: None,
                error_message: kept.and_then(|it| it.error_message.clone()),
                failure: kept.and_then(|it| it.failure),
                marked: kept.is_some_and(|it| it.marked),
                charges: kept.map(Target::final_charges).unwrap_or_default(),
                upload_day: kept.and_then(|it| it.upload_day),
            }),
            (None, None) => errors.add(field, "is not one of your connected accounts"),
        }
    }
    targets
}
