//! The error tables.
//!
//! X's errors are problems (RFC 9457), whose type ends with a name, or lists of errors with a
//! number. If a problem has no type, only X's message distinguishes it. Source: fact sheet,
//! "Errors".

use ErrorKind as K;

use chrono::TimeDelta;
use http::StatusCode;

use super::TITLE;
use crate::kit::{CallError, ErrorKind, ErrorRule, ErrorTable, Reset};
use crate::publish_request::PublishRequest;

pub(super) const ERRORS: ErrorTable = ErrorTable { rules: &RULES, ..FORMAT };

pub(super) const OWN_APP_ERRORS: ErrorTable = ErrorTable { rules: &OWN_APP_RULES, ..FORMAT };

const RULES: [ErrorRule; 11] =
    rules(K::AppMisconfigured, "X does not accept calls from this service at the moment; the operator is notified");

/// The operator can correct none of these, so they are not logged as errors.
const OWN_APP_RULES: [ErrorRule; 11] =
    rules(K::Unavailable, "X does not accept calls from your app; check its credits and settings at console.x.com");

const FORMAT: ErrorTable = ErrorTable {
    title: TITLE,
    code_at: &["/type", "/errors/*/code"],
    message_at: &["/errors/0/message", "/errors/0/detail", "/detail", "/title"],
    // Cloudflare, in front of X, sends problems, too.
    is_own: |it| it["type"].as_str().is_none_or(|it| it == "about:blank" || it.contains("/2/problems/")),
    // The daily limit first, if that is the exhausted one.
    resets: &[
        Reset::UnixWhenUsedUp { remaining: "x-user-limit-24hour-remaining", reset: "x-user-limit-24hour-reset" },
        Reset::UnixWhenUsedUp { remaining: "x-app-limit-24hour-remaining", reset: "x-app-limit-24hour-reset" },
        Reset::UnixWhenUsedUp { remaining: "x-rate-limit-remaining", reset: "x-rate-limit-reset" },
    ],
    ..ErrorTable::STANDARD
};

/// `app` is the kind of an error with which X rejects the app.
const fn rules(app: ErrorKind, app_message: &'static str) -> [ErrorRule; 11] {
    [
        // The credits of the app are used up.
        ErrorRule::status(402).kind(app).user_message(app_message),
        ErrorRule::status(403)
            .and_codes(&["client-forbidden", "client-not-enrolled"])
            .kind(app)
            .user_message(app_message),
        ErrorRule::status(403).and_codes(&[UNSUPPORTED_AUTHENTICATION]).kind(app).user_message(UNSUPPORTED),
        ErrorRule::status(400).message_contains(&["media ids are invalid"]).kind(K::PreparationExpired),
        ErrorRule::status(403).message_contains(&["duplicate content"]).kind(K::Duplicate).user_message(DUPLICATE),
        ErrorRule::status(403).and_codes(&["duplicate-rules"]).kind(K::Duplicate).user_message(DUPLICATE),
        ErrorRule::status(403).and_codes(&["user-suspended"]).kind(K::Unauthorized),
        // Not "locked" alone: "blocked" contains it, and is about the post.
        ErrorRule::status(403)
            .message_contains(&["is temporarily locked", "account is suspended"])
            .kind(K::Unauthorized),
        ErrorRule::status(403)
            .message_contains(&["reply to this conversation is not allowed", "only reply to or quote posts"])
            .kind(K::Forbidden)
            .user_message(NO_REPLIES),
        // Request limits of X's edge. They say nothing about the file.
        ErrorRule::status(413).kind(K::Unavailable),
        ErrorRule::status(431).kind(K::Unavailable),
    ]
}

/// A token of the wrong kind or without the scope of the call, an app whose plan lacks the call, or
/// a temporary error of X.
const UNSUPPORTED_AUTHENTICATION: &str = "unsupported-authentication";

const UNSUPPORTED: &str = "X does not accept this connection for the call: connect the account again and allow \
                           everything, including uploads (media.write). If that does not help, the operator of the \
                           app has to check its plan and user authentication settings at console.x.com";

/// How long X may return this until the user has to connect again.
const UNSUPPORTED_TIMEOUT: TimeDelta = TimeDelta::hours(1);

const NO_REPLIES: &str = "X does not permit this reply: apps without an enterprise contract may reply only to the \
                          account's own posts and to authors who mention or quote the account";

const INVISIBLE_PARENT: &str = "deleted or not visible to you";

/// How long X may refuse a reply because it does not show the new parent yet. Reports of clients
/// name a few seconds.
const INVISIBLE_PARENT_TIMEOUT: TimeDelta = TimeDelta::minutes(2);

/// Adjusts errors that depend on how late the post is.
pub(super) fn timed(mut error: CallError, request: &PublishRequest<'_>) -> CallError {
    if request.publish_at + UNSUPPORTED_TIMEOUT < request.now && error.has_code(&[UNSUPPORTED_AUTHENTICATION]) {
        error.kind = K::Unauthorized;
    }
    let is_new = request.reply_to.is_some() && request.now < request.publish_at + INVISIBLE_PARENT_TIMEOUT;
    if is_new && error.is_status(StatusCode::FORBIDDEN) && error.message.contains(INVISIBLE_PARENT) {
        error.kind = K::Unavailable;
    }
    error
}

const DUPLICATE: &str = "X does not accept the same text twice within a short time; change the text";

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Utc};
    use domain::testing::noon;
    use http::HeaderMap;

    use super::*;
    use crate::kit::Effect;

    fn classify(table: &ErrorTable, status: u16, headers: &HeaderMap, body: &str) -> CallError {
        let status = StatusCode::from_u16(status).unwrap();
        table.classify(Effect::Public, status, headers, body.as_bytes(), noon())
    }

    #[test]
    fn error_table_classifies_documented_responses() {
        let problem = |name: &str| format!(r#"{{"type":"https://api.twitter.com/2/problems/{name}","title":"x"}}"#);
        let detail = |text: &str| format!(r#"{{"title":"Forbidden","type":"about:blank","detail":"{text}"}}"#);
        for (status, body, expected) in [
            (401, detail("Unauthorized"), K::Unauthorized),
            (402, r#"{"title":"CreditsDepleted"}"#.to_owned(), K::AppMisconfigured),
            (403, problem("client-not-enrolled"), K::AppMisconfigured),
            (403, problem("client-forbidden"), K::AppMisconfigured),
            (403, problem(UNSUPPORTED_AUTHENTICATION), K::AppMisconfigured),
            (403, detail("You are not allowed to create a Tweet with duplicate content."), K::Duplicate),
            (403, problem("duplicate-rules"), K::Duplicate),
            (403, detail("Your account is suspended and is not permitted to access this feature."), K::Unauthorized),
            (403, detail("This account is temporarily locked."), K::Unauthorized),
            (403, problem("user-suspended"), K::Unauthorized),
            (403, detail("You have been blocked by the author."), K::Forbidden),
            (403, detail("This community is locked."), K::Forbidden),
            (403, detail("This user is not allowed to post a video longer than 2 minutes"), K::Forbidden),
            (
                403,
                detail("Reply to this conversation is not allowed because you have not been mentioned."),
                K::Forbidden,
            ),
            (403, detail("You attempted to reply to a Tweet that is deleted or not visible to you."), K::Forbidden),
            (400, problem("invalid-request"), K::InvalidPost),
            (400, detail("Your media IDs are invalid."), K::PreparationExpired),
            (413, detail("too large"), K::Unavailable),
            (431, detail("too large"), K::Unavailable),
            (404, detail("Not Found"), K::InvalidPost),
            (404, "nothing here".to_owned(), K::Intermediary),
            (413, String::new(), K::Intermediary),
            (
                403,
                r#"{"type":"https://developers.cloudflare.com/1020/","title":"Access denied"}"#.to_owned(),
                K::Intermediary,
            ),
            (429, r#"{"errors":[{"code":88,"message":"Rate limit exceeded"}]}"#.to_owned(), K::RateLimited),
            (500, "{}".to_owned(), K::ServerError),
        ] {
            assert_eq!(classify(&ERRORS, status, &HeaderMap::new(), &body).kind, expected, "{status} {body}");
        }
        let of_own_app = classify(&OWN_APP_ERRORS, 402, &HeaderMap::new(), r#"{"title":"CreditsDepleted"}"#);
        assert_eq!(of_own_app.kind, K::Unavailable);
    }

    #[test]
    fn rate_limit_has_its_reset_time() {
        let retry_at = |pairs: &[(&'static str, &str)]| {
            let headers = pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
            classify(&ERRORS, 429, &headers, "{}").retry_at
        };
        let at = |seconds| -> Option<DateTime<Utc>> { DateTime::from_timestamp(seconds, 0) };
        let short = [("x-rate-limit-remaining", "0"), ("x-rate-limit-reset", "1800000000")];
        assert_eq!(retry_at(&short), at(1_800_000_000));
        let day = [("x-user-limit-24hour-remaining", "0"), ("x-user-limit-24hour-reset", "1800050000")];
        assert_eq!(retry_at(&[&short[..], &day].concat()), at(1_800_050_000));
        assert_eq!(retry_at(&[("x-rate-limit-remaining", "3"), short[1]]), None);
    }
}
