//! A post and its accounts, as the page shows them.

use api::page::{distance, time};
use chrono::{DateTime, Utc};
use domain::connection::Connection;
use domain::failure::FailureClass;
use domain::media::{Attachment, FileType};
use domain::post::{Accounts, Post, PostStatus, Target, TargetStatus};
use domain::web_address::is_web_address;

/// How much of a post's text is shown, in characters: enough to recognize it.
const SHOWN_CHARS: usize = 280;

pub(super) struct Row {
    pub(super) id: String,
    pub(super) revision: u64,
    /// The time of day; like `distance`, empty for drafts.
    pub(super) at: String,
    pub(super) distance: String,
    pub(super) text: String,
    /// The number of images and videos; empty if there are none.
    pub(super) files: String,
    pub(super) targets: Vec<TargetRow>,
    pub(super) status: PostStatus,
    /// Whether the post can be changed back to a draft.
    pub(super) can_cancel: bool,
    /// Whether a failed post can be published again now.
    pub(super) can_try_again: bool,
    /// Whether the user has to reconnect an account first.
    pub(super) must_reconnect: bool,
}

pub(super) struct TargetRow {
    /// The title of the platform, or its name if the account is gone.
    pub(super) platform: String,
    pub(super) name: Option<String>,
    pub(super) state: &'static str,
    pub(super) is_good: bool,
    pub(super) is_bad: bool,
    /// Why the post is not public.
    pub(super) message: Option<String>,
    /// What to do before trying again.
    pub(super) advice: Option<String>,
    /// The URL of the public post.
    pub(super) link: Option<String>,
}

impl Row {
    pub(super) fn new(post: &Post, accounts: &Accounts, now: DateTime<Utc>) -> Self {
        let unpublished = || post.targets.iter().filter(|it| it.status != TargetStatus::Published);
        let is_public_somewhere = post.targets.iter().any(|it| it.status == TargetStatus::Published);
        let is_failed = post.status == PostStatus::Failed;
        let must_reconnect =
            unpublished().any(|it| accounts.get(&it.connection_id).is_none_or(|it| it.needs_reconnection));
        Self {
            id: post.post_id.to_string(),
            revision: post.revision,
            at: post.scheduled_at.map(time).unwrap_or_default(),
            distance: post.scheduled_at.map(|it| distance(it, now)).unwrap_or_default(),
            text: excerpt(post.text.as_str()),
            files: files(&post.media),
            targets: post.targets.iter().map(|it| TargetRow::new(it, accounts.get(&it.connection_id))).collect(),
            status: post.status,
            can_cancel: !is_public_somewhere && (is_failed || post.status == PostStatus::Scheduled),
            can_try_again: is_failed && !must_reconnect,
            must_reconnect: must_reconnect && matches!(post.status, PostStatus::Scheduled | PostStatus::Failed),
        }
    }

    /// Whether calls to platforms may have been made.
    pub(super) fn has_attempts(&self) -> bool {
        self.status != PostStatus::Draft
    }

    pub(super) fn can_schedule(&self) -> bool {
        self.status == PostStatus::Draft && !self.targets.is_empty()
    }
}

impl TargetRow {
    fn new(target: &Target, account: Option<&Connection>) -> Self {
        let is_failed = target.status == TargetStatus::Failed;
        let advice = match account {
            _ if target.status == TargetStatus::Published => None,
            None => Some("This account is no longer connected. Connect it again, or remove it from the post."),
            // Otherwise the message contains it.
            Some(it) if it.needs_reconnection && target.error_message.is_none() => Some("Reconnect this account."),
            Some(_) if is_failed && target.failure == Some(FailureClass::MayBePublic) => Some(
                "The post may be public. Check the account first: if the post is there, trying again would publish it twice.",
            ),
            Some(_) if is_failed && target.is_public() => {
                Some("A new time continues the thread at the first post that is not public.")
            }
            Some(_) => None,
        };
        let handle = account.and_then(|it| it.profile.handle());
        Self {
            platform: account.map_or_else(|| target.provider.clone(), |it| it.rules.title.clone()),
            name: handle.or_else(|| target.username.clone()),
            state: match target.status {
                TargetStatus::Pending if target.error_message.is_some() => "Waiting",
                TargetStatus::Pending => "Pending",
                TargetStatus::Publishing => "Publishing",
                TargetStatus::Published => "Published",
                TargetStatus::Failed => "Failed",
            },
            is_good: target.status == TargetStatus::Published,
            is_bad: is_failed,
            message: target.error_message.clone(),
            advice: advice.map(str::to_owned),
            link: target.published().and_then(|it| it.url.clone()).filter(|it| is_web_address(it)),
        }
    }
}

/// "2 images and 1 video".
fn files(media: &[Attachment]) -> String {
    let count = |kind, one: &str, more: &str| match media.iter().filter(|it| it.mime_type.file_type() == kind).count() {
        0 => None,
        1 => Some(format!("1 {one}")),
        number => Some(format!("{number} {more}")),
    };
    let kinds = [
        count(FileType::Image, "image", "images"),
        count(FileType::Video, "video", "videos"),
        count(FileType::Document, "document", "documents"),
    ];
    kinds.into_iter().flatten().collect::<Vec<_>>().join(" and ")
}

/// The beginning of a text, with an ellipsis if it was cut.
fn excerpt(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
