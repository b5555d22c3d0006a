//! Which posts a caller may write.

use serde::{Deserialize, Serialize};

use super::{Post, PostStatus};
use crate::scope::{Scope, Scopes};

/// Which posts a caller may write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Authority {
    /// All of the user's.
    #[default]
    Posts,
    /// Drafts, which stay drafts.
    Drafts,
}

impl Authority {
    /// What these scopes give, of a caller who has one of the two.
    pub fn of(scopes: &Scopes) -> Self {
        if scopes.has(Scope::PostsWrite) { Self::Posts } else { Self::Drafts }
    }

    /// Whether it is enough for a post that is scheduled, or that a user wants to
    /// schedule.
    pub const fn schedules(self) -> bool {
        matches!(self, Self::Posts)
    }

    /// Whether it is enough to change or delete this post.
    pub fn covers(self, post: &Post) -> bool {
        self.schedules() || post.status == PostStatus::Draft
    }
}

impl Post {
    /// Whether it is scheduled only with an [`IfMatch`](super::IfMatch) that names its revision. A
    /// caller who may not schedule wrote it, and could replace it between the moment at which its
    /// user reads it and the moment at which it is scheduled.
    pub fn is_scheduled_by_revision(&self) -> bool {
        self.status == PostStatus::Draft && self.written_by == Authority::Drafts
    }
}
