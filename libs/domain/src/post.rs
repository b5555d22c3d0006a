//! A post and its targets: one entry for each account that it goes to.

mod authority;
mod change;
mod charge;
mod if_match;
mod request;
mod status;
mod target;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::id::{ConnectionId, PostId, TargetId, UserId};
use crate::media::Attachment;
use crate::text::PostText;
use crate::validation_errors::ValidationErrors;
pub use authority::Authority;
pub use charge::changes;
pub use if_match::IfMatch;
pub use request::{Accounts, Changes, NamedMedium, NewPost, NewTarget};
pub use status::{PostStatus, TargetStatus};
pub use target::Target;

/// The most targets of a post.
pub const MAX_TARGETS: usize = 30;

/// The most pictures and videos of a post, and of a target that has its own.
pub const MAX_MEDIA: usize = 30;

/// The most different files that a request names for a post and its targets
/// together: each is looked at before the answer.
pub const MAX_FILES: usize = 60;

/// The most entries of all lists of files together: an item of the store has a limit
/// of its size.
pub const MAX_ENTRIES: usize = 300;

/// The most bytes that a post's texts may have together, with overrides, options
/// and what its files show.
/// An item of the store has a limit of its size, and this leaves enough room
/// for the rest of the post.
pub const MAX_TEXT_BYTES: usize = 300_000;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Post {
    /// The user it belongs to.
    pub user_id: UserId,
    pub post_id: PostId,
    /// Counts the user's changes. Deliveries belong to one revision.
    pub revision: u64,
    /// What the caller who made the last change may write.
    pub written_by: Authority,
    /// Changes with every write. A write is conditional on it, so that of two
    /// concurrent writers one fails.
    pub write_id: u64,
    /// The text of every target that has none of its own.
    pub text: PostText,
    /// How far publishing has got.
    pub status: PostStatus,
    /// When it goes out; `None` exactly for drafts.
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub scheduled_at: Option<DateTime<Utc>>,
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub created_at: DateTime<Utc>,
    /// When the user last changed it, or its status last changed.
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub updated_at: DateTime<Utc>,
    /// The name that its user had when it was created.
    pub creator_name: String,
    /// The accounts that it goes to.
    pub targets: Vec<Target>,
    /// The pictures and videos of every target that has none of its own.
    pub media: Vec<Attachment>,
}

impl Post {
    /// Whether the post can be deleted.
    pub fn check_deletable(&self) -> Result<(), ValidationErrors> {
        self.check_changeable()?;
        if self.targets.iter().any(|it| it.status == TargetStatus::Published) {
            let status = self.status.as_str();
            return Err(ValidationErrors::one(
                "status",
                format!("is {status} and the post is public on an account; delete it on the platform"),
            ));
        }
        Ok(())
    }

    /// Whether the post can be changed.
    pub fn check_changeable(&self) -> Result<(), ValidationErrors> {
        match self.status {
            PostStatus::Draft | PostStatus::Scheduled | PostStatus::Failed => Ok(()),
            PostStatus::Publishing => Err(ValidationErrors::one(
                "status",
                "is publishing; wait until publishing has ended, then look at the post again",
            )),
            PostStatus::Published => Err(ValidationErrors::one(
                "status",
                "is published; the post is public, so change or delete it on the platform",
            )),
        }
    }

    /// The text that a target uses.
    pub fn text_of<'a>(&'a self, target: &'a Target) -> &'a PostText {
        target.text.as_ref().unwrap_or(&self.text)
    }

    /// The files that a target carries.
    pub fn media_of<'a>(&'a self, target: &'a Target) -> &'a [Attachment] {
        target.media.as_ref().unwrap_or(&self.media)
    }

    /// Everything that it and its targets carry, some of it several times.
    pub fn files(&self) -> impl Iterator<Item = &Attachment> {
        self.media.iter().chain(self.targets.iter().filter_map(|it| it.media.as_ref()).flatten())
    }

    pub fn target(&self, id: TargetId) -> Option<&Target> {
        self.targets.iter().find(|it| it.target_id == id)
    }

    /// The targets that a scheduled post still has to reach.
    pub fn to_deliver(&self) -> impl Iterator<Item = &Target> {
        self.targets.iter().filter(|it| self.status.is_pending() && it.status != TargetStatus::Published)
    }

    /// The connections that count this post as pending, each once. A connection
    /// cannot be deleted while it counts a post.
    pub fn marked(&self) -> BTreeSet<ConnectionId> {
        self.targets.iter().filter(|it| it.marked).map(|it| it.connection_id).collect()
    }

    /// Takes the post out of the pending counts of its connections.
    pub(crate) fn unmark(&mut self) {
        for target in &mut self.targets {
            target.marked = false;
        }
    }
}
