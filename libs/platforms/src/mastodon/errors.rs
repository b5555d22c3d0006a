use http::header::WWW_AUTHENTICATE;
use http::{HeaderMap, StatusCode};

use super::rate_limit;
use super::software::Software;
use crate::kit::{CallError, ErrorKind, ErrorRule, ErrorTable, Reset};

pub(super) const WHO: &str = "the server";

/// Most messages are in the language of the account, so the status decides. The texts in these
/// rules are constants in the source of Mastodon, `GoToSocial` and Pleroma, and are not translated.
pub(super) const ERRORS: ErrorTable = ErrorTable {
    title: WHO,
    code_at: &["/error"],
    message_at: &["/error_description", "/error", "/message"],
    is_own_without_code: is_bare_refusal,
    resets: &[Reset::Custom(rate_limit::ends_at)],
    rules: &[
        ErrorRule::status(403)
            .message_contains(&["scope", "permission", "login", "suspended", "disabled"])
            .kind(ErrorKind::Unauthorized),
        // Both come from the server itself, which has then stopped working on the request.
        ErrorRule::status(500).kind(ErrorKind::ServerError).ended(),
        ErrorRule::status(503).kind(ErrorKind::ServerError).ended(),
    ],
    ..ErrorTable::STANDARD
};

/// For a publish call that cannot be looked up.
pub(super) const WITHOUT_LOOK_UP: ErrorTable = ErrorTable { can_look_up: false, ..ERRORS };

/// snac refuses tokens and parameters without a body. Proxies and firewalls send pages, or a
/// challenge for a password of their own.
fn is_bare_refusal(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> bool {
    let is_snac_status = match status {
        StatusCode::UNAUTHORIZED => !headers.contains_key(WWW_AUTHENTICATE),
        it => it == StatusCode::UNPROCESSABLE_ENTITY,
    };
    is_snac_status && body.is_empty()
}

/// Whether the server itself refused the content of the request, and would refuse it again.
pub(super) fn is_final(error: &CallError) -> bool {
    matches!(error.kind, ErrorKind::InvalidPost | ErrorKind::Forbidden)
}

/// Whether the server has no such call. Its response may be a page, also on Mastodon itself.
pub(super) fn is_unknown_endpoint(error: &CallError) -> bool {
    matches!(error.status, Some(StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED))
}

/// Whether the same call may succeed a little later. A success in an unexpected form does not
/// change with time.
pub(super) fn is_temporary(error: &CallError) -> bool {
    match error.kind {
        ErrorKind::Intermediary => !is_unknown_endpoint(error),
        ErrorKind::NoResponse => error.status.is_none(),
        ErrorKind::NotSent | ErrorKind::RateLimited | ErrorKind::ServerError => true,
        _ => false,
    }
}

/// Whether the grant is valid but does not cover this call.
pub(super) fn is_missing_scope(error: &CallError) -> bool {
    let message = error.message.to_lowercase();
    let message_contains = |phrase: &&str| message.contains(phrase);
    error.is_status(StatusCode::FORBIDDEN) && ["scope", "insufficient permissions"].iter().any(message_contains)
}

/// Whether the server failed to process a file, which may succeed the second time. It reports this
/// with 500 during the upload, and with 422 if it processes the file later.
pub(super) fn failed_to_process_file(error: &CallError) -> bool {
    let statuses = [StatusCode::INTERNAL_SERVER_ERROR, StatusCode::UNPROCESSABLE_ENTITY];
    statuses.iter().any(|it| error.is_status(*it)) && error.message.contains("processing thumbnail")
}

/// Whether a refused token call may mean that the server no longer knows our app: the response does
/// not name the code as the cause.
pub(super) fn may_be_unknown_app(error: &CallError) -> bool {
    let statuses = [StatusCode::UNAUTHORIZED, StatusCode::BAD_REQUEST];
    statuses.iter().any(|it| error.is_status(*it)) && !error.has_code(&["invalid_grant"])
}

/// Whether a refused refresh means that the grant is gone. If the server has removed our app, all
/// its grants have ended.
pub(super) fn ends_grant(error: &CallError, software: Software) -> bool {
    error.has_code(&["invalid_grant", "invalid_client"])
        // Laravel Passport (Pixelfed), whose `league/oauth2-server` returned this for a refresh
        // token before its version 9.
        || (error.is_status(StatusCode::UNAUTHORIZED) && error.has_code(&["invalid_request"]))
        || (software.hides_why_tokens_fail()
            && error.is_status(StatusCode::BAD_REQUEST)
            && error.has_code(&["Invalid credentials"]))
}

#[cfg(test)]
mod tests {
    use domain::delivery::AttemptError;
    use domain::testing::noon;
    use serde_json::json;

    use super::*;
    use crate::kit::Effect;

    const PAGE: &str = "<!DOCTYPE html><html><body>Access denied</body></html>";

    fn call_error(effect: Effect, status: u16, body: &str) -> CallError {
        let status = StatusCode::from_u16(status).unwrap();
        ERRORS.classify(effect, status, &HeaderMap::new(), body.as_bytes(), noon())
    }

    fn error(message: &str) -> String {
        json!({"error": message}).to_string()
    }

    fn outcome(attempt_error: &AttemptError) -> &'static str {
        match attempt_error {
            AttemptError::Refused { .. } => "refused",
            AttemptError::RetryLater { .. } => "retry",
            AttemptError::Unauthorized { .. } => "unauthorized",
            AttemptError::PreparationExpired { .. } => "expired",
            AttemptError::Duplicate { .. } => "duplicate",
            AttemptError::Unknown { may_still_run: true, .. } => "unknown, may run",
            AttemptError::Unknown { may_still_run: false, .. } => "unknown, ended",
            AttemptError::Accepted { .. } => "accepted",
        }
    }

    #[test]
    fn documented_responses_have_one_outcome_each() {
        for (status, message, publish, upload) in [
            (400, "Error occurred while parsing request parameters", "refused", "refused"),
            (401, "The access token was revoked", "unauthorized", "unauthorized"),
            (401, "アクセストークンは取り消されています", "unauthorized", "unauthorized"),
            (403, "This action is outside the authorized scopes", "unauthorized", "unauthorized"),
            (403, "Your login is currently disabled", "unauthorized", "unauthorized"),
            (403, "Insufficient permissions: write:statuses.", "unauthorized", "unauthorized"),
            (403, "This action is not allowed", "refused", "refused"),
            (404, "Record not found", "refused", "refused"),
            (422, "Validation failed: Text character limit of 500 exceeded", "refused", "refused"),
            (422, "Gültigkeitsprüfung ist fehlgeschlagen: Text zu lang", "refused", "refused"),
            (429, "Too many requests", "retry", "retry"),
            (500, "Internal Server Error", "unknown, ended", "retry"),
            (503, "There was a temporary problem serving your request, please try again", "unknown, ended", "retry"),
        ] {
            let outcomes =
                [Effect::Public, Effect::Private].map(|it| outcome(&call_error(it, status, &error(message)).into()));
            assert_eq!(outcomes, [publish, upload], "{status} {message}");
        }
    }

    #[test]
    fn page_of_an_intermediary_ends_neither_grant_nor_post() {
        for status in [400, 401, 403, 404, 408, 413, 422, 500, 502, 503, 504, 524] {
            for body in [PAGE, "Forbidden", r#"{"blocked":true}"#] {
                let publish = call_error(Effect::Public, status, body);
                assert_eq!(outcome(&publish.into()), "unknown, may run", "{status} {body}");
                let upload = call_error(Effect::Private, status, body);
                assert!(!ends_grant(&upload, Software::Pleroma) && !may_be_unknown_app(&upload), "{status} {body}");
                assert_eq!(outcome(&upload.into()), "retry", "{status} {body}");
            }
        }
        let status = StatusCode::FORBIDDEN;
        let publish = WITHOUT_LOOK_UP.classify(Effect::Public, status, &HeaderMap::new(), PAGE.as_bytes(), noon());
        assert_eq!(outcome(&publish.into()), "retry");
    }

    #[test]
    fn refusal_without_a_body_counts_unless_a_proxy_sends_it() {
        assert_eq!(call_error(Effect::Public, 401, "").kind, ErrorKind::Unauthorized);
        assert_eq!(call_error(Effect::Public, 422, "").kind, ErrorKind::InvalidPost);
        for status in [400, 403, 404, 413] {
            assert_eq!(call_error(Effect::Public, status, "").kind, ErrorKind::Intermediary, "{status}");
        }
        let challenged = HeaderMap::from_iter([(WWW_AUTHENTICATE, "Basic realm=\"staging\"".parse().unwrap())]);
        let kind = ERRORS.classify(Effect::Public, StatusCode::UNAUTHORIZED, &challenged, b"", noon()).kind;
        assert_eq!(kind, ErrorKind::Intermediary);
    }

    #[test]
    fn unknown_endpoint_is_detected_by_status() {
        for body in ["", PAGE, &error("Record not found")] {
            let missing = call_error(Effect::Read, 404, body);
            assert!(is_unknown_endpoint(&missing) && !is_temporary(&missing), "{body}");
        }
        assert!(
            is_temporary(&call_error(Effect::Read, 403, PAGE))
                && !is_unknown_endpoint(&call_error(Effect::Read, 403, PAGE))
        );
    }

    #[test]
    fn only_its_own_server_ends_a_grant() {
        for (status, code, software, ends) in [
            (400, "invalid_grant", Software::Mastodon, true),
            (401, "invalid_client", Software::Mastodon, true),
            (401, "invalid_request", Software::Pixelfed, true),
            (400, "invalid_request", Software::Pixelfed, false),
            (400, "Invalid credentials", Software::Pleroma, true),
            (400, "Invalid credentials", Software::Mastodon, false),
            (401, "temporarily_unavailable", Software::Mastodon, false),
        ] {
            assert_eq!(
                ends_grant(&call_error(Effect::Private, status, &error(code)), software),
                ends,
                "{status} {code}"
            );
        }
    }

    #[test]
    fn only_scope_errors_are_missing_scopes() {
        for (status, message, is_beyond) in [
            (403, "This action is outside the authorized scopes", true),
            (403, "Insufficient permissions: read:statuses.", true),
            (403, "Your login is currently disabled", false),
            (403, "This action is not allowed", false),
            (401, "This action is outside the authorized scopes", false),
        ] {
            let error = call_error(Effect::Read, status, &error(message));
            assert_eq!(is_missing_scope(&error), is_beyond, "{status} {message}");
        }
    }
}
