//! How calls to a platform end.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// What the platform says of a public post.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Published {
    /// The platform's id of it.
    pub platform_post_id: String,
    /// When it became public.
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub at: DateTime<Utc>,
}

/// Which delivery made a public post, as far as another one has to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The delivery that asks made it.
    Ours,
    /// Another delivery made it.
    Others,
}

/// Why a call to a platform did not bring a public post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setback {
    /// It does not want this post, and never will.
    Refused {
        /// The platform's words, for the user.
        reason: String,
    },
    /// It did nothing, and may later.
    Busy {
        /// Not before this, when it says so.
        retry_at: Option<DateTime<Utc>>,
        /// For the user.
        reason: String,
    },
    /// It did nothing: the grant is gone.
    Disconnected {
        /// For the user.
        reason: String,
    },
    /// It did nothing, because it no longer knows what was prepared: that is
    /// to be prepared anew.
    Stale {
        /// For the user.
        reason: String,
    },
    /// Nobody knows whether it did something.
    Unknown {
        /// Whether the platform may still be working on the call.
        may_still_run: bool,
        /// For the user.
        reason: String,
    },
}

impl Setback {
    /// Why, for the user.
    pub fn into_reason(self) -> String {
        match self {
            Self::Refused { reason }
            | Self::Busy { reason, .. }
            | Self::Disconnected { reason }
            | Self::Stale { reason }
            | Self::Unknown { reason, .. } => reason,
        }
    }

    /// The same with its reason in other words.
    #[must_use]
    pub fn in_words(mut self, other: impl FnOnce(String) -> String) -> Self {
        match &mut self {
            Self::Refused { reason }
            | Self::Busy { reason, .. }
            | Self::Disconnected { reason }
            | Self::Stale { reason }
            | Self::Unknown { reason, .. } => *reason = other(std::mem::take(reason)),
        }
        self
    }
}

/// What the platform answers when it is asked about an open intent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// It is public.
    Public(Published),
    /// A post that looks like it is public, and no delivery has claimed it. It
    /// may still be another's, whose worker is about to claim it.
    Recognised(Published),
    /// It certainly is not, and will not become so by itself.
    NotThere,
    /// It cannot be said now; ask again.
    Unclear {
        /// For the user.
        reason: String,
    },
    /// It cannot be said now: the grant is gone.
    Disconnected {
        /// For the user.
        reason: String,
    },
    /// It can never be said.
    Unknowable {
        /// Where the user can look.
        advice: String,
    },
}

impl Resolution {
    /// The same with what it tells the user in other words.
    #[must_use]
    pub fn in_words(mut self, other: impl FnOnce(String) -> String) -> Self {
        match &mut self {
            Self::Unclear { reason: words }
            | Self::Disconnected { reason: words }
            | Self::Unknowable { advice: words } => {
                *words = other(std::mem::take(words));
            }
            Self::Public(_) | Self::Recognised(_) | Self::NotThere => {}
        }
        self
    }
}
