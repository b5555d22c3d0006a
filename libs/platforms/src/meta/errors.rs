//! Errors of the Graph API and of its upload host, as a table.
//!
//! The fact sheets of Facebook, Instagram and Threads have the meaning of each code. A subcode is
//! more precise than a code, and both are more precise than the status, so the rules for subcodes
//! come first.

use chrono::TimeDelta;
use serde_json::Value;

use super::usage;
use crate::kit::{CallError, ErrorKind, ErrorRule, ErrorTable, Reset};

/// How long a blocked account pauses: Meta blocks for hours.
const BLOCKED: TimeDelta = TimeDelta::hours(2);

/// When to read again whether a container is ready.
const SOON: TimeDelta = TimeDelta::seconds(15);

/// If no header states the time: the usage of an app is counted per hour.
const REGAINED: TimeDelta = TimeDelta::hours(1);

/// The most characters of Meta's message, so that the trace id behind it is never cut.
const MAX_MESSAGE_CHARS: usize = 240;

pub(super) const DAILY_QUOTA: &[&str] = &["2207042"];

/// "Object does not exist, cannot be loaded due to missing permissions, or does not support this operation".
const MISSING: &[&str] = &["33"];

const CODE_AT: &[&str] = &["/error/code", "/error/error_subcode", "/debug_info/type"];

const RULES: &[ErrorRule] = &[
    // The upload host. `ProcessingFailedError` comes with `"retriable": false`, and the same bytes are accepted hours
    // later; whether a token is still good is said by the Graph API.
    ErrorRule::is_true("/debug_info/retriable").kind(ErrorKind::Unavailable),
    ErrorRule::codes(&["NotAuthorizedError"]).kind(ErrorKind::Unavailable),
    ErrorRule::codes(&["ProcessingFailedError"]).kind(ErrorKind::PreparationExpired),
    // The app was removed, a checkpoint, a changed password, an expired token and so on; a missing
    // task on the Page or a missing identity; a restricted account.
    ErrorRule::codes(&["458", "459", "460", "463", "464", "467", "492"]).kind(ErrorKind::Unauthorized),
    ErrorRule::codes(&["1404078", "2069032", "2207050", "2853006", "4279013", "4854002"]).kind(ErrorKind::Unauthorized),
    // A temporary block. Posts were seen to be public all the same.
    ErrorRule::codes(&["1346003", "1390008", "1404006", "1404102", "1404112", "2207051"])
        .kind(ErrorKind::ServerError)
        .retry_after(BLOCKED),
    // Documented as a server error; in production a suspicion of spam.
    ErrorRule::codes(&["2207001"]).kind(ErrorKind::ServerError).retry_after(BLOCKED),
    ErrorRule::codes(DAILY_QUOTA).kind(ErrorKind::RateLimited),
    ErrorRule::codes(&["1366051"]).kind(ErrorKind::Duplicate),
    ErrorRule::codes(&["1363047", "1609010", "2207082"]).kind(ErrorKind::ServerError),
    ErrorRule::codes(&["2207027"]).kind(ErrorKind::NotReady).retry_after(SOON),
    // A container or an upload that has expired or was lost.
    ErrorRule::codes(&["1363037", "2207006", "2207008", "2207020", "2207032", "2207053", "4279009"])
        .kind(ErrorKind::PreparationExpired),
    ErrorRule::codes(&["2207003", "2207052", "2207077"]).kind(ErrorKind::FetchFailed),
    ErrorRule::code_range(2_207_000, 2_207_999).kind(ErrorKind::InvalidPost),
    ErrorRule::codes(&["1363040", "1363127", "1363128", "1363129", "1366046"]).kind(ErrorKind::InvalidPost),
    ErrorRule::message(&["no permission to publish the video"]).kind(ErrorKind::InvalidPost).user_message(
        "Facebook does not let the Page publish videos. The permission publish_video may be missing: ask your operator \
         to request it, then connect the Page again and reschedule the post",
    ),
    ErrorRule::message(&["could not be fetched"]).kind(ErrorKind::FetchFailed),
    ErrorRule::message(&["not an instagram business"]).kind(ErrorKind::Unauthorized),
    ErrorRule::codes(&["190", "102", "10"]).kind(ErrorKind::Unauthorized),
    ErrorRule::code_range(200, 299).kind(ErrorKind::Unauthorized),
    ErrorRule::codes(&["3"]).kind(ErrorKind::AppMisconfigured),
    ErrorRule::codes(&["4", "17", "32", "341", "613"]).kind(ErrorKind::RateLimited).retry_after(REGAINED),
    ErrorRule::code_range(80_000, 80_099).kind(ErrorKind::RateLimited).retry_after(REGAINED),
    ErrorRule::codes(&["368"]).kind(ErrorKind::ServerError).retry_after(BLOCKED),
    ErrorRule::codes(&["506"]).kind(ErrorKind::Duplicate),
    ErrorRule::codes(&["9004"]).kind(ErrorKind::FetchFailed),
    ErrorRule::codes(&["9007"]).kind(ErrorKind::NotReady).retry_after(SOON),
    ErrorRule::codes(&["1", "2", "-1", "-2"]).kind(ErrorKind::ServerError),
    ErrorRule::is_true("/error/is_transient").kind(ErrorKind::ServerError),
    ErrorRule::codes(&["100"]).kind(ErrorKind::InvalidPost),
];

pub(crate) const fn table(title: &'static str) -> ErrorTable {
    ErrorTable {
        title,
        code_at: CODE_AT,
        message_at: &["/error/error_user_msg", "/error/message", "/debug_info/message"],
        message: Some(message),
        is_own: has_code,
        is_error: |it| it.get("error").is_some() || it["success"] == false,
        resets: &[Reset::Custom(usage::rate_limit_reset)],
        rules: RULES,
        ..ErrorTable::STANDARD
    }
}

/// Every error of Meta has a code. A gateway may have a message at the same place, without a code.
fn has_code(body: &Value) -> bool {
    CODE_AT.iter().any(|it| body.pointer(it).is_some())
}

/// Meta's message for users, else its message for developers; and Meta's trace id of the call.
fn message(body: &Value) -> Option<String> {
    let error = body.get("error").or_else(|| body.get("debug_info"))?;
    let text = |name: &str| error[name].as_str().filter(|it| !it.trim().is_empty());
    let message: String = text("error_user_msg").or_else(|| text("message"))?.chars().take(MAX_MESSAGE_CHARS).collect();
    let is_trace_id =
        |it: &&str| it.len() <= 40 && it.bytes().all(|it| it.is_ascii_alphanumeric() || b"_-".contains(&it));
    Some(match text("fbtrace_id").filter(is_trace_id) {
        Some(trace) => format!("{message} (Meta trace id {trace})"),
        None => message,
    })
}

impl CallError {
    /// Whether Meta cannot show an object: it does not exist, or the token does not cover it, or
    /// Meta is mistaken.
    pub(crate) fn is_missing(&self) -> bool {
        self.has_code(MISSING)
    }

    pub(crate) fn is_expired_object(&self) -> bool {
        let kinds = [ErrorKind::PreparationExpired, ErrorKind::InvalidPost, ErrorKind::Forbidden];
        kinds.contains(&self.kind)
    }
}

#[cfg(test)]
mod tests;
