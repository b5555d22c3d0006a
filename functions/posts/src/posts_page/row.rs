//! A post and its accounts, as the page shows them.

use api::page::{distance, time};
use chrono::{DateTime, Utc};
use domain::connection::Connection;
use domain::failure::FailureClass;
use domain::post::{Accounts, Post, PostStatus, Target, TargetStatus};
use domain::web_address::is_web_address;

/// How much of a post's text is shown: enough to know it again.
const SHOWN_CHARS: usize = 280;

/// A post.
pub(super) struct Row {
    pub(super) id: String,
    pub(super) revision: u64,
    /// The time of the day, and how far away it is; empty for drafts.
    pub(super) at: String,
    pub(super) distance: String,
    pub(super) text: String,
    pub(super) files: usize,
    pub(super) targets: Vec<TargetRow>,
    pub(super) status: PostStatus,
    /// Whether it can be taken back to draft.
    pub(super) can_cancel: bool,
    /// Whether what failed can be tried again now.
    pub(super) can_try_again: bool,
    /// Whether an account has to be connected again before that.
    pub(super) must_reconnect: bool,
}

/// One account that a post goes to.
pub(super) struct TargetRow {
    /// What its platform is called, or its name where the account is gone.
    pub(super) platform: String,
    pub(super) name: Option<String>,
    pub(super) state: &'static str,
    pub(super) is_good: bool,
    pub(super) is_bad: bool,
    /// Why it is not public.
    pub(super) message: Option<String>,
    /// What to do before it is tried again.
    pub(super) advice: Option<String>,
    /// Where it can be seen.
    pub(super) link: Option<String>,
}

impl Row {
    pub(super) fn of(post: &Post, accounts: &Accounts, now: DateTime<Utc>) -> Self {
        let unsent = || post.targets.iter().filter(|it| it.status != TargetStatus::Published);
        let is_public_somewhere = post.targets.iter().any(|it| it.status == TargetStatus::Published);
        let is_failed = post.status == PostStatus::Failed;
        let must_reconnect = unsent().any(|it| accounts.get(&it.connection_id).is_none_or(|it| it.needs_reconnection));
        Self {
            id: post.post_id.to_string(),
            revision: post.revision,
            at: post.scheduled_at.map(time).unwrap_or_default(),
            distance: post.scheduled_at.map(|it| distance(it, now)).unwrap_or_default(),
            text: beginning(post.text.as_str()),
            files: post.media.len(),
            targets: post.targets.iter().map(|it| TargetRow::of(it, accounts.get(&it.connection_id))).collect(),
            status: post.status,
            can_cancel: !is_public_somewhere && (is_failed || post.status == PostStatus::Scheduled),
            can_try_again: is_failed && !must_reconnect,
            must_reconnect: must_reconnect && matches!(post.status, PostStatus::Scheduled | PostStatus::Failed),
        }
    }

    pub(super) fn can_schedule(&self) -> bool {
        self.status == PostStatus::Draft && !self.targets.is_empty()
    }
}

impl TargetRow {
    fn of(target: &Target, account: Option<&Connection>) -> Self {
        let is_failed = target.status == TargetStatus::Failed;
        let advice = match account {
            _ if target.status == TargetStatus::Published => None,
            None => Some("This account is not connected any more."),
            // Otherwise the message says so.
            Some(it) if it.needs_reconnection && target.error_message.is_none() => {
                Some("This account has to be connected again.")
            }
            Some(_) if is_failed && target.failure == Some(FailureClass::MayBePublic) => {
                Some("It may be public: look there first. If it is, trying again would publish it twice.")
            }
            Some(_) => None,
        };
        let handle = account.and_then(|it| it.profile.handle());
        Self {
            platform: account.map_or_else(|| target.provider.clone(), |it| it.rules.title.clone()),
            name: handle.or_else(|| target.username.clone()),
            state: match target.status {
                TargetStatus::Pending if target.error_message.is_some() => "Waits",
                TargetStatus::Pending => "For",
                TargetStatus::Publishing => "Is going out",
                TargetStatus::Published => "Published",
                TargetStatus::Failed => "Failed",
            },
            is_good: target.status == TargetStatus::Published,
            is_bad: is_failed,
            message: target.error_message.clone(),
            advice: advice.map(str::to_owned),
            link: target.platform_post_url.clone().filter(|it| is_web_address(it)),
        }
    }
}

/// The beginning of a text, with an ellipsis where it was cut.
fn beginning(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
