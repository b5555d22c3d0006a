//! Calls that did not do what they were to do, and what follows.

use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::Setback;

use super::TITLE;
use crate::answer;
use crate::no_answer::NoAnswer;
use crate::not_now::NotNow;

/// A call that did not do what it was to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// It said no.
    Refused {
        /// Its `error_code`.
        code: u16,
        words: String,
        /// In seconds.
        retry_after: Option<u32>,
    },
    /// The group has another number now; nothing was sent.
    Moved { to: i64 },
    /// Nothing was sent.
    NotSent { why: String },
    /// Nothing was sent: what was prepared is not there any more.
    Unprepared,
    /// It may have been carried out.
    Unknown { may_still_run: bool, why: String },
}

impl From<NotNow> for Failure {
    fn from(not_now: NotNow) -> Self {
        Self::NotSent { why: not_now.to_string() }
    }
}

impl From<reqwest::Error> for Failure {
    fn from(error: reqwest::Error) -> Self {
        let no_answer = NoAnswer::from(error);
        let why = no_answer.words(TITLE);
        if no_answer.is_unsent() { Self::NotSent { why } } else { Self::Unknown { may_still_run: true, why } }
    }
}

/// It said no, in these words.
pub(super) fn refused(code: u16, words: Option<String>, retry_after: Option<u32>) -> Failure {
    let words = answer::shown(&words.unwrap_or_else(|| format!("it answered {code}")));
    Failure::Refused { code, words, retry_after }
}

/// Descriptions of a bot that may not post any more, in lower case.
const LOST: [&str; 4] = ["chat not found", "need administrator rights", "chat_write_forbidden", "chat_admin_required"];

/// What Telegram says is "Request Entity Too Large". No document says how large all
/// files of an album may be together: each may have 50 MB.
const TOO_LARGE: &str = "the files are too large for Telegram, one of them or all together; post fewer or smaller ones";

impl Failure {
    /// What follows for a delivery.
    pub(super) fn setback(self, now: DateTime<Utc>) -> Setback {
        match self {
            Self::Refused { code: 429, words: reason, retry_after } => {
                Setback::Busy { retry_at: retry_after.map(|it| now + TimeDelta::seconds(it.into())), reason }
            }
            Self::Refused { code: 401 | 403 | 404, words: reason, .. } => Setback::Disconnected { reason },
            Self::Refused { code: 413, .. } => Setback::Refused { reason: TOO_LARGE.to_owned() },
            Self::Refused { words: reason, .. } => {
                let said = reason.to_lowercase();
                if LOST.iter().any(|it| said.contains(it)) {
                    return Setback::Disconnected { reason };
                }
                Setback::Refused { reason }
            }
            // Groups move once, when they grow. Where the new number does not work
            // either, none will that follows from the one that is kept.
            Self::Moved { .. } => Setback::Disconnected { reason: "the group has another number now".to_owned() },
            Self::Unprepared => Setback::Stale { reason: "a picture has to be made smaller again".to_owned() },
            Self::NotSent { why: reason } => Setback::Busy { retry_at: None, reason },
            Self::Unknown { may_still_run, why } => Setback::Unknown { may_still_run, reason: why },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_refusal_means_is_told_by_its_code_and_words() {
        let now = domain::testing::noon();
        let of = |code, words: &str| refused(code, Some(words.to_owned()), None).setback(now);
        for (code, words) in [
            (401, "Unauthorized"),
            (403, "Forbidden: bot was kicked from the channel chat"),
            (400, "Bad Request: chat not found"),
            (400, "Bad Request: need administrator rights in the channel chat"),
            (400, "Bad Request: CHAT_WRITE_FORBIDDEN"),
        ] {
            assert!(matches!(of(code, words), Setback::Disconnected { .. }), "{words}");
        }
        for (code, words) in [
            (400, "Bad Request: message is too long"),
            // A text could still be sent.
            (400, "Bad Request: not enough rights to send photos to the chat"),
        ] {
            assert!(matches!(of(code, words), Setback::Refused { .. }), "{words}");
        }
        let too_large = of(413, "Request Entity Too Large");
        assert!(matches!(&too_large, Setback::Refused { reason } if reason.contains("fewer or smaller")));
        // A group moves once, and then no more: it would be so for ever.
        let moved = Failure::Moved { to: -1 }.setback(now);
        assert!(matches!(&moved, Setback::Disconnected { reason } if reason.contains("another number")), "{moved:?}");
        let limited = refused(429, Some("Too Many Requests: retry after 17".to_owned()), Some(17)).setback(now);
        assert!(matches!(limited, Setback::Busy { retry_at: Some(at), .. } if at == now + TimeDelta::seconds(17)));
    }
}
