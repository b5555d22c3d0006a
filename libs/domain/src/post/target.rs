//! One account that a post is aimed at.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::request::{Accounts, MediaReference, NewTarget};
use super::status::TargetStatus;
use crate::budget::Charge;
use crate::failure::FailureClass;
use crate::id::{ConnectionId, Ids, TargetId};
use crate::media::Attachment;
use crate::options::Options;
use crate::text::PostText;
use crate::validation_errors::ValidationErrors;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Stays the same as long as the post has a target for this account.
    pub target_id: TargetId,
    pub connection_id: ConnectionId,
    /// The platform's name, copied so that it can be shown after the account was disconnected.
    pub provider: String,
    /// The account's username, copied for the same purpose.
    pub username: Option<String>,
    /// The text for this target only, or the text that was published.
    pub text: Option<PostText>,
    /// The files for this target only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media: Option<Vec<Attachment>>,
    /// Options of its platform.
    #[serde(default, skip_serializing_if = "Options::is_empty")]
    pub options: Options,
    pub status: TargetStatus,
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub published_at: Option<DateTime<Utc>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform_post_id: Option<String>,
    /// URL of the published post.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform_post_url: Option<String>,
    /// Why the target is not public.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// Set exactly while the status is failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureClass>,
    /// Whether it is counted among its connection's pending targets.
    pub marked: bool,
    /// The charge to its user's budget; `None` if its platform has no budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub charge: Option<Charge>,
}

impl Target {
    /// Resets the target, as if it had never been attempted.
    pub(super) fn start_over(&mut self) {
        self.status = TargetStatus::Pending;
        self.error_message = None;
        self.failure = None;
    }
}

/// The named files, as far as they are in `files`.
pub(super) fn carried(named: &[MediaReference], files: &[Attachment]) -> Vec<Attachment> {
    named.iter().filter_map(|it| it.find_in(files)).collect()
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
        match (published, accounts.get(&new.connection_id)) {
            (Some(published), _) => targets.push(published.clone()),
            (None, Some(account)) => targets.push(Target {
                target_id: kept.map_or_else(|| ids.fresh(), |it| it.target_id),
                connection_id: new.connection_id,
                provider: account.provider.clone(),
                username: account.profile.username.clone(),
                text: new.text.clone(),
                media: new.media.as_ref().map(|named| carried(named, files)),
                options: new.options.said.clone(),
                status: kept.map_or(TargetStatus::Pending, |it| it.status),
                published_at: None,
                platform_post_id: None,
                platform_post_url: None,
                error_message: kept.and_then(|it| it.error_message.clone()),
                failure: kept.and_then(|it| it.failure),
                marked: kept.is_some_and(|it| it.marked),
                charge: None,
            }),
            (None, None) => errors.add(field, "is not one of your connected accounts"),
        }
    }
    targets
}
