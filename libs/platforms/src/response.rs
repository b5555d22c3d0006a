//! Reads the responses of platforms: with a size limit, and with messages that users can read.

use chrono::{DateTime, TimeDelta, Utc};
use domain::name::is_mark;
use futures::StreamExt;
use http::{HeaderMap, StatusCode};
use serde::de::DeserializeOwned;

/// Larger than most responses; see [`json_up_to`] for the others.
const MAX_ANSWER_BYTES: usize = 256 * 1024;

const MAX_WORDS: usize = 300;

#[derive(Debug, thiserror::Error)]
pub(crate) enum ResponseError {
    #[error("the response was cut off")]
    CutOff,
    #[error("the response was too long")]
    TooLong,
    #[error("invalid response")]
    Form,
}

pub(crate) async fn body(response: reqwest::Response) -> Result<Vec<u8>, ResponseError> {
    body_up_to(response, MAX_ANSWER_BYTES).await
}

pub(crate) async fn body_up_to(response: reqwest::Response, max_bytes: usize) -> Result<Vec<u8>, ResponseError> {
    let mut stream = response.bytes_stream();
    let mut bytes = Vec::new();
    while let Some(piece) = stream.next().await {
        let piece = piece.map_err(|_| ResponseError::CutOff)?;
        if max_bytes < bytes.len() + piece.len() {
            return Err(ResponseError::TooLong);
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

/// Ends at `max_bytes`, or where the body was cut off.
pub(crate) async fn start(response: reqwest::Response, max_bytes: usize) -> Vec<u8> {
    let mut stream = response.bytes_stream();
    let mut bytes = Vec::new();
    while let Some(Ok(piece)) = stream.next().await {
        let remaining = max_bytes - bytes.len();
        bytes.extend_from_slice(&piece[..piece.len().min(remaining)]);
        if remaining <= piece.len() {
            break;
        }
    }
    bytes
}

pub(crate) async fn json<T: DeserializeOwned>(response: reqwest::Response) -> Result<T, ResponseError> {
    serde_json::from_slice(&body(response).await?).map_err(|_| ResponseError::Form)
}

pub(crate) async fn json_up_to<T: DeserializeOwned>(
    response: reqwest::Response,
    max_bytes: usize,
) -> Result<T, ResponseError> {
    serde_json::from_slice(&body_up_to(response, max_bytes).await?).map_err(|_| ResponseError::Form)
}

/// The platform's own message in an error response, shortened: the field `message`,
/// `error_description` or `error`, else the status.
pub(crate) fn message_from(status: StatusCode, body: &[u8]) -> String {
    let found = serde_json::from_slice::<serde_json::Value>(body).ok().and_then(|it| {
        ["message", "error_description", "error"].iter().find_map(|name| it.get(name)?.as_str().map(str::to_owned))
    });
    let message = found.unwrap_or_else(|| format!("the server returned {status}"));
    shown(&message)
}

/// An untrusted message as the user sees it: on one line, shortened, and without characters that
/// would reverse our own text.
pub(crate) fn shown(message: &str) -> String {
    let plain: String = message.chars().filter(|it| !is_mark(*it)).collect();
    plain.trim().chars().take(MAX_WORDS).collect()
}

/// When the platform accepts calls again: `Retry-After` in seconds or as a date.
pub(crate) fn retry_at(headers: &HeaderMap, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let value = headers.get(http::header::RETRY_AFTER)?.to_str().ok()?;
    let seconds = value.parse::<u32>().ok().map(|it| now + TimeDelta::seconds(it.into()));
    seconds.or_else(|| DateTime::parse_from_rfc2822(value).ok().map(|it| it.to_utc()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_is_shown_on_one_line_and_shortened() {
        assert_eq!(shown(" one\r\ntwo\u{7}\u{202e} \n"), "onetwo");
        assert_eq!(shown(&"ä".repeat(1000)).chars().count(), MAX_WORDS);
    }
}
