//! How calls to a platform end.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::web_address::is_web_address;

/// What the platform says of a public post.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Published {
    /// The platform's id of it.
    pub platform_post_id: String,
    /// When it became public.
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub at: DateTime<Utc>,
    /// Where people see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

impl Published {
    /// A public post whose link is not known.
    pub fn new(platform_post_id: impl Into<String>, at: DateTime<Utc>) -> Self {
        Self { platform_post_id: platform_post_id.into(), at, url: None }
    }

    /// The same with where people see it, as the platform says. What is no link,
    /// or an endless one, is left out.
    #[must_use]
    pub fn with_url(self, url: Option<String>) -> Self {
        Self { url: url.filter(|it| is_web_address(it)), ..self }
    }
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
pub enum AttemptError {
    /// It does not want this post, and never will.
    Refused {
        /// The platform's words, for the user.
        reason: String,
    },
    /// It did nothing, and may later.
    RetryLater {
        /// Not before this, when it says so.
        retry_at: Option<DateTime<Utc>>,
        /// For the user.
        reason: String,
    },
    /// It did nothing: the grant is gone.
    Unauthorized {
        /// For the user.
        reason: String,
    },
    /// It did nothing, because it no longer knows what was prepared: that is
    /// to be prepared anew.
    PreparationExpired {
        /// For the user.
        reason: String,
    },
    /// It did nothing, because it has this post already. An earlier call published the post, so the post is looked up,
    /// and no other call is made.
    Duplicate {
        /// For the user.
        reason: String,
    },
    /// Nobody knows whether it did something.
    Unknown {
        /// Whether the platform may still be working on the call.
        may_still_run: bool,
        /// The time that the platform named: if the call had no effect, no other call is made before it.
        retry_at: Option<DateTime<Utc>>,
        /// For the user.
        reason: String,
    },
}

impl AttemptError {
    /// Why, for the user.
    pub fn into_reason(self) -> String {
        match self {
            Self::Refused { reason }
            | Self::RetryLater { reason, .. }
            | Self::Unauthorized { reason }
            | Self::PreparationExpired { reason }
            | Self::Duplicate { reason }
            | Self::Unknown { reason, .. } => reason,
        }
    }

    /// The same with its reason in other words.
    #[must_use]
    pub fn map_reason(mut self, other: impl FnOnce(String) -> String) -> Self {
        match &mut self {
            Self::Refused { reason }
            | Self::RetryLater { reason, .. }
            | Self::Unauthorized { reason }
            | Self::PreparationExpired { reason }
            | Self::Duplicate { reason }
            | Self::Unknown { reason, .. } => *reason = other(std::mem::take(reason)),
        }
        self
    }
}

/// What the platform answers when it is asked about an open intent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// It is public.
    Found(Published),
    /// A post that looks like it is public, and no delivery has claimed it. It
    /// may still be another's, whose worker is about to claim it.
    Candidate(Published),
    /// The platform does not list it. Once the call can no longer take effect, this permits another call. A list may
    /// lag, so the outcome of the call stays unknown.
    NotFound,
    /// It is certainly not public: the call was never made, or the platform's own record of what the call was to publish
    /// shows that it did not. Once the call can no longer take effect, this permits another call and settles the outcome.
    NotPublished,
    /// The platform took the call, and then did not want the post: processing it
    /// failed, or somebody looked at it. It is not public and will not become so,
    /// and sending it again would end the same way.
    Refused {
        /// The platform's words, for the user.
        reason: String,
    },
    /// It cannot be said now; ask again.
    Pending {
        /// For the user.
        reason: String,
    },
    /// It cannot be said now: the grant is gone.
    Unauthorized {
        /// For the user.
        reason: String,
    },
    /// It can never be said.
    Undeterminable {
        /// Where the user can look.
        advice: String,
    },
}

impl Resolution {
    /// The same with what it tells the user in other words.
    #[must_use]
    pub fn map_reason(mut self, other: impl FnOnce(String) -> String) -> Self {
        match &mut self {
            Self::Refused { reason: words }
            | Self::Pending { reason: words }
            | Self::Unauthorized { reason: words }
            | Self::Undeterminable { advice: words } => {
                *words = other(std::mem::take(words));
            }
            Self::Found(_) | Self::Candidate(_) | Self::NotFound | Self::NotPublished => {}
        }
        self
    }
}

/// What has to be known of a platform before it is asked what became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LookUpPolicy {
    /// How long a call that was cut off may still take effect over there; before that,
    /// "not there" is not believed.
    pub settle_time: TimeDelta,
    /// Whether each look costs money. Then there are two for a call at most that find
    /// nothing: one soon, and one when it can no longer take effect. After a
    /// [`AttemptError::Duplicate`] the pause between two looks doubles each time.
    pub is_billed: bool,
}

/// Looks that cost nothing.
impl From<TimeDelta> for LookUpPolicy {
    fn from(settles: TimeDelta) -> Self {
        Self { settle_time: settles, is_billed: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::noon;

    #[test]
    fn what_is_no_link_is_left_out() {
        let seen = |url: &str| Published::new("1", noon()).with_url(Some(url.to_owned())).url;

        assert_eq!(seen("https://harbour.example/@boat/1").as_deref(), Some("https://harbour.example/@boat/1"));
        assert_eq!(seen("javascript:alert(1)"), None);
    }
}
