use chrono::{DateTime, Utc};
use domain::delivery::AttemptError;
use domain::testing::noon;
use http::{HeaderMap, StatusCode};
use serde_json::json;

use super::*;
use crate::kit::Effect;

static TABLE: ErrorTable = table("Threads");

fn classified(effect: Effect, status: u16, body: &str) -> CallError {
    let status = StatusCode::from_u16(status).unwrap();
    TABLE.classify(effect, status, &HeaderMap::new(), body.as_bytes(), noon())
}

fn error_response(effect: Effect, code: i64, subcode: Option<i64>) -> CallError {
    let mut error = json!({ "message": "No.", "type": "OAuthException", "code": code, "fbtrace_id": "AbC_d" });
    if let Some(subcode) = subcode {
        error["error_subcode"] = subcode.into();
    }
    classified(effect, 400, &json!({ "error": error }).to_string())
}

/// Posts were seen to be public all the same, so the outcome is unknown.
#[test]
fn publish_call_of_a_blocked_account_is_not_repeated_for_two_hours() {
    for (code, subcode) in [(368, None), (4, Some(2_207_051)), (-1, Some(2_207_001)), (368, Some(1_390_008))] {
        let error = AttemptError::from(error_response(Effect::Public, code, subcode));
        let AttemptError::Unknown { retry_at, .. } = error else { panic!("{code} {subcode:?}: {error:?}") };
        assert_eq!(retry_at, Some(noon() + TimeDelta::hours(2)), "{code} {subcode:?}");
    }
}

#[test]
fn codes_have_their_kinds_and_subcodes_come_first() {
    use ErrorKind as K;
    for (code, subcode, expected) in [
        (190, None, K::Unauthorized),
        (190, Some(463), K::Unauthorized),
        (102, None, K::Unauthorized),
        (10, None, K::Unauthorized),
        (200, None, K::Unauthorized),
        (1, Some(2_853_006), K::Unauthorized),
        (1, Some(4_279_013), K::Unauthorized),
        (100, Some(4_854_002), K::Unauthorized),
        (25, Some(2_207_050), K::Unauthorized),
        (3, None, K::AppMisconfigured),
        (4, None, K::RateLimited),
        (32, None, K::RateLimited),
        (80_002, None, K::RateLimited),
        (4, Some(2_207_051), K::ServerError),
        (368, None, K::ServerError),
        (9, Some(2_207_042), K::RateLimited),
        (1, None, K::ServerError),
        (2, None, K::ServerError),
        (-1, Some(2_207_001), K::ServerError),
        (-2, None, K::ServerError),
        (506, None, K::Duplicate),
        (100, Some(1_366_051), K::Duplicate),
        (9_007, Some(2_207_027), K::NotReady),
        (24, Some(4_279_009), K::PreparationExpired),
        (-2, Some(2_207_020), K::PreparationExpired),
        (-2, Some(2_207_003), K::FetchFailed),
        (1, Some(2_207_052), K::FetchFailed),
        (9_004, Some(2_207_052), K::FetchFailed),
        (100, None, K::InvalidPost),
        (100, Some(33), K::InvalidPost),
        (36_003, Some(2_207_009), K::InvalidPost),
        (352, Some(2_207_026), K::InvalidPost),
    ] {
        assert_eq!(error_response(Effect::Private, code, subcode).kind, expected, "{code} {subcode:?}");
    }
    assert!(
        error_response(Effect::Read, 100, Some(33)).is_missing()
            && !error_response(Effect::Read, 100, None).is_missing()
    );
}

#[test]
fn upload_host_states_whether_an_error_is_final() {
    use ErrorKind as K;
    for (retriable, name, expected) in [
        (true, "ProcessingFailedError", K::Unavailable),
        (false, "ProcessingFailedError", K::PreparationExpired),
        (false, "NotAuthorizedError", K::Unavailable),
        (false, "InvalidRequestError", K::InvalidPost),
    ] {
        let body = json!({ "debug_info": { "retriable": retriable, "type": name, "message": "No." } });
        let error = classified(Effect::Private, 400, &body.to_string());
        assert_eq!((error.kind, error.message.as_str()), (expected, "No."), "{retriable} {name}");
    }
}

#[test]
fn messages_for_users_are_preferred_and_keep_the_trace_id() {
    let shown = |error: Value| classified(Effect::Read, 400, &json!({ "error": error }).to_string()).message;
    let error = json!({ "message": "(#100) Param", "code": 100, "error_user_msg": "Too long.", "fbtrace_id": "A1" });
    assert_eq!(shown(error), "Too long. (Meta trace id A1)");
    let long = json!({ "message": "x".repeat(1_000), "code": 100, "fbtrace_id": "A1" });
    assert!(shown(long).ends_with("(Meta trace id A1)"));
    assert_eq!(shown(json!({ "message": " ", "code": 7, "fbtrace_id": "<b>" })), "Threads returned 400 Bad Request");
    let video = json!({ "message": "(#100) No permission to publish the video", "error_user_msg": "No.", "code": 100 });
    assert!(shown(video).contains("publish_video") && shown(json!({ "message": "No.", "code": 100 })) == "No.");
}

#[test]
fn outcome_depends_on_the_effect() {
    let retry_later = |at: Option<DateTime<Utc>>| AttemptError::RetryLater {
        retry_at: at,
        reason: "No. (Meta trace id AbC_d)".to_owned(),
    };
    let error = |effect, code, subcode| AttemptError::from(error_response(effect, code, subcode));
    assert_eq!(error(Effect::Public, 4, None), retry_later(Some(noon() + TimeDelta::hours(1))));
    assert_eq!(error(Effect::Private, 368, None), retry_later(Some(noon() + TimeDelta::hours(2))));
    assert_eq!(error(Effect::Private, -1, Some(2_207_001)), retry_later(Some(noon() + TimeDelta::hours(2))));
    assert_eq!(error(Effect::Private, 2, None), retry_later(None));
    assert_eq!(error(Effect::Private, 9_004, Some(2_207_052)), retry_later(None));
    for (code, subcode) in [(1, None), (2, None), (368, None), (-1, Some(2_207_001))] {
        let error = error(Effect::Public, code, subcode);
        assert!(matches!(error, AttemptError::Unknown { may_still_run: true, .. }), "{code}: {error:?}");
    }
    assert!(matches!(error(Effect::Public, 24, Some(2_207_008)), AttemptError::PreparationExpired { .. }));
    assert!(matches!(error(Effect::Public, 190, None), AttemptError::Unauthorized { .. }));
    assert!(matches!(error(Effect::Public, 100, None), AttemptError::Refused { .. }));
}

#[test]
fn other_formats_end_neither_a_grant_nor_a_post() {
    let (html, empty) = ("<html>190</html>", "");
    for (status, body) in [(500, html), (502, empty), (408, empty), (504, r#"{"error":"190"}"#)] {
        assert_eq!(classified(Effect::Public, status, body).kind, ErrorKind::ServerError, "{status}");
    }
    // A gateway may have a message at the same place, and no code.
    let gateway = r#"{"error":{"message":"Forbidden","type":"Gateway"}}"#;
    for (status, body) in [400, 401, 403, 404, 413].into_iter().flat_map(|it| [(it, html), (it, gateway)]) {
        assert_eq!(classified(Effect::Public, status, body).kind, ErrorKind::Intermediary, "{status} {body}");
    }
    assert_eq!(classified(Effect::Public, 429, html).kind, ErrorKind::RateLimited);
}

#[test]
fn success_status_may_carry_an_error() {
    let is_error = |body: Value| TABLE.is_error_in_success(body.to_string().as_bytes());
    assert!(!is_error(json!({ "id": "7" })) && !is_error(json!({ "success": true })));
    assert!(is_error(json!({ "success": false })) && is_error(json!({ "error": { "code": 190 } })));
    let kind = |body: Value| classified(Effect::Public, 200, &body.to_string()).kind;
    assert_eq!(kind(json!({ "success": false })), ErrorKind::NoResponse);
    assert_eq!(kind(json!({ "error": { "code": 190 } })), ErrorKind::Unauthorized);
}
