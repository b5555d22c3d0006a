//! Why a call has no response.
//!
//! The error of the HTTP client is not shown: the URL of a call may contain a secret.

use egress::{Egress, EgressError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TransportError {
    Forbidden(EgressError),
    /// No connection was made, so nothing was done.
    NotReached,
    /// Timeout.
    Late,
    CutOff,
}

impl From<EgressError> for TransportError {
    fn from(error: EgressError) -> Self {
        Self::Forbidden(error)
    }
}

impl From<reqwest::Error> for TransportError {
    fn from(error: reqwest::Error) -> Self {
        match Egress::refusal(&error) {
            Some(refusal) => Self::Forbidden(refusal),
            None if error.is_connect() => Self::NotReached,
            None if error.is_timeout() => Self::Late,
            None => Self::CutOff,
        }
    }
}

impl TransportError {
    /// Whether nothing was sent, for certain.
    pub(crate) const fn is_unsent(self) -> bool {
        matches!(self, Self::Forbidden(_) | Self::NotReached)
    }

    /// For the user; `host_name` is what was called, such as `Slack` or `the server`.
    pub(crate) fn message(self, host_name: &str) -> String {
        match self {
            Self::Forbidden(refusal) => refusal.to_string(),
            Self::NotReached => format!("{host_name} could not be reached"),
            Self::Late => format!("{host_name} did not respond in time"),
            Self::CutOff => format!("{host_name}'s response was cut off"),
        }
    }
}
