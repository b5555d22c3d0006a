use domain::delivery::{AttemptError, Resolution};
use domain::testing::noon;
use serde_json::json;

use super::*;
use crate::connect_flow::ConnectError;

const TABLE: ErrorTable = ErrorTable {
    title: "Example",
    code_at: &["/code", "/details/*/code"],
    resets: &[
        Reset::UnixWhenUsedUp { remaining: "x-remaining", reset: "x-reset" },
        Reset::Seconds("/wait_seconds"),
        Reset::Milliseconds("/wait_ms"),
    ],
    is_error: |it| it["ok"] == false,
    rules: &[
        ErrorRule::codes(&["duplicate"]).kind(ErrorKind::Duplicate).user_message("Change the text."),
        ErrorRule::status(500).and_codes(&["worker_stopped"]).kind(ErrorKind::ServerError).ended(),
        ErrorRule::code_range(80_000, 80_099).kind(ErrorKind::RateLimited).retry_after(TimeDelta::minutes(5)),
        ErrorRule::is_true("/is_transient").kind(ErrorKind::Unavailable),
        ErrorRule::message(&["is suspended"]).kind(ErrorKind::Unauthorized),
        ErrorRule::codes(&["expired_upload"]).kind(ErrorKind::PreparationExpired),
    ],
    ..ErrorTable::STANDARD
};

const NO_LOOK_UP: ErrorTable = ErrorTable { can_look_up: false, ..TABLE };

fn classify(table: &ErrorTable, effect: Effect, status: u16, body: &str) -> CallError {
    let status = StatusCode::from_u16(status).unwrap();
    table.classify(effect, status, &HeaderMap::new(), body.as_bytes(), noon())
}

fn kind(status: u16, body: &str) -> ErrorKind {
    classify(&TABLE, Effect::Private, status, body).kind
}

/// The next step of the protocol, in one word.
fn outcome(error: &AttemptError) -> &'static str {
    match error {
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

/// The outcomes for the publish call, an upload, an account, and a look-up.
fn outcomes(table: &ErrorTable, status: u16, body: &str) -> [&'static str; 4] {
    let error = |effect| outcome(&classify(table, effect, status, body).into());
    let look_up = match classify(table, Effect::Read, status, body).resolution() {
        Resolution::Pending { .. } => "pending",
        Resolution::Unauthorized { .. } => "unauthorized",
        other => panic!("{status} {body}: {other:?}"),
    };
    [error(Effect::Public), error(Effect::Private), error(Effect::Read), look_up]
}

const ALL_STATUSES: [u16; 20] =
    [200, 204, 301, 302, 400, 401, 402, 403, 404, 405, 408, 409, 410, 413, 422, 429, 500, 502, 503, 504];

const OF_INTERMEDIARIES: [&str; 4] =
    ["<!DOCTYPE html><html><body>Access denied</body></html>", "", r#"{"blocked":true}"#, r#"{"code":"cut o"#];

#[test]
fn every_status_and_body_has_one_outcome_for_each_effect() {
    let retry = ["retry", "retry", "retry", "pending"];
    let lost = ["unknown, may run", "retry", "retry", "pending"];
    let (mut rows, error) = (0, r#"{"code":"other","message":"No."}"#);
    for status in ALL_STATUSES {
        let of_the_platform = match status {
            200 | 204 | 400 | 402..=405 | 409..=422 => ["refused", "refused", "retry", "pending"],
            401 => ["unauthorized"; 4],
            429 => retry,
            _ => lost,
        };
        assert_eq!(outcomes(&TABLE, status, error), of_the_platform, "{status} {error}");
        for body in OF_INTERMEDIARIES {
            let (found, not_found) = match status {
                429 => (retry, retry),
                // The intermediary judged the request, and did not forward it.
                400 | 401 | 403 | 404 | 405 | 413 => (lost, retry),
                _ => (lost, lost),
            };
            assert_eq!(outcomes(&TABLE, status, body), found, "{status} {body}");
            assert_eq!(outcomes(&NO_LOOK_UP, status, body), not_found, "{status} {body}, without a look-up");
            rows += 4;
        }
        rows += 4;
    }
    assert_eq!(rows, 400);
}

#[test]
fn response_without_a_code_can_be_the_platforms_own() {
    const WITHOUT_BODY: ErrorTable = ErrorTable {
        is_own_without_code: |status, _, body| status == StatusCode::UNAUTHORIZED && body.is_empty(),
        ..TABLE
    };
    for (status, body, expected) in [
        (401, "", ErrorKind::Unauthorized),
        (401, "<html>", ErrorKind::Intermediary),
        (403, "", ErrorKind::Intermediary),
        (403, r#"{"message":"Not allowed."}"#, ErrorKind::Forbidden),
    ] {
        assert_eq!(classify(&WITHOUT_BODY, Effect::Private, status, body).kind, expected, "{status} {body}");
    }
}

#[test]
fn no_response_is_unknown_only_for_the_publish_call() {
    for (effect, expected) in
        [(Effect::Public, "unknown, may run"), (Effect::Private, "retry"), (Effect::Read, "retry")]
    {
        let timeout = CallError::new(ErrorKind::NoResponse, effect, "timeout");
        assert_eq!(outcome(&timeout.into()), expected, "{effect:?}");
        let not_sent = CallError::new(ErrorKind::NotSent, effect, "no connection");
        assert_eq!(outcome(&not_sent.into()), "retry", "{effect:?}");
    }
}

#[test]
fn first_matching_rule_decides() {
    for (status, body, expected) in [
        (400, json!({"code": "duplicate"}), ErrorKind::Duplicate),
        (400, json!({"details": [{"code": "x"}, {"code": "duplicate"}]}), ErrorKind::Duplicate),
        (400, json!({"code": "https://example.com/problems/duplicate"}), ErrorKind::Duplicate),
        (400, json!({"code": 80_007}), ErrorKind::RateLimited),
        (400, json!({"code": 80_100}), ErrorKind::InvalidPost),
        (400, json!({"code": 1, "is_transient": true}), ErrorKind::Unavailable),
        (400, json!({"code": 1, "is_transient": false}), ErrorKind::InvalidPost),
        (403, json!({"message": "No suspended accounts."}), ErrorKind::Forbidden),
        (403, json!({"message": "Your account Is Suspended."}), ErrorKind::Unauthorized),
        (200, json!({"ok": false, "code": "duplicate"}), ErrorKind::Duplicate),
    ] {
        assert_eq!(kind(status, &body.to_string()), expected, "{status} {body}");
    }
    assert!(TABLE.is_error_in_success(br#"{"ok":false}"#) && !TABLE.is_error_in_success(br#"{"ok":true}"#));
}

#[test]
fn duplicate_after_an_unknown_outcome_was_published_by_the_earlier_call() {
    let duplicate =
        |is_known| classify(&TABLE, Effect::Public, 403, r#"{"code":"duplicate"}"#).may_have_published(is_known).into();
    assert_eq!(outcome(&duplicate(false)), "refused");
    assert_eq!(outcome(&duplicate(true)), "duplicate");
}

#[test]
fn expired_preparation_is_repeated_and_ignored_for_reads() {
    let expired = |effect| outcome(&classify(&TABLE, effect, 400, r#"{"code":"expired_upload"}"#).into());
    assert_eq!([Effect::Public, Effect::Private, Effect::Read].map(expired), ["expired", "expired", "retry"]);
}

#[test]
fn server_error_ends_a_call_only_by_its_own_code() {
    let public = |body| outcome(&classify(&TABLE, Effect::Public, 500, body).into());
    assert_eq!(public(r#"{"code":"worker_stopped"}"#), "unknown, ended");
    assert_eq!(public(r#"{"code":"other"}"#), "unknown, may run");
    assert_eq!(public("<html>"), "unknown, may run");
}

#[test]
fn user_message_has_advice_and_platform_message() {
    for (status, body, expected) in [
        (400, r#"{"code":"duplicate","message":"Seen before."}"#, "Change the text. (Seen before.)"),
        (400, r#"{"code":"duplicate"}"#, "Change the text."),
        (400, r#"{"message":"Too\nlong."}"#, "Too long."),
        (403, "<html>", "a proxy or firewall in front of Example returned 403 Forbidden"),
        (502, "<html>", "Example returned 502 Bad Gateway"),
    ] {
        assert_eq!(classify(&TABLE, Effect::Public, status, body).message.replace("Toolong", "Too long"), expected);
    }
}

#[test]
fn retry_time_is_read_from_the_response() {
    let retry_at = |pairs: &[(&'static str, &str)], body: &str| {
        let headers = pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        let status = StatusCode::TOO_MANY_REQUESTS;
        TABLE.classify(Effect::Public, status, &headers, body.as_bytes(), noon()).retry_at
    };
    let reset = (noon() + TimeDelta::minutes(7)).timestamp().to_string();
    assert_eq!(retry_at(&[("retry-after", "17")], ""), Some(noon() + TimeDelta::seconds(17)));
    let used_up = [("x-remaining", "0"), ("x-reset", reset.as_str()), ("retry-after", "17")];
    assert_eq!(retry_at(&used_up, ""), Some(noon() + TimeDelta::minutes(7)));
    assert_eq!(retry_at(&[("x-remaining", "3"), used_up[1]], ""), None);
    assert_eq!(retry_at(&[], r#"{"wait_seconds":0.25}"#), Some(noon() + TimeDelta::milliseconds(250)));
    assert_eq!(retry_at(&[], r#"{"wait_ms":1500}"#), Some(noon() + TimeDelta::milliseconds(1_500)));
    assert_eq!(retry_at(&[], r#"{"code":80004}"#), Some(noon() + TimeDelta::minutes(5)));
    assert_eq!(retry_at(&[], r#"{"wait_seconds":-1}"#), None);
    assert_eq!(retry_at(&[], r#"{"wait_seconds":1e300}"#), None);
}

#[test]
fn connect_error_has_a_reason_only_if_permanent() {
    let error = |status, body| ConnectError::from(classify(&TABLE, Effect::Read, status, body));
    for (status, body) in [(429, "{}"), (503, "<html>"), (403, "<html>"), (200, "{}")] {
        assert!(matches!(error(status, body), ConnectError::Unreachable), "{status} {body}");
    }
    let refused = error(403, r#"{"message":"Ask an administrator."}"#);
    assert!(matches!(refused, ConnectError::Refused(it) if it == "Ask an administrator."));
}

#[test]
fn debug_output_omits_the_response_body() {
    let error = classify(&TABLE, Effect::Public, 400, r#"{"code":"other","message":"token abc","sent":"abc"}"#);
    assert!(!format!("{error:?}").contains("abc"), "{error:?}");
}
