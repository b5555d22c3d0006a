//! The meaning of errors, by code and subcode, not by status.

use chrono::TimeDelta;
use domain::delivery::AttemptError;
use domain::media::MimeType;
use platforms::conformance::samples::sample;
use serde_json::{Value, json};

use crate::harness;

fn error(code: i64, subcode: i64) -> Value {
    json!({ "error": { "message": "No.", "type": "OAuthException", "code": code, "error_subcode": subcode,
        "is_transient": false, "error_user_msg": "Facebook says no.", "fbtrace_id": "AbCd_1-2" } })
}

#[tokio::test]
async fn each_error_has_its_consequence() {
    let (harness, account) = harness().await;
    for (status, code, subcode, expected) in [
        (400, 190, 460, "Unauthorized"),
        (401, 190, 463, "Unauthorized"),
        (403, 200, 0, "Unauthorized"),
        (400, 10, 0, "Unauthorized"),
        (400, 1, 2_853_006, "Unauthorized"),
        (400, 100, 4_854_002, "Unauthorized"),
        (400, 3, 0, "RetryLater"),
        (400, 4, 0, "RetryLater"),
        (400, 32, 0, "RetryLater"),
        (400, 80_001, 0, "RetryLater"),
        (500, 1, 0, "Unknown"),
        (400, 2, 0, "Unknown"),
        (400, 368, 1_390_008, "Unknown"),
        (400, 100, 1_609_005, "Refused"),
        (400, 100, 0, "Refused"),
    ] {
        let post = harness.due(&account, &format!("{code} {subcode}"), Vec::new()).await;
        harness.fake.refuses("POST /feed", status, error(code, subcode));

        let setback = harness.publish(&post).await.unwrap_err();

        let said = format!("{setback:?}");
        assert!(said.starts_with(expected), "{code} {subcode}: {said}");
        assert!(said.contains("Facebook says no. (Meta trace id AbCd_1-2)"), "{said}");
    }
}

#[tokio::test]
async fn an_account_that_was_blocked_for_now_is_left_alone_for_hours() {
    let (harness, account) = harness().await;
    let mut post = harness.post(&account, "too fast", vec![sample(MimeType::Png, 1)]);
    harness.clock.skip_to(post.publish_at - TimeDelta::minutes(3));
    harness.fake.refuses("POST /photos", 400, error(368, 1_390_008));

    let setback = harness.prepare(&post).await.unwrap_err();

    let AttemptError::RetryLater { retry_at: Some(at), .. } = setback else { panic!("{setback:?}") };
    assert_eq!(at, harness.clock.now() + TimeDelta::hours(2));
    harness.deliver(&mut post).await.unwrap();
}

#[tokio::test]
async fn unreadable_success_is_looked_up() {
    let (harness, account) = harness().await;
    let mut post = harness.post(&account, "maybe", Vec::new());
    harness.fake.refuses("POST /feed", 200, json!({ "success": false }));

    let passage = harness.deliver(&mut post).await.unwrap();

    assert!(matches!(passage.errors[..], [AttemptError::Unknown { .. }]), "{:?}", passage.errors);
}

#[tokio::test]
async fn a_page_that_is_not_to_be_seen_needs_reconnection() {
    let (harness, account) = harness().await;
    let post = harness.due(&account, "prepared", Vec::new()).await;
    harness.fake.refuses("POST /feed", 400, error(100, 33));
    let setback = harness.publish(&post).await.unwrap_err();
    assert!(matches!(setback, AttemptError::RetryLater { .. }), "once it is a fault that passes: {setback:?}");

    harness.fake.hide_pages();
    let setback = harness.publish(&post).await.unwrap_err();
    assert!(matches!(setback, AttemptError::Unauthorized { .. }), "{setback:?}");
    for mime_type in [MimeType::Png, MimeType::Mp4] {
        let mut other = harness.post(&account, "another", vec![sample(mime_type, 1)]);
        let setback = harness.prepare_all(&mut other, &mut Vec::new()).await.unwrap_err();
        assert!(matches!(setback, AttemptError::Unauthorized { .. }), "{setback:?}");
    }
}
