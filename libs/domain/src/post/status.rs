//! The status of a post, and the status of each of its targets.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PostStatus {
    /// Stored, and not to be published.
    Draft,
    /// To be published at its time, or past it once what stands in its way is
    /// gone. Nothing of it is in doubt.
    Scheduled,
    /// Being published, or it is not known whether a call took effect.
    Publishing,
    /// Public on every target.
    Published,
    /// Ended, without being known to be public on every target.
    Failed,
}

impl PostStatus {
    pub const ALL: [Self; 5] = [Self::Draft, Self::Scheduled, Self::Publishing, Self::Published, Self::Failed];

    /// The name of the status, as clients write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Scheduled => "scheduled",
            Self::Publishing => "publishing",
            Self::Published => "published",
            Self::Failed => "failed",
        }
    }

    /// Reads a status as clients write it.
    pub fn parse(raw: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == raw)
    }

    /// Whether an account cannot be disconnected while a post with this status
    /// goes to it.
    pub const fn is_pending(self) -> bool {
        matches!(self, Self::Scheduled | Self::Publishing)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetStatus {
    /// Certainly not public.
    Pending,
    /// A public call was begun, and how it ended is not known.
    Publishing,
    /// Public.
    Published,
    /// Ended without being known to be public.
    Failed,
}

impl TargetStatus {
    /// The name of the status, as clients read it.
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
