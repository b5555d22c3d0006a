//! The error table. Nearly all of Slack's error codes come with 200.

use serde_json::Value;

use super::TITLE;
use crate::kit::{CallError, ErrorKind, ErrorRule, ErrorTable};

/// Codes of temporary errors. If the call changes something, "it's possible some aspect of the
/// operation succeeded".
const INTERNAL: &[&str] =
    &["internal_error", "fatal_error", "service_unavailable", "request_timeout", "file_update_failed", "unknown_error"];

pub(super) const PASSING: &[&str] = &[
    "internal_error",
    "fatal_error",
    "service_unavailable",
    "request_timeout",
    "ratelimited",
    "org_login_required",
    "team_added_to_org",
];

/// The file was deleted, or was not shared yet.
const NO_SUCH_FILE: &[&str] = &["file_not_found", "file_deleted"];

const MOVING: &str = "the workspace is being moved into an organization";

pub(super) const ERRORS: ErrorTable = ErrorTable {
    title: TITLE,
    code_at: &["/error"],
    message_at: &[],
    message: Some(code),
    is_error: |it| it["ok"] == false,
    rules: &[
        for_codes(INTERNAL).kind(ErrorKind::ServerError).user_message("Slack had an internal error"),
        for_codes(&["ratelimited", "rate_limited"])
            .kind(ErrorKind::RateLimited)
            .user_message("Slack's rate limit is reached"),
        for_codes(&["message_limit_exceeded"])
            .kind(ErrorKind::RateLimited)
            .user_message("the workspace has reached its message limit"),
        for_codes(&["org_login_required", "team_added_to_org"]).kind(ErrorKind::Unavailable).user_message(MOVING),
        for_codes(&["missing_scope"])
            .kind(ErrorKind::Unauthorized)
            .user_message("the app is missing a permission: connect the workspace again and allow everything"),
        for_codes(&["account_inactive"])
            .kind(ErrorKind::Unauthorized)
            .user_message("the app was removed from the workspace, or its bot was: connect the workspace again"),
        for_codes(&["token_revoked"])
            .kind(ErrorKind::Unauthorized)
            .user_message("the app was removed from the workspace: connect the workspace again"),
        for_codes(&[
            "invalid_auth",
            "not_authed",
            "token_expired",
            "team_access_not_granted",
            "not_allowed_token_type",
        ])
        .kind(ErrorKind::Unauthorized)
        .user_message("Slack does not accept the app's token"),
        for_codes(NO_SUCH_FILE)
            .kind(ErrorKind::PreparationExpired)
            .user_message("Slack no longer has the uploaded files"),
        for_codes(&["not_in_channel"])
            .user_message("the app is not in the channel: invite it with /invite, then post again"),
        for_codes(&["channel_not_found"]).user_message(
            "the channel does not exist, or it is private and the app is not in it: invite the app with /invite, or \
             choose another channel",
        ),
        for_codes(&["no_permission"])
            .user_message("the app may not post in the channel: invite it with /invite, then post again"),
        for_codes(&["is_archived"]).user_message("the channel is archived: choose another channel"),
        for_codes(&["msg_too_long"]).user_message("the text is too long: shorten it"),
        for_codes(&["restricted_action"])
            .user_message("the workspace does not let the app post: ask an administrator to allow it"),
        for_codes(&["restricted_action_read_only_channel"]).user_message(
            "the channel is read-only: ask an administrator to let the app post there, or choose another channel",
        ),
        for_codes(&["restricted_action_thread_only_channel"])
            .user_message("the channel accepts replies only: choose another channel"),
        for_codes(&["invalid_thread_ts", "thread_not_found"])
            .user_message("the first message of the thread is not in the channel any more"),
        for_codes(&["cannot_reply_to_message"]).user_message("the first message of the thread accepts no replies"),
        for_codes(&["restricted_action_thread_locked"]).user_message("an administrator has locked the thread"),
        for_codes(&["restricted_action_non_threadable_channel"])
            .user_message("the channel accepts no replies: choose another channel, or post without a thread"),
        for_codes(&["posting_to_channel_denied"])
            .user_message("the app may not post in the channel: ask an administrator to allow it"),
        for_codes(&["ekm_access_denied"]).user_message("the workspace's administrators have suspended posting"),
        for_codes(&["file_type_not_allowed"]).user_message("the workspace does not accept files of this type"),
        for_codes(&["file_uploads_disabled"]).user_message("the workspace accepts no files"),
        for_codes(&["file_uploads_except_images_disabled"])
            .user_message("the workspace accepts no files except images"),
        for_codes(&["file_upload_size_restricted"]).user_message("the file is larger than the workspace accepts"),
        for_codes(&["storage_limit_reached"])
            .user_message("the workspace's storage is full: delete files there, or upgrade its Slack plan"),
        for_codes(&["alt_txt_too_large"]).user_message("the alt text has more than 1,000 characters"),
        for_codes(&[]).user_message("Slack gave no reason"),
    ],
    ..ErrorTable::STANDARD
};

/// Slack's own errors have 200. A code in the page of an outage, which has 5xx, is not trusted.
const fn for_codes(codes: &'static [&'static str]) -> ErrorRule {
    ErrorRule::status(200).and_codes(codes)
}

/// The error code, if it is one: other text is for developers, and may repeat the request.
fn code(body: &Value) -> Option<String> {
    let is_code = |it: &&str| it.len() <= 64 && it.bytes().all(|it| it.is_ascii_lowercase() || it == b'_');
    let code = body["error"].as_str()?;
    Some(Some(code).filter(is_code).unwrap_or("an unknown error").to_owned())
}

pub(super) fn is_missing_file(error: &CallError) -> bool {
    error.has_code(NO_SUCH_FILE)
}

#[cfg(test)]
mod tests {
    use domain::delivery::AttemptError;
    use domain::testing::noon;
    use http::{HeaderMap, StatusCode};
    use serde_json::json;

    use super::*;
    use crate::kit::Effect;

    fn attempt_error(effect: Effect, status: u16, code: &str) -> AttemptError {
        let body = json!({"ok": false, "error": code}).to_string();
        let status = StatusCode::from_u16(status).unwrap();
        ERRORS.classify(effect, status, &HeaderMap::new(), body.as_bytes(), noon()).into()
    }

    #[test]
    fn error_table_classifies_documented_codes() {
        for (codes, outcome) in [
            (INTERNAL, "Unknown { may_still_run: true"),
            (&["ratelimited", "message_limit_exceeded", "org_login_required", "team_added_to_org"], "RetryLater"),
            (&["invalid_auth", "token_revoked", "account_inactive", "missing_scope"], "Unauthorized"),
            (NO_SUCH_FILE, "PreparationExpired"),
            (&["not_in_channel", "is_archived", "msg_too_long", "restricted_action", "invalid_blocks"], "Refused"),
        ] {
            for code in codes {
                let debug_text = format!("{:?}", attempt_error(Effect::Public, 200, code));
                assert!(debug_text.starts_with(outcome), "{code}: {debug_text}");
            }
        }
        for code in INTERNAL {
            assert!(matches!(attempt_error(Effect::Private, 200, code), AttemptError::RetryLater { .. }), "{code}");
        }
        for code in ["service_unavailable", "invalid_auth"] {
            let outage = attempt_error(Effect::Public, 503, code);
            assert!(matches!(outage, AttemptError::Unknown { may_still_run: true, .. }), "{code}: {outage:?}");
        }
    }

    #[test]
    fn user_message_says_what_to_do() {
        let message = |code: &str| attempt_error(Effect::Public, 200, code).into_reason();
        assert!(message("not_in_channel").contains("invite it with /invite"));
        assert_eq!(message("invalid_blocks"), "Slack gave no reason (invalid_blocks)");
        assert_eq!(message("xoxb-secret <b>"), "Slack gave no reason (an unknown error)");
    }
}
