//! Error tables of the servers.
//!
//! Facts: errors are named in `error`; a name means the same whatever the call and its status.
//! Putting a record may fail with 500 although it was stored.

use chrono::{DateTime, TimeDelta, Utc};
use http::HeaderMap;
use http::header::WWW_AUTHENTICATE;
use serde_json::Value;

use crate::kit::{ErrorKind, ErrorRule, ErrorTable, Reset};

pub(super) const PDS: ErrorTable = ErrorTable {
    title: "the account's server",
    code_at: &["/error"],
    is_own: |body| name_of(body).is_some(),
    is_own_without_code: |_, headers, _| has_token_challenge(headers),
    resets: &[Reset::Custom(limit_ends_at)],
    rules: &[
        // Both codes refuse the proof, not the grant: the server did not accept the nonce that it
        // had just sent, or a clock is wrong. Nothing was executed.
        ErrorRule::codes(&["use_dpop_nonce", "invalid_dpop_proof"]).kind(ErrorKind::Unavailable),
        ErrorRule::codes(&[
            "invalid_token",
            "ExpiredToken",
            "InvalidToken",
            "AuthMissing",
            "AuthenticationRequired",
            "ScopeMissingError",
            "AccountTakedown",
            "AccountDeactivated",
            "AccountNotFound",
        ])
        .kind(ErrorKind::Unauthorized),
        // The server has removed the file: files that no record shows are kept for an hour or more,
        // not forever.
        ErrorRule::codes(&["BlobNotFound"]).kind(ErrorKind::PreparationExpired),
        // The call may still be running at another server.
        ErrorRule::codes(&["UpstreamTimeout"]).kind(ErrorKind::ServerError),
        // The server has responded, so it has stopped working on the call. What it did before is
        // unknown.
        ErrorRule::codes(&["UpstreamFailure"]).kind(ErrorKind::ServerError).ended(),
        ErrorRule::status(500).kind(ErrorKind::ServerError).ended(),
        ErrorRule::status(503).kind(ErrorKind::ServerError).ended(),
    ],
    ..ErrorTable::STANDARD
};

/// For calls to the video service. Its tokens are issued for one call, so a refused token says
/// nothing about the grant. A conflict names a job that cannot be read.
pub(super) const VIDEO: ErrorTable = ErrorTable {
    title: "the video service",
    is_own_without_code: |_, _, _| false,
    rules: &[TOO_MANY_VIDEOS, NO_TOKEN, NOT_ALLOWED, ErrorRule::status(409).kind(ErrorKind::Unavailable)],
    ..PDS
};

/// For calls about a job of the video service. If the service no longer knows the job, the file is
/// uploaded again.
pub(super) const VIDEO_JOB: ErrorTable = ErrorTable {
    rules: &[
        NO_TOKEN,
        NOT_ALLOWED,
        ErrorRule::status(400).kind(ErrorKind::PreparationExpired),
        ErrorRule::status(404).kind(ErrorKind::PreparationExpired),
    ],
    ..VIDEO
};

pub(super) const VIDEO_PARTS: ErrorTable = ErrorTable {
    rules: &[
        // The last two codes mean that the parts differ from those with which the upload began.
        ErrorRule::codes(&[
            "UploadNotFound",
            "UploadExpired",
            "UploadAborted",
            "InvalidPartNumber",
            "PartSizeMismatch",
        ])
        .kind(ErrorKind::PreparationExpired),
        ErrorRule::codes(&["UploadNotReady", "UploadAlreadyCompleted", "MissingParts"]).kind(ErrorKind::NotReady),
        TOO_MANY_VIDEOS,
        NO_TOKEN,
        NOT_ALLOWED,
    ],
    ..VIDEO
};

const TOO_MANY_VIDEOS: ErrorRule =
    ErrorRule::codes(&["DailyLimitExceeded", "rate_limit_exceeded", "TooManyOpenUploads", "ServiceOverloaded"])
        .kind(ErrorKind::RateLimited);

const NO_TOKEN: ErrorRule = ErrorRule::status(401).kind(ErrorKind::Unavailable);

const NOT_ALLOWED: ErrorRule = ErrorRule::status(403).kind(ErrorKind::Unavailable);

/// The name of an error, which XRPC and OAuth have in the same place. `None` if the response comes
/// from an intermediary, such as a proxy.
pub(super) fn name_of(body: &Value) -> Option<&str> {
    let is_name = |it: &&str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_');
    body["error"].as_str().filter(is_name)
}

/// Whether a response is about our token, and not from a proxy that requires its own password.
fn has_token_challenge(headers: &HeaderMap) -> bool {
    let challenge = headers.get(WWW_AUTHENTICATE).and_then(|it| it.to_str().ok()).unwrap_or_default();
    let scheme = challenge.split(' ').next().unwrap_or_default();
    ["DPoP", "Bearer"].iter().any(|it| it.eq_ignore_ascii_case(scheme))
}

/// `RateLimit-Reset` in Unix seconds, which older servers send without `Retry-After`. It applies
/// while the limit is used up.
pub(super) fn limit_ends_at(headers: &HeaderMap, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.parse::<i64>().ok();
    let is_used_up = number("ratelimit-remaining").is_none_or(|it| it == 0);
    let reset = number("ratelimit-reset").filter(|_| is_used_up).and_then(|it| DateTime::from_timestamp(it, 0));
    // Limits are per five minutes, hour and day.
    reset.filter(|it| *it <= now + TimeDelta::days(1))
}

#[cfg(test)]
mod tests {
    use domain::delivery::AttemptError;
    use domain::testing::noon;
    use http::{HeaderName, StatusCode};
    use serde_json::json;

    use super::*;
    use crate::kit::{CallError, Effect};

    const PAGE: &str = "<html><h1>Not here</h1></html>";

    fn call_error(errors: &ErrorTable, effect: Effect, status: u16, body: &str) -> CallError {
        errors.classify(effect, StatusCode::from_u16(status).unwrap(), &HeaderMap::new(), body.as_bytes(), noon())
    }

    fn named(errors: &ErrorTable, effect: Effect, status: u16, error: &str) -> AttemptError {
        call_error(errors, effect, status, &json!({"error": error, "message": "words"}).to_string()).into()
    }

    #[test]
    fn documented_errors_have_one_outcome_each() {
        let reason = || "words".to_owned();
        let lost = || AttemptError::Unauthorized { reason: reason() };
        let busy = || AttemptError::RetryLater { retry_at: None, reason: reason() };
        let unknown = |may_still_run| AttemptError::Unknown { may_still_run, retry_at: None, reason: reason() };
        let refused = || AttemptError::Refused { reason: reason() };
        let expired = || AttemptError::PreparationExpired { reason: reason() };
        for (status, error, publish, upload) in [
            (401, "invalid_token", lost(), lost()),
            (400, "ExpiredToken", lost(), lost()),
            (400, "InvalidToken", lost(), lost()),
            (403, "ScopeMissingError", lost(), lost()),
            (401, "AccountDeactivated", lost(), lost()),
            (403, "AccountNotFound", lost(), lost()),
            (401, "use_dpop_nonce", busy(), busy()),
            (401, "invalid_dpop_proof", busy(), busy()),
            (400, "BlobNotFound", expired(), expired()),
            (400, "InvalidRequest", refused(), refused()),
            (413, "PayloadTooLarge", refused(), refused()),
            (429, "RateLimitExceeded", busy(), busy()),
            (500, "InternalServerError", unknown(false), busy()),
            (503, "NotEnoughResources", unknown(false), busy()),
            (502, "UpstreamFailure", unknown(false), busy()),
            (504, "UpstreamTimeout", unknown(true), busy()),
        ] {
            assert_eq!(named(&PDS, Effect::Public, status, error), publish, "{status} {error}");
            assert_eq!(named(&PDS, Effect::Private, status, error), upload, "{status} {error}");
        }
    }

    #[test]
    fn page_of_an_intermediary_ends_neither_grant_nor_post() {
        for status in [400, 401, 403, 404, 405, 408, 413, 500, 502] {
            for body in [PAGE, r#"{"message":"Forbidden"}"#, r#"{"error":"Not a name"}"#] {
                let publish = call_error(&PDS, Effect::Public, status, body).into();
                assert!(matches!(publish, AttemptError::Unknown { .. }), "{status} {body}: {publish:?}");
                for errors in [&PDS, &VIDEO, &VIDEO_JOB, &VIDEO_PARTS] {
                    let upload = call_error(errors, Effect::Private, status, body).into();
                    assert!(matches!(upload, AttemptError::RetryLater { .. }), "{status} {body}: {upload:?}");
                }
            }
        }
        let challenged = HeaderMap::from_iter([(WWW_AUTHENTICATE, "DPoP error=\"invalid_token\"".parse().unwrap())]);
        let error = PDS.classify(Effect::Public, StatusCode::UNAUTHORIZED, &challenged, PAGE.as_bytes(), noon());
        assert_eq!(error.kind, ErrorKind::Unauthorized);
    }

    #[test]
    fn rate_limit_retries_at_its_reset() {
        let retry_at = |pairs: &[(&'static str, String)]| {
            let pairs = pairs.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()));
            let headers = pairs.collect();
            PDS.classify(Effect::Public, StatusCode::TOO_MANY_REQUESTS, &headers, b"", noon()).retry_at
        };
        let later = noon() + TimeDelta::seconds(90);
        let reset = ("ratelimit-reset", later.timestamp().to_string());

        assert_eq!(retry_at(std::slice::from_ref(&reset)), Some(later));
        assert_eq!(retry_at(&[reset.clone(), ("ratelimit-remaining", "0".to_owned())]), Some(later));
        assert_eq!(retry_at(&[reset, ("ratelimit-remaining", "7".to_owned())]), None);
        assert_eq!(retry_at(&[("retry-after", "90".to_owned())]), Some(later));
        let far = (noon() + TimeDelta::days(9)).timestamp().to_string();
        assert_eq!(retry_at(&[("ratelimit-reset", far)]), None);
        assert_eq!(retry_at(&[("ratelimit-reset", "soon".to_owned())]), None);
    }

    #[test]
    fn video_service_never_ends_a_connection() {
        for errors in [&VIDEO, &VIDEO_JOB, &VIDEO_PARTS] {
            for (status, error) in [(401, "invalid_token"), (403, "Any"), (429, "Any"), (500, "Any"), (503, "Any")] {
                let attempt_error = named(errors, Effect::Private, status, error);
                assert!(
                    matches!(attempt_error, AttemptError::RetryLater { .. }),
                    "{status} {error}: {attempt_error:?}"
                );
            }
        }
        for (errors, status, error, kind) in [
            (&VIDEO, 400, "Any", ErrorKind::InvalidPost),
            (&VIDEO, 409, "Any", ErrorKind::Unavailable),
            (&VIDEO, 400, "rate_limit_exceeded", ErrorKind::RateLimited),
            (&VIDEO_JOB, 400, "JobNotFound", ErrorKind::PreparationExpired),
            (&VIDEO_JOB, 404, "JobNotFound", ErrorKind::PreparationExpired),
            (&VIDEO_PARTS, 400, "UploadExpired", ErrorKind::PreparationExpired),
            (&VIDEO_PARTS, 400, "MissingParts", ErrorKind::NotReady),
            (&VIDEO_PARTS, 400, "UnsupportedContentType", ErrorKind::InvalidPost),
        ] {
            let body = json!({"error": error}).to_string();
            assert_eq!(call_error(errors, Effect::Private, status, &body).kind, kind, "{status} {error}");
        }
    }
}
