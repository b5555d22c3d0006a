use std::collections::BTreeMap;
use std::fmt;

use contract::ErrorBody;
use thiserror::Error;

/// Why a call returned no value.
#[derive(Clone, Debug, Error)]
pub enum Error {
    /// 401: there is no token, or it is no longer valid. Nothing happened.
    #[error("{0}")]
    NotSignedIn(Box<ErrorResponse>),
    /// Nothing happened.
    #[error("{0}")]
    Refused(Box<ErrorResponse>),
    /// Unknown outcome: there was no response, or none that is conclusive, after all attempts. The
    /// request may have taken effect.
    #[error("unknown outcome: {0}")]
    Unknown(String),
    /// The service could not be reached, or a request that changes nothing or uploads a file had no
    /// usable response. Nothing happened.
    #[error("the request failed, and nothing was changed: {0}")]
    Unreachable(String),
    /// The request took effect, but this client cannot read the response.
    #[error("unreadable response; the service may be newer than this client: {0}")]
    Unreadable(String),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorResponse {
    pub status: u16,
    /// Such as `has_pending_posts`.
    pub code: Option<String>,
    pub message: String,
    /// By field, such as `platforms.0.content`.
    pub errors: BTreeMap<String, Vec<String>>,
    /// The body, unchanged.
    pub json: String,
    /// For a report about a failure of the service.
    pub request_id: Option<String>,
}

/// The most characters that are shown of a response that is not the API's own.
const MAX_FOREIGN: usize = 200;

impl ErrorResponse {
    pub(crate) fn read(status: u16, request_id: Option<String>, json: String) -> Self {
        let body: ErrorBody = serde_json::from_str(&json).unwrap_or_default();
        let message = body.message.or(body.error_description).unwrap_or_else(|| {
            let shown: String = json.chars().filter(|it| !it.is_control()).take(MAX_FOREIGN).collect();
            format!("HTTP status {status}: {shown}")
        });
        Self { status, code: body.error, message, errors: body.errors.unwrap_or_default(), json, request_id }
    }
}

impl fmt::Display for ErrorResponse {
    /// The other validation errors follow the message, one on each line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        let count: usize = self.errors.values().map(Vec::len).sum();
        if count < 2 {
            return Ok(());
        }
        for (field, messages) in &self.errors {
            for message in messages {
                write!(f, "\n  {field}: {message}")?;
            }
        }
        Ok(())
    }
}

impl Error {
    pub fn refusal(&self) -> Option<&ErrorResponse> {
        match self {
            Self::NotSignedIn(it) | Self::Refused(it) => Some(it),
            Self::Unknown(_) | Self::Unreachable(_) | Self::Unreadable(_) => None,
        }
    }

    pub fn status(&self) -> Option<u16> {
        self.refusal().map(|it| it.status)
    }
}

/// Without the URL: the URL of an upload is a secret.
pub(crate) fn chain(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut message = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(it) = cause {
        message = format!("{message}: {it}");
        cause = it.source();
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusal_shows_every_validation_error() {
        let json = r#"{"message":"content is required (and 1 more error)",
            "errors":{"content":["content is required"],"media.0":["media.0 is not a path"]}}"#;

        let refusal = ErrorResponse::read(422, None, json.to_owned());

        assert_eq!(
            refusal.to_string(),
            "content is required (and 1 more error)\n  content: content is required\n  media.0: media.0 is not a path"
        );
    }

    #[test]
    fn response_of_an_intermediary_is_shortened() {
        let refusal = ErrorResponse::read(502, None, format!("<html>\n{}", "x".repeat(999)));
        assert!(refusal.message.starts_with("HTTP status 502: <html>x"));
        assert!(refusal.message.len() < 250);
    }

    #[test]
    fn error_code_is_kept() {
        let json = r#"{"error":"expired_token","error_description":"The device code has expired."}"#;
        let refusal = ErrorResponse::read(400, None, json.to_owned());
        assert_eq!(
            (refusal.code.as_deref(), &*refusal.message),
            (Some("expired_token"), "The device code has expired.")
        );
    }
}
