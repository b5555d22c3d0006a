//! Errors of commands, and their exit codes.

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use client::{Error, ErrorResponse};
use thiserror::Error;

use crate::plain::plain_lines;

/// Each variant has an exit code, which the help lists.
#[derive(Debug, Error)]
pub(crate) enum CliError {
    /// This machine or the network failed. Nothing changed.
    #[error("{0}")]
    Failed(String),
    #[error("{0}")]
    Usage(String),
    #[error("{0}")]
    NotSignedIn(String),
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    Unknown(String),
    /// Standard output was closed, as in `social posts list | head -1`.
    #[error("broken pipe")]
    NobodyReads,
}

impl CliError {
    pub(crate) fn report(&self) -> ExitCode {
        if !matches!(self, Self::NobodyReads) {
            let _ = writeln!(io::stderr(), "social: {}", plain_lines(&self.to_string()));
        }
        ExitCode::from(self.code())
    }

    /// The error of a call for one resource, such as "post 7"; 404 names the resource.
    pub(crate) fn about(what: &str, id: u64) -> impl Fn(Error) -> Self {
        move |error| match error.status() {
            Some(404) => Self::Refused(format!("There is no {what} {id}")),
            _ => error.into(),
        }
    }

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
                "the token is no longer valid; run `social login`, or replace the token in SOCIAL_TOKEN".to_owned(),
            ),
            Error::Refused(refusal) => Self::Refused(refusal_message(refusal)),
            // An unreadable response means success with an unknown result.
            Error::Unknown(_) | Error::Unreadable(_) => Self::Unknown(error.to_string()),
            Error::Unreachable(_) => Self::Failed(error.to_string()),
        }
    }
}

/// Internal errors also get the request id.
fn refusal_message(refusal: &ErrorResponse) -> String {
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
