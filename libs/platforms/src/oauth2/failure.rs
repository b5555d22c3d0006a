//! What follows when a call for tokens brings none.

use domain::delivery::Setback;
use http::StatusCode;

use super::refused::{Blame, Refused};
use crate::handoff::{HandOffRefusal, RefreshRefusal};
use crate::not_now::NotNow;

/// Why a call brought nothing.
#[derive(Debug)]
pub(super) enum Failure {
    /// Our id and secret are not to be had.
    NotNow(NotNow),
    /// No connection was made.
    NotReached,
    /// There is no answer.
    NotAnswered,
    /// The platform said no.
    Refused(Refused),
    /// It went well, and what came back cannot be read.
    Unreadable,
}

impl Failure {
    pub(super) fn of(error: &reqwest::Error) -> Self {
        if error.is_connect() { Self::NotReached } else { Self::NotAnswered }
    }

    fn reason(self) -> String {
        match self {
            Self::NotNow(not_now) => not_now.to_string(),
            Self::NotReached => "the platform could not be reached".to_owned(),
            Self::NotAnswered => "the platform did not answer".to_owned(),
            Self::Refused(refused) => match refused.blame() {
                Blame::Us => NotNow.to_string(),
                Blame::Grant | Blame::Request | Blame::Passing => refused.words,
            },
            Self::Unreadable => "the platform's answer was not in the expected form".to_owned(),
        }
    }
}

impl From<NotNow> for Failure {
    fn from(not_now: NotNow) -> Self {
        Self::NotNow(not_now)
    }
}

/// The person reads a reason that will not change, and is told to try again where
/// the failure may pass.
impl From<Failure> for HandOffRefusal {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(refused) if matches!(refused.blame(), Blame::Grant | Blame::Request) => {
                Self::Refused(refused.words)
            }
            _ => Self::Unreachable,
        }
    }
}

impl From<Failure> for RefreshRefusal {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(refused) if refused.blame() == Blame::Grant => Self::Gone(refused.words),
            other => Self::Unreachable(other.reason()),
        }
    }
}

/// What follows for a revocation, which may be repeated.
impl From<Failure> for Setback {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(refused) if refused.blame() == Blame::Request => Self::Refused { reason: refused.words },
            Failure::Refused(refused)
                if refused.blame() == Blame::Us || refused.status == StatusCode::TOO_MANY_REQUESTS =>
            {
                let retry_at = refused.retry_at;
                Self::Busy { retry_at, reason: Failure::Refused(refused).reason() }
            }
            Failure::NotNow(_) | Failure::NotReached => Self::Busy { retry_at: None, reason: failure.reason() },
            // A server that has answered has stopped working on the call.
            Failure::Refused(_) | Failure::Unreadable => {
                Self::Unknown { may_still_run: false, retry_at: None, reason: failure.reason() }
            }
            Failure::NotAnswered => Self::Unknown { may_still_run: true, retry_at: None, reason: failure.reason() },
        }
    }
}
