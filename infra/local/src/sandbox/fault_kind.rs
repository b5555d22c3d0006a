//! The faults there are: what each does, to which call.

use serde::{Deserialize, Serialize};

use super::operation::Operation;

/// A fault. JSON names it as [`FaultKind::name`] does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FaultKind {
    /// The content is refused for good.
    Refuse,
    /// Refused for now; no time is given.
    Busy,
    /// Refused for now, with a `Retry-After`.
    BusyUntil,
    /// Too many calls, with a `Retry-After`.
    RateLimit,
    /// An error of the server, and nothing was done.
    ErrorBefore,
    /// Done, and an error of the server all the same.
    ErrorAfter,
    /// The connection is cut, and nothing was done.
    LoseCall,
    /// Done, and the connection is cut without an answer.
    LoseAnswer,
    /// Done, but only after the delay, even when the client has gone by then.
    Slow,
    /// The connection is cut at once, and it is done after the delay.
    Late,
    /// Asked what was published, it answers with an error of the server.
    LookError,
    /// A comment is refused for now, with a `Retry-After`.
    CommentBusy,
    /// A comment is refused for good.
    CommentRefuse,
    /// A comment is added, and the connection is cut without an answer.
    CommentLoseAnswer,
    /// A file is taken only after the delay.
    MediaSlow,
    /// A file meets an error of the server and is not kept.
    MediaError,
    /// A file is refused for good.
    MediaRefuse,
    /// A file is taken, but no post can show it before the delay is over.
    MediaProcessing,
    /// The grant ends.
    Revoke,
    /// The access token ends; the grant and its refresh token do not.
    Expire,
    /// Renewing the access token is refused for good.
    RefuseRefresh,
    /// Renewing the access token is not possible for now.
    RefreshUnreachable,
    /// The tokens are renewed, and the connection is cut without an answer.
    LoseRefresh,
}

/// Faults that belong together on the page.
pub(super) struct Group {
    pub(super) title: &'static str,
    pub(super) kinds: &'static [FaultKind],
}

/// All faults, as the page shows them.
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

    /// What it is, in a few words for the page.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Refuse => "Refuse for good",
            Self::Busy => "Refuse for now",
            Self::BusyUntil => "Refuse for now, with a time",
            Self::RateLimit => "Rate limit",
            Self::ErrorBefore => "Error, not published",
            Self::ErrorAfter => "Error, but published",
            Self::LoseCall => "Cut off, not published",
            Self::LoseAnswer => "Cut off, but published",
            Self::Slow => "Slow",
            Self::Late => "Cut off, published later",
            Self::LookError => "Cannot be asked",
            Self::CommentBusy => "Refuse a comment for now",
            Self::CommentRefuse => "Refuse a comment",
            Self::CommentLoseAnswer => "Cut off, but added",
            Self::MediaSlow => "Slow file",
            Self::MediaError => "Error at a file",
            Self::MediaRefuse => "Refuse a file",
            Self::MediaProcessing => "Processing",
            Self::Revoke => "Revoke the grant",
            Self::Expire => "End the access token",
            Self::RefuseRefresh => "Refuse to renew",
            Self::RefreshUnreachable => "Cannot renew now",
            Self::LoseRefresh => "Lose the renewed token",
        }
    }

    /// What it does, in a sentence for the page.
    pub(super) fn effect(self) -> &'static str {
        match self {
            Self::Refuse => "The content is refused with 422.",
            Self::Busy => "Nothing is done, and no time is given: 429.",
            Self::BusyUntil => "Nothing is done, and Retry-After gives the seconds: 429.",
            Self::RateLimit => "Too many posts; Retry-After gives the seconds, or 2: 429.",
            Self::ErrorBefore => "Nothing is done, and the answer is 500.",
            Self::ErrorAfter => "The post is published, and the answer is 500 all the same.",
            Self::LoseCall => "Nothing is done, and the connection is cut.",
            Self::LoseAnswer => "The post is published, and the connection is cut before the answer.",
            Self::Slow => "The post is published after the seconds, even when nobody waits any more.",
            Self::Late => "The connection is cut at once; the post is published after the seconds.",
            Self::LookError => "Asked what was published, it answers 500. Choose it beside one of the others.",
            Self::CommentBusy => "The comment is not added, and Retry-After gives the seconds: 429.",
            Self::CommentRefuse => "The comment is refused with 422.",
            Self::CommentLoseAnswer => "The comment is added, and the connection is cut before the answer.",
            Self::MediaSlow => "The file is taken after the seconds.",
            Self::MediaError => "The file is not kept, and the answer is 500.",
            Self::MediaRefuse => "The file is refused with 422.",
            Self::MediaProcessing => "The file is taken, but no post can show it before the seconds are over.",
            Self::Revoke => "The next call is answered 401. The account has to be connected again.",
            Self::Expire => "The next call is answered 401. The token can be renewed.",
            Self::RefuseRefresh => "The access token ends now, and renewing it is refused. Connect again.",
            Self::RefreshUnreachable => "The access token ends now, and renewing it is answered 503.",
            Self::LoseRefresh => {
                "The access token ends now. It is renewed, which spends the old refresh token, and the answer is cut off."
            }
        }
    }

    /// Whether it strikes calls of this operation.
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
            Self::LookError => operation == Operation::Look,
            Self::CommentBusy | Self::CommentRefuse | Self::CommentLoseAnswer => operation == Operation::Comment,
            Self::MediaSlow | Self::MediaError | Self::MediaRefuse | Self::MediaProcessing => {
                operation == Operation::Upload
            }
            Self::Revoke | Self::Expire => matches!(operation, Operation::Publish | Operation::Upload),
            Self::RefuseRefresh | Self::RefreshUnreachable | Self::LoseRefresh => operation == Operation::Refresh,
        }
    }

    /// Whether it strikes uploads but not posts, so that an order may name the file.
    pub(super) fn is_about_files(self) -> bool {
        self.strikes(Operation::Upload) && !self.strikes(Operation::Publish)
    }

    /// Whether it uses the order's delay.
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

    /// Whether access tokens end when it is armed. It strikes renewals, and
    /// without that nobody would renew a token for most of an hour.
    pub(super) fn ends_tokens(self) -> bool {
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
    fn every_kind_is_on_the_page_once_and_strikes_something() {
        let names: std::collections::BTreeSet<_> = all().into_iter().map(FaultKind::name).collect();
        assert_eq!((all().len(), names.len()), (23, 23));
        let calls = [Operation::Publish, Operation::Look, Operation::Comment, Operation::Upload, Operation::Refresh];
        for kind in all() {
            assert!(calls.iter().any(|it| kind.strikes(*it)), "{}", kind.name());
        }
    }
}
