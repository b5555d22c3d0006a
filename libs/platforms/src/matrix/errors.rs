//! The error table of homeservers. "Errors are generally best expressed by their error code rather
//! than the HTTP status code returned."

use crate::connect_flow::RefreshError;
use crate::kit::{CallError, ErrorKind, ErrorRule, ErrorTable, Reset};
use crate::response;

/// Codes of a refresh token that will never be accepted again: from the specification, and from
/// Synapse for a token that was used.
const GONE: &[&str] = &["M_UNKNOWN_TOKEN", "M_FORBIDDEN", "M_USER_DEACTIVATED"];

pub(super) const ERRORS: ErrorTable = ErrorTable {
    title: "its homeserver",
    code_at: &["/errcode"],
    message_at: &["/error"],
    is_own: |it| it["errcode"].is_string(),
    // The header is exact to the second and takes precedence; servers from before version 1.10 have
    // only the body.
    resets: &[Reset::Custom(response::retry_at), Reset::Milliseconds("/retry_after_ms")],
    rules: &[
        ErrorRule::codes(&["M_LIMIT_EXCEEDED"]).kind(ErrorKind::RateLimited),
        ErrorRule::codes(&["M_RESOURCE_LIMIT_EXCEEDED"]).kind(ErrorKind::Unavailable),
        // An administrator can unlock the account, and its tokens become valid again.
        ErrorRule::codes(&["M_USER_LOCKED"])
            .kind(ErrorKind::Unavailable)
            .user_message("an administrator of its homeserver has locked the account"),
        ErrorRule::codes(&["M_UNKNOWN_TOKEN", "M_MISSING_TOKEN", "M_USER_DEACTIVATED"]).kind(ErrorKind::Unauthorized),
        ErrorRule::codes(&["M_TOO_LARGE"])
            .kind(ErrorKind::InvalidPost)
            .user_message("the file is larger than the homeserver accepts"),
    ],
    ..ErrorTable::STANDARD
};

pub(super) fn is_gone(error: &CallError) -> bool {
    matches!(error.kind, ErrorKind::Unauthorized | ErrorKind::Forbidden) && error.has_code(GONE)
}

/// The meaning of a failed refresh: only the homeserver itself can end a grant.
pub(super) fn refresh_error(error: CallError) -> RefreshError {
    if is_gone(&error) { RefreshError::Gone(error.message) } else { RefreshError::Unreachable(error.message) }
}

#[cfg(test)]
mod tests {
    use chrono::{TimeDelta, Utc};
    use http::{HeaderMap, StatusCode};
    use serde_json::{Value, json};

    use super::*;
    use crate::kit::Effect;

    fn call_error(status: u16, body: &Value) -> CallError {
        let status = StatusCode::from_u16(status).unwrap();
        ERRORS.classify(Effect::Public, status, &HeaderMap::new(), body.to_string().as_bytes(), Utc::now())
    }

    fn refused(status: u16, code: &str) -> CallError {
        call_error(status, &json!({ "errcode": code, "error": "No." }))
    }

    #[test]
    fn code_decides_the_kind() {
        for (status, code, kind) in [
            (401, "M_UNKNOWN_TOKEN", ErrorKind::Unauthorized),
            (403, "M_USER_DEACTIVATED", ErrorKind::Unauthorized),
            (401, "M_USER_LOCKED", ErrorKind::Unavailable),
            (403, "M_RESOURCE_LIMIT_EXCEEDED", ErrorKind::Unavailable),
            (429, "M_LIMIT_EXCEEDED", ErrorKind::RateLimited),
            (403, "M_FORBIDDEN", ErrorKind::Forbidden),
            (403, "M_USER_SUSPENDED", ErrorKind::Forbidden),
            (413, "M_TOO_LARGE", ErrorKind::InvalidPost),
            (400, "M_BAD_JSON", ErrorKind::InvalidPost),
            (500, "M_UNKNOWN", ErrorKind::ServerError),
        ] {
            assert_eq!(refused(status, code).kind, kind, "{code}");
        }
        assert_eq!(call_error(401, &json!({ "error": "Unauthorized" })).kind, ErrorKind::Intermediary);
    }

    #[test]
    fn retry_time_is_read_from_the_body_of_old_servers() {
        let before = Utc::now();
        let limited = call_error(429, &json!({ "errcode": "M_LIMIT_EXCEEDED", "retry_after_ms": 2000 }));
        assert!(limited.retry_at.is_some_and(|it| before + TimeDelta::seconds(2) <= it));
    }

    #[test]
    fn only_the_homeserver_ends_a_grant() {
        assert!(matches!(refresh_error(refused(401, "M_UNKNOWN_TOKEN")), RefreshError::Gone(_)));
        for error in [refused(401, "M_USER_LOCKED"), refused(500, "M_UNKNOWN"), call_error(401, &json!({}))] {
            assert!(matches!(refresh_error(error), RefreshError::Unreachable(_)));
        }
    }
}
