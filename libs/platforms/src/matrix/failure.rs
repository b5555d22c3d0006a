//! Calls that did not do what they were to do, and what follows.

use chrono::{DateTime, Utc};
use domain::delivery::{Resolution, Setback};
use http::StatusCode;
use outbound::Refusal;

use crate::handoff::{HandOffRefusal, RefreshRefusal};
use crate::no_answer::NoAnswer;

/// A call that did not do what it was to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// It said no, by this code.
    Refused { status: StatusCode, code: String, words: String },
    /// Too many calls; nothing was done.
    Limited { retry_at: Option<DateTime<Utc>> },
    /// Nothing was done.
    NotSent { why: String },
    /// It may have been carried out.
    Unknown { may_still_run: bool, why: String },
}

/// Whom people read of.
pub(super) const WHO: &str = "its homeserver";

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::NotSent { why: format!("its homeserver was not called: {refusal}") }
    }
}

impl From<reqwest::Error> for Failure {
    fn from(error: reqwest::Error) -> Self {
        match NoAnswer::from(error) {
            NoAnswer::Forbidden(refusal) => refusal.into(),
            it if it.is_unsent() => Self::NotSent { why: it.words(WHO) },
            it => Self::Unknown { may_still_run: true, why: it.words(WHO) },
        }
    }
}

/// Codes of an access token that is of no use any more, or for now. A locked account
/// keeps its tokens.
const LOST: &[&str] = &["M_UNKNOWN_TOKEN", "M_MISSING_TOKEN", "M_USER_DEACTIVATED", "M_USER_LOCKED"];

/// Codes of a refresh token that will never be taken again: of the specification, and
/// what Synapse says of one that was used.
const GONE: &[&str] = &["M_UNKNOWN_TOKEN", "M_FORBIDDEN", "M_USER_DEACTIVATED"];

/// Codes of calls that were not carried out, and may be later.
const LATER: &[&str] = &["M_LIMIT_EXCEEDED", "M_RESOURCE_LIMIT_EXCEEDED"];

impl Failure {
    /// In words for the user: the server's own, which are "a human-readable error
    /// message, usually a sentence explaining what went wrong".
    pub(super) fn words(&self) -> String {
        match self {
            Self::Refused { code, words, .. } => match code.as_str() {
                "M_TOO_LARGE" => format!("it is larger than its homeserver takes ({words})"),
                _ => format!("its homeserver refused it: {words}"),
            },
            Self::Limited { .. } => "its homeserver takes no more for now".to_owned(),
            Self::NotSent { why } | Self::Unknown { why, .. } => why.clone(),
        }
    }

    pub(super) fn is(&self, codes: &[&str]) -> bool {
        matches!(self, Self::Refused { code, .. } if codes.contains(&code.as_str()))
    }

    /// Whether there is no such thing at the server, or no such call.
    pub(super) fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { status: StatusCode::NOT_FOUND, .. })
    }

    /// Whether the token is of no use any more.
    pub(super) fn is_of_the_token(&self) -> bool {
        self.is(LOST)
    }

    /// Whether neither this token nor one before it will ever be taken again.
    pub(super) fn is_of_a_refresh_token(&self) -> bool {
        self.is(GONE)
    }

    /// Whether the call may still be carried out.
    pub(super) fn may_still_run(&self) -> bool {
        matches!(self, Self::Unknown { may_still_run: true, .. })
    }

    /// What follows for a delivery after a call that changes something.
    pub(super) fn setback(self) -> Setback {
        let reason = self.words();
        match &self {
            Self::Limited { retry_at } => Setback::Busy { retry_at: *retry_at, reason },
            Self::NotSent { .. } => Setback::Busy { retry_at: None, reason },
            Self::Unknown { may_still_run, .. } => Setback::Unknown { may_still_run: *may_still_run, reason },
            it if it.is(LATER) => Setback::Busy { retry_at: None, reason },
            it if it.is(LOST) => Setback::Disconnected { reason },
            Self::Refused { .. } => Setback::Refused { reason },
        }
    }

    /// The same of a call after which nothing is public, and that may be repeated.
    pub(super) fn before_the_call(self) -> Setback {
        match self.setback() {
            Setback::Unknown { reason, .. } => Setback::Busy { retry_at: None, reason },
            setback => setback,
        }
    }

    /// What it tells about a call whose answer was lost: nothing.
    pub(super) fn resolution(self) -> Resolution {
        let reason = self.words();
        if self.is(LOST) { Resolution::Disconnected { reason } } else { Resolution::Unclear { reason } }
    }

    /// What it means for a token that was to be renewed.
    pub(super) fn not_renewed(self) -> RefreshRefusal {
        let reason = self.words();
        if self.is(GONE) { RefreshRefusal::Gone(reason) } else { RefreshRefusal::Unreachable(reason) }
    }
}

impl From<Failure> for HandOffRefusal {
    fn from(failure: Failure) -> Self {
        match &failure {
            Failure::Refused { words, .. } if !failure.is(LATER) => Self::Refused(words.clone()),
            _ => Self::Unreachable,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(code: &str) -> Failure {
        Failure::Refused { status: StatusCode::FORBIDDEN, code: code.to_owned(), words: "No.".to_owned() }
    }

    #[test]
    fn a_code_says_what_follows() {
        for (codes, outcome) in [
            (LATER, "Busy"),
            (LOST, "Disconnected"),
            (&["M_FORBIDDEN", "M_TOO_LARGE", "M_USER_SUSPENDED", "M_CONSENT_NOT_GIVEN", "M_BAD_JSON"], "Refused"),
        ] {
            for code in codes {
                let said = format!("{:?}", of(code).setback());
                assert!(said.starts_with(outcome), "{code}: {said}");
            }
        }
    }

    #[test]
    fn only_the_servers_word_ends_a_grant() {
        assert!(matches!(of("M_UNKNOWN_TOKEN").not_renewed(), RefreshRefusal::Gone(_)));
        let cut = Failure::Unknown { may_still_run: true, why: "cut".to_owned() };
        for failure in [of("M_USER_LOCKED"), of("M_UNKNOWN"), cut, Failure::Limited { retry_at: None }] {
            assert!(matches!(failure.not_renewed(), RefreshRefusal::Unreachable(_)));
        }
    }

    #[test]
    fn before_the_public_call_nothing_is_in_doubt() {
        let cut = Failure::Unknown { may_still_run: true, why: "cut".to_owned() };
        assert!(matches!(cut.before_the_call(), Setback::Busy { .. }));
    }
}
