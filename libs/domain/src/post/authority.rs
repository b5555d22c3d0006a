use serde::{Deserialize, Serialize};

use super::{Post, PostStatus};
use crate::scope::{Scope, Scopes};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Authority {
    #[default]
    Posts,
    /// Drafts only, without scheduling them.
    Drafts,
}

impl Authority {
    /// From the scopes of a caller who has `posts:write` or `posts:draft`.
    pub fn from_scopes(scopes: &Scopes) -> Self {
        if scopes.has(Scope::PostsWrite) { Self::Posts } else { Self::Drafts }
    }

    /// Whether it permits writing a scheduled post, and scheduling a post.
    pub const fn schedules(self) -> bool {
        matches!(self, Self::Posts)
    }

    pub fn covers(self, post: &Post) -> bool {
        self.schedules() || post.status == PostStatus::Draft
    }
}

impl Post {
    /// Whether the post can be scheduled only with an [`IfMatch`](super::IfMatch) that names its
    /// revision. A caller who may not schedule wrote it, and could replace it between the moment at
    /// which its user reads it and the moment at which it is scheduled.
    pub fn is_scheduled_by_revision(&self) -> bool {
        self.status == PostStatus::Draft && self.written_by == Authority::Drafts
    }
}
