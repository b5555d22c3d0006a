use chrono::{DateTime, Utc};
use http::StatusCode;
use serde_json::Value;

use super::dialect::Dialect;
use crate::response;

#[derive(Debug)]
pub(super) struct TokenErrorBody {
    pub(super) kind: TokenErrorKind,
    code: Option<String>,
    /// For the user.
    pub(super) message: String,
    pub(super) retry_at: Option<DateTime<Utc>>,
    pub(super) status: StatusCode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenErrorKind {
    Grant,
    /// The id or secret of our app is wrong.
    Us,
    /// Any other error that will not change.
    Request,
    Passing,
}

const PASSING: [StatusCode; 3] = [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_EARLY, StatusCode::TOO_MANY_REQUESTS];

/// Codes of temporary errors with any status (RFC 6749, section 4.1.2.1).
const PASSING_CODES: [&str; 3] = ["temporarily_unavailable", "server_error", "slow_down"];

/// The code of errors about a token that is sent, with any status (RFC 6750, section 3.1). Some
/// platforms send it when a token to be revoked has already ended.
const OF_A_TOKEN: &str = "invalid_token";

impl TokenErrorKind {
    fn classify(dialect: &Dialect, status: StatusCode, code: Option<&str>) -> Self {
        let is_one_of = |codes: &[&str]| code.is_some_and(|it| codes.contains(&it));
        // A page of an outage does not prove that a grant has ended, whatever it contains.
        if status.is_server_error()
            || PASSING.contains(&status)
            || is_one_of(&PASSING_CODES)
            || is_one_of(dialect.passing)
        {
            Self::Passing
        } else if is_one_of(dialect.ours) {
            Self::Us
        } else if is_one_of(dialect.gone) {
            Self::Grant
        } else if status == StatusCode::UNAUTHORIZED && code != Some(OF_A_TOKEN) {
            // At token endpoints, it is about the id and secret, not about a token.
            Self::Us
        } else if status.is_client_error() || status.is_success() {
            Self::Request
        } else {
            Self::Passing
        }
    }
}

impl TokenErrorBody {
    /// `None` if the response is no error. Some platforms send errors with status 200 and an
    /// `error`.
    pub(super) fn read(
        dialect: &Dialect,
        status: StatusCode,
        retry_at: Option<DateTime<Utc>>,
        body: Option<&[u8]>,
    ) -> Option<Self> {
        let response: Value = body.and_then(|it| serde_json::from_slice(it).ok()).unwrap_or_default();
        let error = &response["error"];
        let has_error = error.as_str().is_some_and(|it| !it.is_empty()) || response["ok"] == false;
        if status.is_success() && !has_error {
            return None;
        }
        let code = [error, &error["code"], &response["code"]].into_iter().find_map(code);
        let text =
            |names: &[&str], platform: &Value| names.iter().find_map(|it| platform[*it].as_str().map(str::to_owned));
        let message = text(&["message", "error_description", "error_message", "error"], &response)
            .or_else(|| text(&["message"], error));
        let message = message.map_or_else(|| format!("the server returned {status}"), |it| response::shown(&it));
        let kind = TokenErrorKind::classify(dialect, status, code.as_deref());
        Some(Self { kind, code, message, retry_at, status })
    }

    pub(super) fn is_grant_ended(&self) -> bool {
        self.kind == TokenErrorKind::Grant || self.code.as_deref() == Some(OF_A_TOKEN)
    }
}

fn code(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}
