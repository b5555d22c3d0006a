use api::page::{PlatformMark, distance, time};
use chrono::{DateTime, Utc};
use domain::delivery::Published;
use domain::failure::FailureClass;
use domain::media::{Attachment, FileType, MediaPath};
use domain::post::{Accounts, Post, PostStatus, SegmentContent, SegmentView, Target, TargetStatus};
use domain::time_zone::TimeZone;
use domain::web_address::is_web_address;

use super::segment_name;
use crate::response::Links;

/// In characters: enough to recognize the post.
const SHOWN_CHARS: usize = 280;

const THUMBNAILS: usize = 4;

/// In characters.
const SEGMENT_CHARS: usize = 80;

#[expect(clippy::struct_excessive_bools, reason = "each is a condition of the template")]
pub(super) struct Row {
    pub(super) id: String,
    pub(super) revision: u64,
    /// Like `distance`, empty for drafts.
    pub(super) at: String,
    pub(super) distance: String,
    pub(super) text: String,
    /// "2 images and 1 video"; empty without files.
    pub(super) files: String,
    pub(super) thumbnails: Vec<String>,
    /// The replies of the thread, for every account without replies of its own.
    pub(super) replies: Vec<ReplyRow>,
    pub(super) targets: Vec<TargetRow>,
    pub(super) status: PostStatus,
    /// An app for drafts wrote the draft last.
    pub(super) is_from_drafts_app: bool,
    pub(super) can_cancel: bool,
    pub(super) can_try_again: bool,
    pub(super) must_reconnect: bool,
}

pub(super) struct ReplyRow {
    /// Empty for a reply with files alone.
    pub(super) text: String,
    /// Like [`Row::files`].
    pub(super) files: String,
}

pub(crate) struct TargetRow {
    pub(crate) mark: PlatformMark,
    pub(crate) platform: String,
    pub(crate) name: Option<String>,
    pub(crate) state: &'static str,
    pub(crate) is_good: bool,
    pub(crate) is_bad: bool,
    pub(super) message: Option<String>,
    pub(super) advice: Option<String>,
    pub(crate) link: Option<String>,
    /// The post, its replies and its first comment; empty if there is only the post.
    pub(super) segments: Vec<SegmentRow>,
}

pub(super) struct SegmentRow {
    pub(super) name: String,
    pub(super) state: &'static str,
    pub(super) is_good: bool,
    pub(super) is_bad: bool,
    /// The start of its text, or the number of its files if it has no text.
    pub(super) text: String,
    /// `None` if the account shows the same reason.
    pub(super) message: Option<String>,
    pub(super) link: Option<String>,
}

impl Row {
    pub(super) fn new(post: &Post, accounts: &Accounts, links: &Links, zone: &TimeZone, now: DateTime<Utc>) -> Self {
        let unpublished = || post.targets.iter().filter(|it| it.status != TargetStatus::Published);
        let is_public_somewhere = post.targets.iter().any(|it| it.status == TargetStatus::Published || it.is_public());
        let is_failed = post.status == PostStatus::Failed;
        let must_reconnect =
            unpublished().any(|it| accounts.get(&it.connection_id).is_none_or(|it| it.needs_reconnection));
        Self {
            id: post.post_id.to_string(),
            revision: post.revision,
            at: post.scheduled_at.map(|it| time(it, zone)).unwrap_or_default(),
            distance: post.scheduled_at.map(|it| distance(it, now)).unwrap_or_default(),
            text: excerpt(post.text.as_str(), SHOWN_CHARS),
            files: files(&post.media),
            thumbnails: thumbnails(post)
                .filter_map(|it| links.get(&it.media()).cloned())
                // The link could not be signed.
                .filter(|it| !it.is_empty())
                .collect(),
            replies: post.thread.iter().map(ReplyRow::new).collect(),
            targets: post.targets.iter().map(|it| TargetRow::new(post, it, accounts)).collect(),
            status: post.status,
            is_from_drafts_app: post.is_scheduled_by_revision(),
            can_cancel: !is_public_somewhere && (is_failed || post.status == PostStatus::Scheduled),
            can_try_again: is_failed && !must_reconnect,
            must_reconnect: must_reconnect && matches!(post.status, PostStatus::Scheduled | PostStatus::Failed),
        }
    }

    /// Calls to platforms may have been made.
    pub(super) fn has_attempts(&self) -> bool {
        self.status != PostStatus::Draft
    }
}

impl ReplyRow {
    fn new(reply: &SegmentContent) -> Self {
        Self { text: excerpt(reply.text.as_str(), SHOWN_CHARS), files: files(&reply.media) }
    }
}

impl TargetRow {
    pub(crate) fn new(post: &Post, target: &Target, accounts: &Accounts) -> Self {
        let account = accounts.get(&target.connection_id);
        let is_failed = target.status == TargetStatus::Failed;
        let is_handed_over = target.published().is_some_and(|it| it.handed_over);
        let advice = match account {
            _ if is_handed_over => {
                Some("The post is not public yet. Open the app of this platform, and finish it there.")
            }
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
            mark: PlatformMark::new(&target.provider),
            platform: account.map_or_else(|| target.provider.clone(), |it| it.rules.title.clone()),
            name: handle.or_else(|| target.username.clone()).or_else(|| account?.profile.display_name.clone()),
            state: if is_handed_over {
                "Handed over"
            } else {
                state(target.status, target.error_message.as_deref(), post.status)
            },
            is_good: target.status == TargetStatus::Published,
            is_bad: is_failed,
            message: target.error_message.clone(),
            advice: advice.map(str::to_owned),
            link: public_link(target.published()),
            segments: SegmentRow::all(post, target),
        }
    }

    pub(super) fn public_segments(&self) -> usize {
        self.segments.iter().filter(|it| it.is_good).count()
    }

    pub(super) fn has_failed_segment(&self) -> bool {
        self.segments.iter().any(|it| it.is_bad)
    }
}

impl SegmentRow {
    fn all(post: &Post, target: &Target) -> Vec<Self> {
        let views = post.segment_views(target);
        if views.len() == 1 {
            return Vec::new();
        }
        views.iter().enumerate().map(|(index, view)| Self::new(index, view, post, target)).collect()
    }

    fn new(index: usize, view: &SegmentView<'_>, post: &Post, target: &Target) -> Self {
        let text = view.segment.text;
        let message = view.error_message.filter(|it| Some(*it) != target.error_message.as_deref());
        Self {
            name: segment_name(index, view.segment.kind),
            state: segment_state(view, post.status, target.status),
            is_good: view.status == TargetStatus::Published,
            is_bad: view.status == TargetStatus::Failed,
            text: if text.is_empty() { files(view.segment.media) } else { excerpt(text, SEGMENT_CHARS) },
            message: message.map(str::to_owned),
            link: public_link(view.published),
        }
    }
}

/// Segments go out one after the other, so none follows one that failed. The first comment follows
/// after its target is published.
fn segment_state(view: &SegmentView<'_>, post: PostStatus, target: TargetStatus) -> &'static str {
    match (view.status, target) {
        (TargetStatus::Pending, TargetStatus::Failed) => "Not published",
        (TargetStatus::Pending, TargetStatus::Published) => "Waiting",
        _ => state(view.status, view.error_message, post),
    }
}

fn state(status: TargetStatus, error_message: Option<&str>, post: PostStatus) -> &'static str {
    match status {
        TargetStatus::Pending if error_message.is_some() => "Waiting",
        TargetStatus::Pending => match post {
            PostStatus::Draft => "Draft",
            PostStatus::Scheduled | PostStatus::Publishing => "Scheduled",
            PostStatus::Published | PostStatus::Failed => "Not published",
        },
        TargetStatus::Publishing => "Publishing",
        TargetStatus::Published => "Published",
        TargetStatus::Failed => "Failed",
    }
}

/// Platforms choose the URL, so others than web addresses are left out.
pub(crate) fn public_link(published: Option<&Published>) -> Option<String> {
    published.and_then(|it| it.url.clone()).filter(|it| is_web_address(it))
}

pub(super) fn thumbnails(post: &Post) -> impl Iterator<Item = MediaPath> {
    let images = post.media.iter().filter(|it| it.mime_type.file_type() == FileType::Image);
    images.take(THUMBNAILS).map(|it| MediaPath::new(post.user_id, it.media_id, it.mime_type))
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

/// With an ellipsis if the text was cut.
pub(crate) fn excerpt(text: &str, shown_chars: usize) -> String {
    let text = text.trim();
    match text.char_indices().nth(shown_chars) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
