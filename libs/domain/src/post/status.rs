use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PostStatus {
    Draft,
    /// Will be published at its time, or later once the current error is resolved. No outcome is
    /// unknown.
    Scheduled,
    /// Being published, or the outcome of a publish call is unknown.
    Publishing,
    /// Public on every target.
    Published,
    /// Ended, and not known to be public on every target.
    Failed,
}

impl PostStatus {
    pub const ALL: [Self; 5] = [Self::Draft, Self::Scheduled, Self::Publishing, Self::Published, Self::Failed];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Scheduled => "scheduled",
            Self::Publishing => "publishing",
            Self::Published => "published",
            Self::Failed => "failed",
        }
    }

    pub fn parse(raw: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == raw)
    }

    /// Whether accounts of a post with this status cannot be disconnected.
    pub const fn is_pending(self) -> bool {
        matches!(self, Self::Scheduled | Self::Publishing)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetStatus {
    /// Certainly not public.
    Pending,
    /// A publish call was started, and its outcome is unknown.
    Publishing,
    Published,
    /// Ended, and not known to be public.
    Failed,
}

impl TargetStatus {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Publishing => "publishing",
            Self::Published => "published",
            Self::Failed => "failed",
        }
    }

    /// Whether the target stays as it is unless its user changes the post.
    pub const fn has_ended(self) -> bool {
        matches!(self, Self::Published | Self::Failed)
    }
}
