use chrono::{DateTime, TimeDelta, Utc};

use crate::published::Published;

/// Which delivery made a public post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    Ours,
    Others,
}

/// Each `reason` is for the user; that of a refusal is the platform's message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttemptError {
    /// The platform will never accept this post.
    Refused { reason: String },
    /// The platform did nothing, and may accept a later call.
    RetryLater {
        /// The earliest time of the next call, if the platform named one.
        retry_at: Option<DateTime<Utc>>,
        reason: String,
    },
    /// The platform did nothing: the grant is invalid.
    Unauthorized { reason: String },
    /// The platform did nothing, because the preparation has expired and has to be repeated.
    PreparationExpired { reason: String },
    /// The platform did nothing, because it has this post already. An earlier call published the
    /// post, so the post is looked up, and no other call is made.
    Duplicate { reason: String },
    Unknown {
        /// Whether the platform may still be processing the call.
        may_still_run: bool,
        /// The platform's own time: if the call had no effect, no other call is made before it.
        retry_at: Option<DateTime<Utc>>,
        reason: String,
    },
    /// The platform accepted the call, and decides later whether the post becomes public: it processes or reviews
    /// the post. Looked up like an unknown outcome, but no sign of an outage.
    Accepted {
        /// The data for a look-up, in the form of the stored progress, which it replaces.
        progress: Option<String>,
        reason: String,
    },
}

impl AttemptError {
    pub fn reason(&self) -> &str {
        match self {
            Self::Refused { reason }
            | Self::RetryLater { reason, .. }
            | Self::Unauthorized { reason }
            | Self::PreparationExpired { reason }
            | Self::Duplicate { reason }
            | Self::Unknown { reason, .. }
            | Self::Accepted { reason, .. } => reason,
        }
    }

    pub fn into_reason(self) -> String {
        self.reason().to_owned()
    }

    #[must_use]
    pub fn map_reason(mut self, other: impl FnOnce(String) -> String) -> Self {
        match &mut self {
            Self::Refused { reason }
            | Self::RetryLater { reason, .. }
            | Self::Unauthorized { reason }
            | Self::PreparationExpired { reason }
            | Self::Duplicate { reason }
            | Self::Unknown { reason, .. }
            | Self::Accepted { reason, .. } => *reason = other(std::mem::take(reason)),
        }
        self
    }
}

/// Each `reason` is for the user; that of a refusal is the platform's message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    Found(Published),
    /// A public post matches, and no delivery has claimed it. It may belong to another delivery,
    /// whose worker is about to claim it.
    Candidate(Published),
    /// The platform does not list the post. Once the call can no longer take effect, this permits
    /// another call. A list may lag, so the outcome of the call stays unknown.
    NotFound,
    /// The post is certainly not public: the call was never made, or the platform's own record of
    /// what the call was to publish shows that it did not. Once the call can no longer take effect,
    /// this permits another call and settles the outcome.
    NotPublished,
    /// The platform accepted the call and refused the post later: processing failed, or a moderator
    /// refused it. The post is not public and will not be, and another call would end in the same
    /// way.
    Refused {
        reason: String,
    },
    Pending {
        reason: String,
    },
    /// Not known yet: the grant is invalid.
    Unauthorized {
        reason: String,
    },
    Undeterminable {
        /// Where the user can check.
        advice: String,
    },
}

impl Resolution {
    /// The reason, for the user; `None` where the outcome is known and not refused, or a candidate.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Refused { reason }
            | Self::Pending { reason }
            | Self::Unauthorized { reason }
            | Self::Undeterminable { advice: reason } => Some(reason),
            Self::Found(_) | Self::Candidate(_) | Self::NotFound | Self::NotPublished => None,
        }
    }

    #[must_use]
    pub fn map_reason(mut self, other: impl FnOnce(String) -> String) -> Self {
        match &mut self {
            Self::Refused { reason: text }
            | Self::Pending { reason: text }
            | Self::Unauthorized { reason: text }
            | Self::Undeterminable { advice: text } => {
                *text = other(std::mem::take(text));
            }
            Self::Found(_) | Self::Candidate(_) | Self::NotFound | Self::NotPublished => {}
        }
        self
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LookUpPolicy {
    /// How long a cut-off call may still take effect. Before that, [`Resolution::NotFound`] is not
    /// conclusive.
    pub settle_time: TimeDelta,
    /// Whether each look-up costs money. Then at most two look-ups of a call find nothing: one
    /// soon, and one when the call can no longer take effect. After [`AttemptError::Duplicate`],
    /// the wait between two look-ups doubles each time.
    pub is_billed: bool,
}

/// Look-ups that cost nothing.
impl From<TimeDelta> for LookUpPolicy {
    fn from(settle_time: TimeDelta) -> Self {
        Self { settle_time, is_billed: false }
    }
}
