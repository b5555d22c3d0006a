//! What follows when a call for tokens brings none.

use domain::delivery::AttemptError;
use http::StatusCode;

use super::error_body::{TokenErrorBody, TokenErrorKind};
use crate::connect_flow::{ConnectError, RefreshError};
use crate::dependency_error::DependencyError;

/// Why a call brought nothing.
#[derive(Debug)]
pub(super) enum TokenCallError {
    /// Our id and secret are not to be had.
    NotNow(DependencyError),
    /// No connection was made.
    NotReached,
    /// There is no answer.
    NotAnswered,
    /// The platform said no.
    Refused(TokenErrorBody),
    /// It went well, and what came back cannot be read.
    Unreadable,
}

impl TokenCallError {
    pub(super) fn of(error: &reqwest::Error) -> Self {
        if error.is_connect() { Self::NotReached } else { Self::NotAnswered }
    }

    fn reason(self) -> String {
        match self {
            Self::NotNow(not_now) => not_now.to_string(),
            Self::NotReached => "the platform could not be reached".to_owned(),
            Self::NotAnswered => "the platform did not answer".to_owned(),
            Self::Refused(refused) => match refused.blame() {
                TokenErrorKind::Us => DependencyError.to_string(),
                TokenErrorKind::Grant | TokenErrorKind::Request | TokenErrorKind::Passing => refused.words,
            },
            Self::Unreadable => "the platform sent an invalid response".to_owned(),
        }
    }
}

impl From<DependencyError> for TokenCallError {
    fn from(not_now: DependencyError) -> Self {
        Self::NotNow(not_now)
    }
}

/// The person reads a reason that will not change, and is told to try again where
/// the failure may pass.
impl From<TokenCallError> for ConnectError {
    fn from(failure: TokenCallError) -> Self {
        match failure {
            TokenCallError::Refused(refused)
                if matches!(refused.blame(), TokenErrorKind::Grant | TokenErrorKind::Request) =>
            {
                Self::Refused(refused.words)
            }
            _ => Self::Unreachable,
        }
    }
}

impl From<TokenCallError> for RefreshError {
    fn from(failure: TokenCallError) -> Self {
        match failure {
            TokenCallError::Refused(refused) if refused.blame() == TokenErrorKind::Grant => Self::Gone(refused.words),
            other => Self::Unreachable(other.reason()),
        }
    }
}

/// What follows for a revocation, which may be repeated.
impl From<TokenCallError> for AttemptError {
    fn from(failure: TokenCallError) -> Self {
        match failure {
            TokenCallError::Refused(refused) if refused.blame() == TokenErrorKind::Request => {
                Self::Refused { reason: refused.words }
            }
            TokenCallError::Refused(refused)
                if refused.blame() == TokenErrorKind::Us || refused.status == StatusCode::TOO_MANY_REQUESTS =>
            {
                let retry_at = refused.retry_at;
                Self::RetryLater { retry_at, reason: TokenCallError::Refused(refused).reason() }
            }
            TokenCallError::NotNow(_) | TokenCallError::NotReached => {
                Self::RetryLater { retry_at: None, reason: failure.reason() }
            }
            // A server that has answered has stopped working on the call.
            TokenCallError::Refused(_) | TokenCallError::Unreadable => {
                Self::Unknown { may_still_run: false, retry_at: None, reason: failure.reason() }
            }
            TokenCallError::NotAnswered => {
                Self::Unknown { may_still_run: true, retry_at: None, reason: failure.reason() }
            }
        }
    }
}
