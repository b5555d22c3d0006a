//! What follows from a token call without a token.

use domain::delivery::AttemptError;
use http::StatusCode;

use super::error_body::{TokenErrorBody, TokenErrorKind};
use crate::connect_flow::{ConnectError, RefreshError};
use crate::dependency_error::DependencyError;

#[derive(Debug)]
pub(super) enum TokenCallError {
    /// Our client credentials are unavailable.
    NotNow(DependencyError),
    NotReached,
    NotAnswered,
    Refused(TokenErrorBody),
    /// A success that cannot be read.
    Unreadable,
}

impl TokenCallError {
    pub(super) fn from_reqwest(error: &reqwest::Error) -> Self {
        if error.is_connect() { Self::NotReached } else { Self::NotAnswered }
    }

    fn reason(self) -> String {
        match self {
            Self::NotNow(error) => error.to_string(),
            Self::NotReached => "the platform could not be reached".to_owned(),
            Self::NotAnswered => "the platform did not respond".to_owned(),
            Self::Refused(refused) => match refused.kind {
                TokenErrorKind::Us => DependencyError.to_string(),
                TokenErrorKind::Grant | TokenErrorKind::Request | TokenErrorKind::Passing => refused.message,
            },
            Self::Unreadable => "the platform sent an invalid response".to_owned(),
        }
    }
}

impl From<DependencyError> for TokenCallError {
    fn from(error: DependencyError) -> Self {
        Self::NotNow(error)
    }
}

/// The user reads a reason that will not change. For a temporary error, the user is asked to try
/// again.
impl From<TokenCallError> for ConnectError {
    fn from(error: TokenCallError) -> Self {
        match error {
            TokenCallError::Refused(refused)
                if matches!(refused.kind, TokenErrorKind::Grant | TokenErrorKind::Request) =>
            {
                Self::Refused(refused.message)
            }
            _ => Self::Unreachable,
        }
    }
}

impl From<TokenCallError> for RefreshError {
    fn from(error: TokenCallError) -> Self {
        match error {
            TokenCallError::Refused(refused) if refused.kind == TokenErrorKind::Grant => Self::Gone(refused.message),
            other => Self::Unreachable(other.reason()),
        }
    }
}

/// For a revocation, which may be repeated.
impl From<TokenCallError> for AttemptError {
    fn from(error: TokenCallError) -> Self {
        match error {
            TokenCallError::Refused(refused) if refused.kind == TokenErrorKind::Request => {
                Self::Refused { reason: refused.message }
            }
            TokenCallError::Refused(refused)
                if refused.kind == TokenErrorKind::Us || refused.status == StatusCode::TOO_MANY_REQUESTS =>
            {
                let retry_at = refused.retry_at;
                Self::RetryLater { retry_at, reason: TokenCallError::Refused(refused).reason() }
            }
            TokenCallError::NotNow(_) | TokenCallError::NotReached => {
                Self::RetryLater { retry_at: None, reason: error.reason() }
            }
            // A server that has responded has stopped working on the call.
            TokenCallError::Refused(_) | TokenCallError::Unreadable => {
                Self::Unknown { may_still_run: false, retry_at: None, reason: error.reason() }
            }
            TokenCallError::NotAnswered => {
                Self::Unknown { may_still_run: true, retry_at: None, reason: error.reason() }
            }
        }
    }
}
