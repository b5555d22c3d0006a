//! Where a post stands, and where each of its targets does.

use serde::{Deserialize, Serialize};

/// Where a post stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PostStatus {
    /// Kept, not going out.
    Draft,
    /// Goes out at its time.
    Scheduled,
    /// Going out.
    Publishing,
    /// Public on every target.
    Published,
    /// Ended, and not public on at least one target.
    Failed,
}

impl PostStatus {
    /// Every status.
    pub const ALL: [Self; 5] = [Self::Draft, Self::Scheduled, Self::Publishing, Self::Published, Self::Failed];

    /// As clients write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Scheduled => "scheduled",
            Self::Publishing => "publishing",
            Self::Published => "published",
            Self::Failed => "failed",
        }
    }

    /// Reads one.
    pub fn parse(raw: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == raw)
    }

    /// Whether targets of such a post keep their accounts from being disconnected.
    pub const fn is_pending(self) -> bool {
        matches!(self, Self::Scheduled | Self::Publishing)
    }
}

/// Where a target stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetStatus {
    /// Not begun.
    Pending,
    /// Begun.
    Publishing,
    /// Public.
    Published,
    /// Ended without being known to be public.
    Failed,
}

impl TargetStatus {
    /// As clients read it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Publishing => "publishing",
            Self::Published => "published",
            Self::Failed => "failed",
        }
    }

    /// Whether nothing more happens to the target unless its user asks for it.
    pub const fn has_ended(self) -> bool {
        matches!(self, Self::Published | Self::Failed)
    }
}
