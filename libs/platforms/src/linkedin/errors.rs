//! The error tables. Sources: `shared/api-guide/concepts/error-handling`, `shares/posts-api`, and
//! reports of clients (the fact sheet, "Errors").

use chrono::{DateTime, Days, NaiveTime, TimeDelta, Utc};
use http::StatusCode;
use serde_json::Value;

use super::{PAGE_PREFIX, TITLE};
use crate::kit::{CallError, Effect, ErrorKind, ErrorRule, ErrorTable};
use crate::publish_request::PublishRequest;

/// How long after its due second a post is retried soon if the quota is used up. After that it
/// waits for the next quota: quotas are daily and reset at midnight UTC.
const SOON: TimeDelta = TimeDelta::seconds(15);

/// How long after its due second a post waits for a file that seems not to have arrived.
const MAX_WAIT: TimeDelta = TimeDelta::minutes(2);

/// How long LinkedIn processes a file, rounded down.
const PROCESSING: TimeDelta = TimeDelta::seconds(5);

const OUTDATED: &str = "LinkedIn no longer supports the API version of this service; ask the operator to update it";
const APP_MAY_NOT_POST: &str = "LinkedIn does not let this service's app create the post. If you post to a page, \
                                check your role there and connect the account again. Otherwise the operator has to \
                                check that the app has the product for it, and that its Community Management API is \
                                no longer in the development tier";
const NO_PERMISSION_TO_POST: &str = "the permission to post is missing: connect the account again and allow it on \
                                     LinkedIn's page. If LinkedIn's page does not offer it, ask the operator to check \
                                     that the app has the product \"Share on LinkedIn\"";
const NO_PERMISSION_TO_READ: &str = "LinkedIn does not let this service read the account, because a permission is \
                                     missing: connect the account again and allow everything that LinkedIn's page \
                                     asks for. If that does not help, ask the operator to check the products and \
                                     scopes of the app";
const DENIED_FOR_PAGE: &str = "LinkedIn does not permit this: ask an administrator of the page for a role that may \
                               post, or connect the account again";
const DENIED_FOR_MEMBER: &str = "LinkedIn does not permit this at the moment. If the error persists, connect the \
                                 account again";

const BASE: ErrorTable = ErrorTable {
    title: TITLE,
    code_at: &["/code", "/errorDetails/inputErrors/*/code", "/serviceErrorCode"],
    message_at: &["/message"],
    // LinkedIn repeats the status in the body.
    is_own: |body| body["status"].is_u64(),
    ..ErrorTable::STANDARD
};

/// For calls that are not about the posts of one account: a 403 means that the app or the grant
/// lacks a permission.
pub(super) static ERRORS: ErrorTable = ErrorTable { rules: &rules(NOT_READABLE, NOT_READABLE), ..BASE };

/// For pages, whose posts can be listed. A 403 means that the member has lost the role for the
/// page, while the token is still valid for the member and other pages.
pub(super) static PAGE_ERRORS: ErrorTable = ErrorTable { rules: &rules(NO_ROLE, NO_ROLE), ..BASE };

/// For members, whose posts cannot be listed. A 403 that names what is not permitted is about the
/// scopes of the token. Any other 403 may pass (gitroomhq/postiz-app repeats the call); LinkedIn
/// reports a lost token with 401.
static MEMBER_ERRORS: ErrorTable = ErrorTable {
    rules: &rules(
        denied(ErrorKind::Unauthorized, NO_PERMISSION_TO_POST),
        denied(ErrorKind::Unavailable, DENIED_FOR_MEMBER),
    ),
    can_look_up: false,
    ..BASE
};

/// For upload URLs: these statuses mean that the URL expired, whichever host sends them. The token
/// may still be valid.
pub(super) static UPLOAD_URL_ERRORS: ErrorTable = ErrorTable {
    is_own_without_code: |status, _, _| matches!(status.as_u16(), 401 | 403 | 404 | 410),
    rules: &[expired(401), expired(403), expired(404), expired(410), EXPIRED_UPLOAD_URL],
    ..BASE
};

pub(super) fn for_author(author: &str) -> &'static ErrorTable {
    if author.starts_with(PAGE_PREFIX) { &PAGE_ERRORS } else { &MEMBER_ERRORS }
}

const EXPIRED_UPLOAD_URL: ErrorRule = ErrorRule::codes(&["EXPIRED_UPLOAD_URL"]).kind(ErrorKind::PreparationExpired);

const fn expired(status: u16) -> ErrorRule {
    ErrorRule::status(status).kind(ErrorKind::PreparationExpired)
}

const NOT_READABLE: ErrorRule = denied(ErrorKind::Forbidden, NO_PERMISSION_TO_READ);
const NO_ROLE: ErrorRule = denied(ErrorKind::Forbidden, DENIED_FOR_PAGE);

const fn denied(kind: ErrorKind, message: &'static str) -> ErrorRule {
    ErrorRule::status(403).kind(kind).user_message(message)
}

/// `no_permission` is for a 403 that names what the token does not cover, `denied` for any other
/// 403.
const fn rules(no_permission: ErrorRule, denied: ErrorRule) -> [ErrorRule; 17] {
    use ErrorKind::{AppMisconfigured, Duplicate, InvalidPost, NotReady, RateLimited, Unavailable};
    let same_post = "LinkedIn does not accept the same post twice within a short time; change the post";
    [
        // "Organization permissions …" and "Organization Or Events permissions …", as author and as owner.
        ErrorRule::status(400)
            .message_contains(&["permissions must be used when using organization as"])
            .kind(ErrorKind::Unauthorized),
        // An author that does not match the token is our bug, and stays so.
        ErrorRule::status(403).message_contains(&["[/author]"]).kind(InvalidPost),
        ErrorRule::status(403)
            .message_contains(&["partnerapipostsexternal.create"])
            .kind(AppMisconfigured)
            .user_message(APP_MAY_NOT_POST),
        ErrorRule::status(409).kind(Unavailable),
        ErrorRule::status(426).kind(AppMisconfigured).user_message(OUTDATED),
        ErrorRule::codes(&["VERSION_MISSING"]).kind(AppMisconfigured).user_message(OUTDATED),
        EXPIRED_UPLOAD_URL,
        // The code, or the message if there is no code.
        ErrorRule::codes(&["MEDIA_ASSET_PROCESSING_FAILED"]).kind(InvalidPost),
        ErrorRule::status(400).message_contains(&["processing_failed"]).kind(InvalidPost),
        ErrorRule::codes(&[WAITING_UPLOAD, "MEDIA_ASSET_PROCESSING"]).kind(NotReady).retry_after(PROCESSING),
        ErrorRule::status(400)
            .message_contains(&["waiting_upload", "media_asset_processing"])
            .kind(NotReady)
            .retry_after(PROCESSING),
        ErrorRule::status(422).and_codes(&["DUPLICATE_POST"]).kind(Duplicate).user_message(same_post),
        ErrorRule::status(422).message_contains(&["duplicate of"]).kind(Duplicate).user_message(same_post),
        ErrorRule::status(429)
            .message_contains(&["day limit"])
            .kind(RateLimited)
            .user_message("LinkedIn's daily limit is reached; it resets at 00:00 UTC"),
        ErrorRule::status(429).kind(RateLimited).user_message("LinkedIn's rate limit is reached"),
        no_permission.message_contains(&["not enough permissions to access"]),
        denied,
    ]
}

const WAITING_UPLOAD: &str = "MEDIA_ASSET_WAITING_UPLOAD";

/// Adjusts errors that depend on how late the post is.
pub(super) fn timed(mut error: CallError, request: &PublishRequest<'_>) -> CallError {
    let message_contains =
        |part: &str| error.value("/message").and_then(Value::as_str).is_some_and(|it| it.contains(part));
    let late = request.now - request.publish_at;
    match error.kind {
        ErrorKind::RateLimited if error.retry_at.is_none() && SOON <= late && message_contains("DAY limit") => {
            error.retry_at = Some(midnight_after(request.now));
        }
        ErrorKind::NotReady
            if MAX_WAIT <= late && (error.has_code(&[WAITING_UPLOAD]) || message_contains("WAITING_UPLOAD")) =>
        {
            error.kind = ErrorKind::PreparationExpired;
        }
        _ => {}
    }
    error
}

/// For an uploaded file: one that LinkedIn does not know has to be uploaded again.
pub(super) fn for_file(mut error: CallError) -> CallError {
    if error.is_status(StatusCode::NOT_FOUND) {
        (error.kind, error.effect) = (ErrorKind::PreparationExpired, Effect::Private);
    }
    error
}

/// For a comment: a post that is not found is not replicated everywhere yet.
pub(super) fn for_comment(mut error: CallError) -> CallError {
    if error.is_status(StatusCode::NOT_FOUND) {
        error.kind = ErrorKind::Unavailable;
    }
    error
}

/// The URN of the existing post, if this one is refused as its duplicate.
pub(super) fn duplicate_of(error: &CallError) -> Option<&str> {
    let is_post = |it: &&str| {
        let id = it.strip_prefix("urn:li:share:").or_else(|| it.strip_prefix("urn:li:ugcPost:"));
        id.is_some_and(|it| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit()))
    };
    let message = error.value("/message").filter(|_| error.kind == ErrorKind::Duplicate)?.as_str()?;
    message.split(|it: char| it.is_whitespace() || matches!(it, ',' | '"' | '\'' | '.' | ')')).find(is_post)
}

fn midnight_after(now: DateTime<Utc>) -> DateTime<Utc> {
    (now.date_naive() + Days::new(1)).and_time(NaiveTime::MIN).and_utc()
}

#[cfg(test)]
mod tests {
    use domain::testing::noon;
    use http::HeaderMap;
    use serde_json::json;

    use super::*;

    fn error(author: &str, status: u16, body: &Value) -> CallError {
        let status = StatusCode::from_u16(status).unwrap();
        for_author(author).classify(Effect::Public, status, &HeaderMap::new(), body.to_string().as_bytes(), noon())
    }

    fn page_error(status: u16, code: &str, message: &str) -> CallError {
        error("urn:li:organization:1", status, &json!({"status": status, "code": code, "message": message}))
    }

    #[test]
    fn error_table_classifies_documented_responses() {
        use ErrorKind as K;
        for (status, code, message, kind) in [
            (401, "REVOKED_ACCESS_TOKEN", "", K::Unauthorized),
            (400, "X", "Organization permissions must be used when using organization as author", K::Unauthorized),
            (403, "ACCESS_DENIED", "Not enough permissions to access: posts.CREATE", K::Forbidden),
            (
                403,
                "ACCESS_DENIED",
                "Not enough permissions to access: partnerApiPostsExternal.CREATE",
                K::AppMisconfigured,
            ),
            (403, "ACCESS_DENIED", "Field Value validation failed in REQUEST_BODY: [/author]", K::InvalidPost),
            (426, "NONEXISTENT_VERSION", "", K::AppMisconfigured),
            (400, "VERSION_MISSING", "", K::AppMisconfigured),
            (400, "MEDIA_ASSET_WAITING_UPLOAD", "", K::NotReady),
            (400, "MEDIA_ASSET_PROCESSING", "", K::NotReady),
            (400, "MEDIA_ASSET_PROCESSING_FAILED", "", K::InvalidPost),
            (400, "", "MEDIA_ASSET_PROCESSING_FAILED for urn:li:image:1", K::InvalidPost),
            (400, "", "urn:li:image:1 is WAITING_UPLOAD", K::NotReady),
            (400, "EXPIRED_UPLOAD_URL", "", K::PreparationExpired),
            (400, "MISSING_FIELD", "", K::InvalidPost),
            (404, "NOT_FOUND", "", K::InvalidPost),
            (409, "CONFLICT", "", K::Unavailable),
            (429, "TOO_MANY_REQUESTS", "slow down", K::RateLimited),
            (503, "", "", K::ServerError),
        ] {
            assert_eq!(page_error(status, code, message).kind, kind, "{status} {code} {message}");
        }
        let denied = |message: &str| json!({"status": 403, "code": "ACCESS_DENIED", "message": message});
        for (message, kind) in [
            ("Accessing this resource is forbidden.", K::Unavailable),
            ("Not enough permissions to access: POST /posts", K::Unauthorized),
            ("Not enough permissions to access: posts.CREATE.20260801", K::Unauthorized),
            ("Not enough permissions to access: partnerApiPostsExternal.CREATE.20260801", K::AppMisconfigured),
        ] {
            assert_eq!(error("urn:li:person:1", 403, &denied(message)).kind, kind, "{message}");
        }
        for body in [json!({"message": "Forbidden"}), json!("<html></html>"), Value::Null] {
            assert_eq!(error("urn:li:person:1", 403, &body).kind, K::Intermediary, "{body}");
        }
    }

    #[test]
    fn denied_upload_url_has_expired() {
        let kind = |status: u16, body: &str| {
            let status = StatusCode::from_u16(status).unwrap();
            UPLOAD_URL_ERRORS.classify(Effect::Private, status, &HeaderMap::new(), body.as_bytes(), noon()).kind
        };
        for status in [401, 403, 404, 410] {
            assert_eq!(
                kind(status, "<Error><Code>AccessDenied</Code></Error>"),
                ErrorKind::PreparationExpired,
                "{status}"
            );
        }
        assert_eq!(kind(400, r#"{"status":400,"code":"EXPIRED_UPLOAD_URL"}"#), ErrorKind::PreparationExpired);
        assert_eq!(kind(400, "<html></html>"), ErrorKind::Intermediary);
    }

    #[test]
    fn duplicate_error_names_the_existing_post() {
        let details = json!({"inputErrors": [{"code": "DUPLICATE_POST"}]});
        let message = "Content is a duplicate of urn:li:share:7431329065766260736";
        let body = json!({"status": 422, "message": message, "errorDetails": details});
        let duplicate = error("urn:li:person:1", 422, &body);

        assert_eq!(duplicate_of(&duplicate), Some("urn:li:share:7431329065766260736"));
        for other in [
            page_error(422, "DUPLICATE_POST", "urn:li:share:x"),
            page_error(422, "", "no urn:li:share:1"),
            page_error(400, "", message),
        ] {
            assert_eq!(duplicate_of(&other), None, "{other:?}");
        }
    }

    #[test]
    fn daily_quota_resets_at_midnight_utc() {
        assert_eq!(midnight_after(noon()), noon() + TimeDelta::hours(12));
    }
}
