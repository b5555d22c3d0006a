//! How a call can fail.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use thiserror::Error;

/// Why there is no answer of use.
#[derive(Clone, Debug, Error)]
pub enum Error {
    /// 401: there is no token, or it is not valid any more. Nothing happened.
    #[error("{0}")]
    NotSignedIn(Box<Refusal>),
    /// The API refused. Nothing happened.
    #[error("{0}")]
    Refused(Box<Refusal>),
    /// No answer came, or none that tells, however often it was asked for. What
    /// was asked for may have happened or not.
    #[error("nobody knows whether it happened: {0}")]
    Unknown(String),
    /// The service was not reached, or gave no answer to a question that
    /// changes nothing. Nothing happened.
    #[error("the service gives no answer: {0}")]
    Unreachable(String),
    /// It worked, and the answer is not what this client knows.
    #[error("the answer cannot be read, is this a newer version of the service? {0}")]
    Unreadable(String),
}

/// What the API said when it refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    pub status: u16,
    /// The code for programs, where there is one, like `has_pending_posts`.
    pub code: Option<String>,
    /// The sentence for people.
    pub message: String,
    /// What is wrong by field, like `platforms.0.content`.
    pub errors: BTreeMap<String, Vec<String>>,
    /// The API's answer unchanged.
    pub json: String,
    /// What to report when the service failed.
    pub request_id: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Body {
    message: Option<String>,
    errors: BTreeMap<String, Vec<String>>,
    error: Option<String>,
    error_description: Option<String>,
}

/// The most characters of an answer that is not the API's own.
const MAX_FOREIGN: usize = 200;

impl Refusal {
    pub(crate) fn read(status: u16, request_id: Option<String>, json: String) -> Self {
        let body: Body = serde_json::from_str(&json).unwrap_or_default();
        let message = body.message.or(body.error_description).unwrap_or_else(|| {
            let shown: String = json.chars().filter(|it| !it.is_control()).take(MAX_FOREIGN).collect();
            format!("the answer is {status} {shown}")
        });
        Self { status, code: body.error, message, errors: body.errors, json, request_id }
    }
}

impl fmt::Display for Refusal {
    /// The message, then what else is wrong, each on a line of its own.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        let all: usize = self.errors.values().map(Vec::len).sum();
        if all < 2 {
            return Ok(());
        }
        for (field, faults) in &self.errors {
            for fault in faults {
                write!(f, "\n  {field}: {fault}")?;
            }
        }
        Ok(())
    }
}

impl Error {
    /// What the API said, where it refused.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::NotSignedIn(it) | Self::Refused(it) => Some(it),
            Self::Unknown(_) | Self::Unreachable(_) | Self::Unreadable(_) => None,
        }
    }

    /// The status of a refusal.
    pub fn status(&self) -> Option<u16> {
        self.refusal().map(|it| it.status)
    }
}

/// An error of the way with its causes, without the URL: one of an upload is a
/// secret.
pub(crate) fn chain(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut words = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(it) = cause {
        words = format!("{words}: {it}");
        cause = it.source();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_everything_that_is_wrong() {
        let json = r#"{"message":"content is required (and 1 more error)",
            "errors":{"content":["content is required"],"media.0":["media.0 is not a path"]}}"#;

        let refusal = Refusal::read(422, None, json.to_owned());

        assert_eq!(
            refusal.to_string(),
            "content is required (and 1 more error)\n  content: content is required\n  media.0: media.0 is not a path"
        );
    }

    #[test]
    fn an_answer_of_something_in_between_is_shown_in_part() {
        let refusal = Refusal::read(502, None, format!("<html>\n{}", "x".repeat(999)));
        assert!(refusal.message.starts_with("the answer is 502 <html>x"));
        assert!(refusal.message.len() < 250);
    }

    #[test]
    fn a_code_for_programs_is_kept() {
        let json = r#"{"error":"expired_token","error_description":"The device code has expired."}"#;
        let refusal = Refusal::read(400, None, json.to_owned());
        assert_eq!(
            (refusal.code.as_deref(), &*refusal.message),
            (Some("expired_token"), "The device code has expired.")
        );
    }
}
