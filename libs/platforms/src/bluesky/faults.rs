//! What it means when a server does not do what it was asked.
//!
//! Facts: errors are named in `error`; a name means the same whatever the call
//! and its status. Putting a record may fail with 500 although it was stored.

use chrono::{DateTime, Utc};
use domain::delivery::Setback;
use http::StatusCode;

use super::reply::Reply;

/// An answer of the account's server that is no success.
pub(super) fn setback(reply: &Reply, now: DateTime<Utc>) -> Setback {
    let reason = reply.words();
    match reply.error().as_deref() {
        // Both refuse the proof and not the grant: the server did not accept the
        // nonce that it had just given, or a clock is wrong. Nothing was done.
        Some("use_dpop_nonce" | "invalid_dpop_proof") => return Setback::Busy { retry_at: None, reason },
        Some(
            "invalid_token"
            | "ExpiredToken"
            | "InvalidToken"
            | "AuthMissing"
            | "AuthenticationRequired"
            | "ScopeMissingError"
            | "AccountTakedown"
            | "AccountDeactivated"
            | "AccountNotFound",
        ) => return Setback::Disconnected { reason },
        // The server has removed the file: files that no record shows are kept for
        // an hour or more, not for ever.
        Some("BlobNotFound") => return Setback::Stale { reason },
        Some("UpstreamFailure") => return Setback::Unknown { may_still_run: false, reason },
        Some("UpstreamTimeout") => return Setback::Unknown { may_still_run: true, reason },
        _ => {}
    }
    match reply.status {
        StatusCode::UNAUTHORIZED if reply.is_of_the_server() => Setback::Disconnected { reason },
        StatusCode::TOO_MANY_REQUESTS => Setback::Busy { retry_at: reply.retry_at(now), reason },
        StatusCode::REQUEST_TIMEOUT | StatusCode::GATEWAY_TIMEOUT => Setback::Unknown { may_still_run: true, reason },
        StatusCode::PAYLOAD_TOO_LARGE => Setback::Refused { reason },
        it if it.is_client_error() && reply.error().is_some() => Setback::Refused { reason },
        // Not in the form of the server: something in front of it has refused the
        // request, which never reached it.
        it if it.is_client_error() => Setback::Busy { retry_at: reply.retry_at(now), reason },
        // It has answered, so it has stopped working on the request. What it had
        // done before the error is not known.
        _ => Setback::Unknown { may_still_run: false, reason },
    }
}

/// An answer of the video service that is no success. Its token was made for this
/// one call, so that a refusal of it says nothing of the grant.
pub(super) fn of_video(reply: &Reply, now: DateTime<Utc>) -> Setback {
    let reason = reply.words();
    if let Some("DailyLimitExceeded" | "rate_limit_exceeded" | "ServiceOverloaded") = reply.error().as_deref() {
        return Setback::Busy { retry_at: reply.retry_at(now), reason };
    }
    match reply.status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS => {
            Setback::Busy { retry_at: reply.retry_at(now), reason }
        }
        StatusCode::PAYLOAD_TOO_LARGE => Setback::Refused { reason },
        // The conflict names no job that could be read, or the answer comes from
        // something in front of the service.
        it if it == StatusCode::CONFLICT || reply.error().is_none() => Setback::Busy { retry_at: None, reason },
        it if it.is_client_error() => Setback::Refused { reason },
        _ => Setback::Busy { retry_at: None, reason },
    }
}

/// An answer that says success, in a form that cannot be read.
pub(super) fn unreadable() -> Setback {
    Setback::Unknown { may_still_run: false, reason: "it answered in another form".to_owned() }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use domain::testing::noon;
    use http::{HeaderMap, HeaderName};
    use serde_json::json;

    use super::*;

    fn reply(status: u16, error: &str) -> Reply {
        let body = json!({"error": error, "message": "words"}).to_string().into_bytes();
        Reply { status: StatusCode::from_u16(status).unwrap(), headers: HeaderMap::new(), body }
    }

    #[test]
    fn each_answer_has_one_meaning() {
        let reason = || "words".to_owned();
        let lost = || Setback::Disconnected { reason: reason() };
        let unknown = |may_still_run| Setback::Unknown { may_still_run, reason: reason() };
        let cases = [
            (401, "invalid_token", lost()),
            (400, "ExpiredToken", lost()),
            (400, "InvalidToken", lost()),
            (403, "ScopeMissingError", lost()),
            (401, "AccountDeactivated", lost()),
            (403, "AccountNotFound", lost()),
            (401, "use_dpop_nonce", Setback::Busy { retry_at: None, reason: reason() }),
            (401, "invalid_dpop_proof", Setback::Busy { retry_at: None, reason: reason() }),
            (400, "BlobNotFound", Setback::Stale { reason: reason() }),
            (400, "InvalidRequest", Setback::Refused { reason: reason() }),
            (413, "PayloadTooLarge", Setback::Refused { reason: reason() }),
            (429, "RateLimitExceeded", Setback::Busy { retry_at: None, reason: reason() }),
            (500, "InternalServerError", unknown(false)),
            (503, "NotEnoughResources", unknown(false)),
            (502, "UpstreamFailure", unknown(false)),
            (504, "UpstreamTimeout", unknown(true)),
        ];
        for (status, error, expected) in cases {
            assert_eq!(setback(&reply(status, error), noon()), expected, "{status} {error}");
        }
    }

    #[test]
    fn what_stands_before_a_server_does_not_speak_for_it() {
        let page = |status: u16| Reply {
            status: StatusCode::from_u16(status).unwrap(),
            headers: HeaderMap::new(),
            body: b"<html><h1>Not here</h1></html>".to_vec(),
        };
        for status in [400, 401, 403, 404, 405] {
            assert!(matches!(setback(&page(status), noon()), Setback::Busy { .. }), "{status}");
            assert!(matches!(of_video(&page(status), noon()), Setback::Busy { .. }), "{status}");
        }
        assert!(matches!(setback(&page(413), noon()), Setback::Refused { .. }));
        assert!(matches!(setback(&reply(403, "Not a name"), noon()), Setback::Busy { .. }));

        let mut challenged = page(401);
        challenged.headers.insert(http::header::WWW_AUTHENTICATE, "DPoP error=\"invalid_token\"".parse().unwrap());
        assert!(matches!(setback(&challenged, noon()), Setback::Disconnected { .. }));
    }

    #[test]
    fn a_limit_is_waited_out_until_it_starts_over() {
        let retry_at = |name: &'static str, value: String| {
            let mut limited = reply(429, "RateLimitExceeded");
            limited.headers.insert(HeaderName::from_static(name), value.parse().unwrap());
            match setback(&limited, noon()) {
                Setback::Busy { retry_at, .. } => retry_at,
                other => panic!("{other:?}"),
            }
        };
        let later = noon() + TimeDelta::seconds(90);

        assert_eq!(retry_at("ratelimit-reset", later.timestamp().to_string()), Some(later));
        assert_eq!(retry_at("retry-after", "90".to_owned()), Some(later));
        assert_eq!(retry_at("ratelimit-reset", (noon() + TimeDelta::days(9)).timestamp().to_string()), None);
        assert_eq!(retry_at("ratelimit-reset", "soon".to_owned()), None);
    }

    #[test]
    fn the_video_service_never_ends_a_connection() {
        for status in [401, 403, 429, 500, 503] {
            assert!(matches!(of_video(&reply(status, "Any"), noon()), Setback::Busy { .. }), "{status}");
        }
        assert!(matches!(of_video(&reply(400, "Any"), noon()), Setback::Refused { .. }));
        assert!(matches!(of_video(&reply(409, "Any"), noon()), Setback::Busy { .. }));
    }
}
