use chrono::TimeDelta;
use serde_json::Value;

use super::TITLE;
use crate::kit::{ErrorKind, ErrorRule, ErrorTable};

pub(super) const ERRORS: ErrorTable = ErrorTable {
    title: TITLE,
    code_at: &["/error/code"],
    message_at: &["/error/message"],
    message: Some(message),
    is_own: |it| it["error"]["code"].is_string(),
    is_error: |it| it["error"]["code"] != "ok",
    rules: &[
        ErrorRule::codes(&["scope_not_authorized", "scope_permission_missed"])
            .kind(ErrorKind::Unauthorized)
            .user_message("A permission is missing: connect again, and leave every permission on TikTok's page on."),
        ErrorRule::codes(&["rate_limit_exceeded"]).kind(ErrorKind::RateLimited).retry_after(TimeDelta::minutes(1)),
        // Limits of any 24 hours: TikTok does not say when they end.
        ErrorRule::codes(&["spam_risk_too_many_posts", "reached_active_user_cap"])
            .kind(ErrorKind::RateLimited)
            .retry_after(TimeDelta::hours(6)),
        ErrorRule::codes(&["spam_risk_too_many_pending_share"])
            .kind(ErrorKind::RateLimited)
            .retry_after(TimeDelta::hours(6))
            .user_message("too many posts wait in the inbox of TikTok's app: finish or discard them"),
        ErrorRule::codes(&["unaudited_client_can_only_post_to_private_accounts"])
            .kind(ErrorKind::AppMisconfigured)
            .user_message(
                "TikTok has not audited the app of this service, which can post only to private accounts. Make the \
                 account private in TikTok's app, or ask the operator to request the audit.",
            ),
        ErrorRule::codes(&["url_ownership_unverified"]).kind(ErrorKind::AppMisconfigured).user_message(
            "TikTok fetches photos only from verified domains. Ask the operator to verify the domain of this service.",
        ),
        ErrorRule::codes(&["invalid_publish_id"]).kind(ErrorKind::PreparationExpired),
        // TikTok sends some errors with the status 200, with which other codes mean a refusal.
        ErrorRule::codes(&["internal_error"]).kind(ErrorKind::ServerError),
    ],
    ..ErrorTable::STANDARD
};

/// For the publish call of photos: without its response, the `publish_id` is unknown.
pub(super) const PHOTO_ERRORS: ErrorTable = ErrorTable { can_look_up: false, ..ERRORS };

pub(super) const UPLOAD_EXPIRED: &str = "the upload has expired";

/// For the hosts of uploads, where only the statuses are documented. TikTok may also refuse a chunk that it already
/// has. No call sends a token, so 401 does not mean that it is invalid.
pub(super) const UPLOAD_ERRORS: ErrorTable = ErrorTable {
    title: TITLE,
    is_own_without_code: |_, _, body| !body.trim_ascii_start().starts_with(b"<"),
    rules: &[
        expired(400),
        expired(401),
        expired(403),
        expired(404),
        expired(409),
        expired(410),
        expired(416),
        ErrorRule::status(429).kind(ErrorKind::RateLimited).retry_after(TimeDelta::minutes(1)),
    ],
    ..ErrorTable::STANDARD
};

const fn expired(status: u16) -> ErrorRule {
    ErrorRule::status(status).kind(ErrorKind::PreparationExpired).user_message(UPLOAD_EXPIRED)
}

/// With the log id, for which TikTok's support asks.
fn message(response: &Value) -> Option<String> {
    let error = |name: &str| response["error"][name].as_str().filter(|it| !it.is_empty());
    let message = error("message").or_else(|| error("code"))?;
    Some(error("log_id").map_or_else(|| message.to_owned(), |log_id| format!("{message}; log id {log_id}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kit::Effect;

    /// Responses seen in documents or in issues of clients.
    #[test]
    fn error_tables_classify_known_responses() {
        let error = |code| format!(r#"{{"error":{{"code":"{code}","message":"No.","log_id":"20261128"}}}}"#);
        for (table, status, body, expected) in [
            (&ERRORS, 401, error("access_token_invalid"), ErrorKind::Unauthorized),
            (&ERRORS, 401, error("scope_not_authorized"), ErrorKind::Unauthorized),
            (&ERRORS, 429, error("rate_limit_exceeded"), ErrorKind::RateLimited),
            (&ERRORS, 200, error("spam_risk_too_many_posts"), ErrorKind::RateLimited),
            (&ERRORS, 403, error("spam_risk_too_many_pending_share"), ErrorKind::RateLimited),
            (&ERRORS, 403, error("reached_active_user_cap"), ErrorKind::RateLimited),
            (&ERRORS, 200, error("spam_risk_user_banned_from_posting"), ErrorKind::InvalidPost),
            (&ERRORS, 403, error("unaudited_client_can_only_post_to_private_accounts"), ErrorKind::AppMisconfigured),
            (&ERRORS, 403, error("url_ownership_unverified"), ErrorKind::AppMisconfigured),
            (&ERRORS, 403, error("privacy_level_option_mismatch"), ErrorKind::Forbidden),
            (&ERRORS, 403, error("app_version_check_failed"), ErrorKind::Forbidden),
            (&ERRORS, 400, error("invalid_params"), ErrorKind::InvalidPost),
            (&ERRORS, 400, error("invalid_publish_id"), ErrorKind::PreparationExpired),
            (&ERRORS, 500, error("internal_error"), ErrorKind::ServerError),
            (&ERRORS, 200, error("internal_error"), ErrorKind::ServerError),
            (&ERRORS, 403, "<html>Access denied</html>".to_owned(), ErrorKind::Intermediary),
            (&UPLOAD_ERRORS, 401, String::new(), ErrorKind::PreparationExpired),
            (&UPLOAD_ERRORS, 403, String::new(), ErrorKind::PreparationExpired),
            (&UPLOAD_ERRORS, 416, r#"{"message":"offset"}"#.to_owned(), ErrorKind::PreparationExpired),
            (&UPLOAD_ERRORS, 404, "<html>Not Found</html>".to_owned(), ErrorKind::Intermediary),
            (&UPLOAD_ERRORS, 502, String::new(), ErrorKind::ServerError),
        ] {
            let status = http::StatusCode::from_u16(status).unwrap();
            let now = domain::testing::noon();
            let error = table.classify(Effect::Public, status, &http::HeaderMap::new(), body.as_bytes(), now);
            assert_eq!(error.kind, expected, "{status} {body}");
            assert_eq!(error.message.contains("No.; log id 20261128"), body.contains("log_id"), "{}", error.message);
        }
        assert!(ERRORS.is_error_in_success(error("spam_risk_too_many_posts").as_bytes()));
        assert!(!ERRORS.is_error_in_success(br#"{"data":{},"error":{"code":"ok","message":""}}"#));
    }
}
