//! How a command ends.

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use client::{Error, Refusal};
use thiserror::Error;

use crate::plain::plain_lines;

/// Why a command did not do what it was told; each kind has its exit code.
#[derive(Debug, Error)]
pub(crate) enum CliError {
    /// Something on this machine or on the way failed. Nothing happened.
    #[error("{0}")]
    Failed(String),
    /// The command cannot be carried out as it was written.
    #[error("{0}")]
    Usage(String),
    /// There is no token, or it is not valid any more.
    #[error("{0}")]
    NotSignedIn(String),
    /// The service refused.
    #[error("{0}")]
    Refused(String),
    /// Nobody knows whether it happened.
    #[error("{0}")]
    Unknown(String),
    /// What was printed is not read any more: `social posts list | head -1`.
    #[error("nobody reads what is printed")]
    NobodyReads,
}

impl CliError {
    /// Says what is wrong, and gives the exit code.
    pub(crate) fn tell(&self) -> ExitCode {
        if !matches!(self, Self::NobodyReads) {
            let _ = writeln!(io::stderr(), "social: {}", plain_lines(&self.to_string()));
        }
        ExitCode::from(self.code())
    }

    /// The exit code; the help lists them.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::NobodyReads => 0,
            Self::Failed(_) => 1,
            Self::Usage(_) => 2,
            Self::NotSignedIn(_) => 3,
            Self::Refused(_) => 4,
            Self::Unknown(_) => 5,
        }
    }
}

impl From<Error> for CliError {
    fn from(error: Error) -> Self {
        match &error {
            Error::NotSignedIn(_) => Self::NotSignedIn(
                "the token is not valid any more; run `social login`, or replace the one in SOCIAL_TOKEN".to_owned(),
            ),
            Error::Refused(refusal) => Self::Refused(sentence(refusal)),
            // With an answer that cannot be read, it worked, and what became of it is not known.
            Error::Unknown(_) | Error::Unreadable(_) => Self::Unknown(error.to_string()),
            Error::Unreachable(_) => Self::Failed(error.to_string()),
        }
    }
}

/// What a refusal says, with what the words of the API are called here.
fn sentence(refusal: &Refusal) -> String {
    let printed = plain_lines(&refusal.to_string());
    match &refusal.request_id {
        Some(id) if 500 <= refusal.status => format!("{printed} (request {id})"),
        _ => printed,
    }
}

impl From<io::Error> for CliError {
    fn from(error: io::Error) -> Self {
        if error.kind() == ErrorKind::BrokenPipe { Self::NobodyReads } else { Self::Failed(error.to_string()) }
    }
}
