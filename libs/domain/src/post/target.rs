//! One account that a post is aimed at.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::request::{Accounts, NamedMedium, NewTarget};
use super::status::TargetStatus;
use crate::budget::Charge;
use crate::failure::FailureClass;
use crate::id::{ConnectionId, Ids, TargetId};
use crate::media::Attachment;
use crate::options::Options;
use crate::text::PostText;
use crate::validation_errors::ValidationErrors;

/// One account that a post is aimed at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Our id of the target. It stays the same as long as the post goes to this
    /// account.
    pub target_id: TargetId,
    /// The account.
    pub connection_id: ConnectionId,
    /// The account's platform. It is copied here, so that it can still be shown
    /// after the account was disconnected.
    pub provider: String,
    /// The account's handle, copied for the same reason.
    pub username: Option<String>,
    /// The text for this target alone, or the one that it went out with.
    pub text: Option<PostText>,
    /// The files for this target alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media: Option<Vec<Attachment>>,
    /// What is said on its platform alone.
    #[serde(default, skip_serializing_if = "Options::is_empty")]
    pub options: Options,
    /// How far publishing has got for this target.
    pub status: TargetStatus,
    /// When it became public.
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub published_at: Option<DateTime<Utc>>,
    /// The platform's id of the published post.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform_post_id: Option<String>,
    /// Where people see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform_post_url: Option<String>,
    /// Why it is not public.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// Why it failed, for programs; `None` unless it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureClass>,
    /// Whether it is counted among its connection's pending targets.
    #[serde(default)]
    pub marked: bool,
    /// What it takes of its user's budget, where its platform has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub charge: Option<Charge>,
}

impl Target {
    /// Resets the target, as if it had never been tried.
    pub(super) fn start_over(&mut self) {
        self.status = TargetStatus::Pending;
        self.error_message = None;
        self.failure = None;
    }
}

/// The files that a client names, as far as they are among these.
pub(super) fn carried(named: &[NamedMedium], files: &[Attachment]) -> Vec<Attachment> {
    named.iter().filter_map(|it| it.among(files)).collect()
}

/// The targets that a client names. Those that the post had already keep their
/// ids.
pub(super) fn aim(
    named: &[NewTarget],
    before: &[Target],
    files: &[Attachment],
    accounts: &Accounts,
    ids: &Ids,
    faults: &mut ValidationErrors,
) -> Vec<Target> {
    let mut targets = Vec::new();
    let mut seen = BTreeSet::new();
    for new in named {
        let index = new.index;
        let field = format!("platforms.{index}.connected_account_id");
        if !seen.insert(new.connection_id) {
            faults.add(field, "names an account that stands in platforms already");
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
            (None, None) => faults.add(field, "is not one of your connected accounts"),
        }
    }
    targets
}
