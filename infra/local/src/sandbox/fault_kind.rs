//! The kinds of faults: effect and affected calls of each.

use serde::{Deserialize, Serialize};

use super::operation::Operation;

/// A kind of fault; [`FaultKind::name`] is its name in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FaultKind {
    /// 422: the content is invalid.
    Refuse,
    /// 429 without `Retry-After`.
    Busy,
    /// 429 with `Retry-After`.
    BusyUntil,
    /// 429 for too many calls, with `Retry-After`.
    RateLimit,
    /// 500, and the post is not published.
    ErrorBefore,
    /// 500, although the post is published.
    ErrorAfter,
    /// The connection is cut, and the post is not published.
    LoseCall,
    /// The post is published, and the connection is cut before the response.
    LoseAnswer,
    /// The post is published after the delay, even if the client has closed the connection.
    Slow,
    /// The connection is cut at once, and the post is published after the delay.
    Late,
    /// A look-up returns 500.
    LookError,
    /// A comment returns 429, with `Retry-After`.
    CommentBusy,
    /// A comment returns 422.
    CommentRefuse,
    /// The comment is added, and the connection is cut before the response.
    CommentLoseAnswer,
    /// The file is accepted after the delay.
    MediaSlow,
    /// An upload returns 500, and the file is not stored.
    MediaError,
    /// An upload returns 422.
    MediaRefuse,
    /// The file is accepted, but posts cannot use it before the delay is over.
    MediaProcessing,
    /// The grant ends.
    Revoke,
    /// The access token expires; the grant and its refresh token stay valid.
    Expire,
    /// A refresh is denied.
    RefuseRefresh,
    /// A refresh returns 503.
    RefreshUnreachable,
    /// The tokens are refreshed, and the connection is cut before the response.
    LoseRefresh,
}

/// A group of faults on the page.
pub(super) struct Group {
    pub(super) title: &'static str,
    pub(super) kinds: &'static [FaultKind],
}

/// All faults, in the order of the page.
pub(super) const GROUPS: [Group; 4] = [
    Group {
        title: "When a post is published",
        kinds: &[
            FaultKind::Refuse,
            FaultKind::Busy,
            FaultKind::BusyUntil,
            FaultKind::RateLimit,
            FaultKind::ErrorBefore,
            FaultKind::ErrorAfter,
            FaultKind::LoseCall,
            FaultKind::LoseAnswer,
            FaultKind::Slow,
            FaultKind::Late,
            FaultKind::LookError,
        ],
    },
    Group {
        title: "When a comment is added",
        kinds: &[FaultKind::CommentBusy, FaultKind::CommentRefuse, FaultKind::CommentLoseAnswer],
    },
    Group {
        title: "When a file is uploaded",
        kinds: &[FaultKind::MediaSlow, FaultKind::MediaError, FaultKind::MediaRefuse, FaultKind::MediaProcessing],
    },
    Group {
        title: "Access to the account",
        kinds: &[
            FaultKind::Revoke,
            FaultKind::Expire,
            FaultKind::RefuseRefresh,
            FaultKind::RefreshUnreachable,
            FaultKind::LoseRefresh,
        ],
    },
];

impl FaultKind {
    /// The name in JSON and in the form.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Busy => "busy",
            Self::BusyUntil => "busy_until",
            Self::RateLimit => "rate_limit",
            Self::ErrorBefore => "error_before",
            Self::ErrorAfter => "error_after",
            Self::LoseCall => "lose_call",
            Self::LoseAnswer => "lose_answer",
            Self::Slow => "slow",
            Self::Late => "late",
            Self::LookError => "look_error",
            Self::CommentBusy => "comment_busy",
            Self::CommentRefuse => "comment_refuse",
            Self::CommentLoseAnswer => "comment_lose_answer",
            Self::MediaSlow => "media_slow",
            Self::MediaError => "media_error",
            Self::MediaRefuse => "media_refuse",
            Self::MediaProcessing => "media_processing",
            Self::Revoke => "revoke",
            Self::Expire => "expire",
            Self::RefuseRefresh => "refuse_refresh",
            Self::RefreshUnreachable => "refresh_unreachable",
            Self::LoseRefresh => "lose_refresh",
        }
    }

    /// The heading on the page.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Refuse => "Refuse permanently",
            Self::Busy => "Refuse temporarily",
            Self::BusyUntil => "Refuse temporarily, with a time",
            Self::RateLimit => "Rate limit",
            Self::ErrorBefore => "Error, not published",
            Self::ErrorAfter => "Error, but published",
            Self::LoseCall => "Connection cut, not published",
            Self::LoseAnswer => "Connection cut, but published",
            Self::Slow => "Slow",
            Self::Late => "Connection cut, published later",
            Self::LookError => "Look-up fails",
            Self::CommentBusy => "Refuse a comment temporarily",
            Self::CommentRefuse => "Refuse a comment",
            Self::CommentLoseAnswer => "Connection cut, but added",
            Self::MediaSlow => "Slow upload",
            Self::MediaError => "Error during the upload",
            Self::MediaRefuse => "Refuse a file",
            Self::MediaProcessing => "Slow processing",
            Self::Revoke => "Revoke the grant",
            Self::Expire => "Expire the access token",
            Self::RefuseRefresh => "Refuse the refresh",
            Self::RefreshUnreachable => "Refresh unavailable",
            Self::LoseRefresh => "Connection cut, but refreshed",
        }
    }

    /// The effect, as a sentence for the page.
    pub(super) fn effect(self) -> &'static str {
        match self {
            Self::Refuse => "The content is refused: 422.",
            Self::Busy => "Nothing is published: 429 without Retry-After.",
            Self::BusyUntil => "Nothing is published: 429, with the delay in Retry-After.",
            Self::RateLimit => "Too many posts: 429, with the delay, or 2 seconds, in Retry-After.",
            Self::ErrorBefore => "Nothing is published, and the response is 500.",
            Self::ErrorAfter => "The post is published, but the response is 500.",
            Self::LoseCall => "Nothing is published, and the connection is cut.",
            Self::LoseAnswer => "The post is published, but the connection is cut before the response.",
            Self::Slow => "The post is published after the delay, even if the client stops waiting.",
            Self::Late => "The connection is cut at once; the post is published after the delay.",
            Self::LookError => "A look-up of published posts gets 500. Combine it with another fault.",
            Self::CommentBusy => "The comment is not added: 429, with the delay in Retry-After.",
            Self::CommentRefuse => "The comment is refused: 422.",
            Self::CommentLoseAnswer => "The comment is added, but the connection is cut before the response.",
            Self::MediaSlow => "The file is accepted after the delay.",
            Self::MediaError => "The file is not stored, and the response is 500.",
            Self::MediaRefuse => "The file is refused: 422.",
            Self::MediaProcessing => "The file is accepted, but posts cannot use it until the delay is over.",
            Self::Revoke => "The next call gets 401. The account must be reconnected.",
            Self::Expire => "The next call gets 401. The token can be refreshed.",
            Self::RefuseRefresh => {
                "The access token expires now, and its refresh is refused. The account must be reconnected."
            }
            Self::RefreshUnreachable => "The access token expires now, and its refresh gets 503.",
            Self::LoseRefresh => {
                "The access token expires now. Its refresh uses up the old refresh token, but the connection is cut before the response."
            }
        }
    }

    /// Whether this fault affects calls of `operation`.
    pub(super) fn strikes(self, operation: Operation) -> bool {
        match self {
            Self::Refuse
            | Self::Busy
            | Self::BusyUntil
            | Self::RateLimit
            | Self::ErrorBefore
            | Self::ErrorAfter
            | Self::LoseCall
            | Self::LoseAnswer
            | Self::Slow
            | Self::Late => operation == Operation::Publish,
            Self::LookError => operation == Operation::LookUp,
            Self::CommentBusy | Self::CommentRefuse | Self::CommentLoseAnswer => operation == Operation::Comment,
            Self::MediaSlow | Self::MediaError | Self::MediaRefuse | Self::MediaProcessing => {
                operation == Operation::Upload
            }
            Self::Revoke | Self::Expire => matches!(operation, Operation::Publish | Operation::Upload),
            Self::RefuseRefresh | Self::RefreshUnreachable | Self::LoseRefresh => operation == Operation::Refresh,
        }
    }

    /// Whether this fault affects uploads but not posts, so that an order may select the file.
    pub(super) fn is_for_files(self) -> bool {
        self.strikes(Operation::Upload) && !self.strikes(Operation::Publish)
    }

    /// Whether this fault uses the order's delay.
    pub(super) fn has_delay(self) -> bool {
        matches!(
            self,
            Self::BusyUntil
                | Self::RateLimit
                | Self::Slow
                | Self::Late
                | Self::CommentBusy
                | Self::MediaSlow
                | Self::MediaProcessing
        )
    }

    /// Whether access tokens expire when the fault is armed. The fault affects refreshes, and
    /// without the expiry no token would be refreshed for most of an hour.
    pub(super) fn is_for_refresh(self) -> bool {
        self.strikes(Operation::Refresh)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<FaultKind> {
        GROUPS.iter().flat_map(|it| it.kinds).copied().collect()
    }

    #[test]
    fn a_kind_is_named_as_in_json() {
        for kind in all() {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
    }

    #[test]
    fn every_kind_is_listed_once_and_applies_to_a_call() {
        let names: std::collections::BTreeSet<_> = all().into_iter().map(FaultKind::name).collect();
        assert_eq!((all().len(), names.len()), (23, 23));
        let calls = [Operation::Publish, Operation::LookUp, Operation::Comment, Operation::Upload, Operation::Refresh];
        for kind in all() {
            assert!(calls.iter().any(|it| kind.strikes(*it)), "{}", kind.name());
        }
    }
}
