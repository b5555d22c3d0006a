use chrono::TimeDelta;
use platforms::ConnectError;
use serde_json::json;

use crate::testing::{Harness, PlatformBehavior};

#[tokio::test]
async fn unfinished_request_expires_after_ten_minutes() {
    let harness = Harness::new().await;
    let begun = harness.begin("plain").await;
    assert_eq!(harness.poll(&begun).await.body, json!({"status": "pending", "expires_in": 600}));

    harness.clock.advance(TimeDelta::milliseconds(599_001));
    assert_eq!(harness.poll(&begun).await.body, json!({"status": "pending", "expires_in": 1}));

    harness.clock.advance(TimeDelta::milliseconds(999));
    let expired = harness.poll(&begun).await;
    assert_eq!((expired.status, &expired.body["error"]), (410, &json!("expired")));

    harness.clock.advance(TimeDelta::days(1));
    assert_eq!(harness.poll(&begun).await.status, 404);
}

#[tokio::test]
async fn ended_request_can_be_polled_for_a_day() {
    let harness = Harness::new().await;
    let begun = harness.begin("plain").await;
    harness.callback(&begun, "7").await;

    harness.clock.advance(TimeDelta::hours(23));
    let completed = harness.poll(&begun).await;
    assert_eq!(completed.body["status"], "completed");
    assert_eq!(completed.body["connection"]["username"], "user7");
    assert!(completed.body["connection"].get("meta").is_none());

    harness.delete(&format!("/api/v1/connections/{}", completed.body["connection"]["id"])).await;
    assert_eq!(harness.poll(&begun).await.body, json!({"status": "completed", "connection": null}));

    harness.clock.advance(TimeDelta::hours(1));
    assert_eq!(harness.poll(&begun).await.status, 404);
}

#[tokio::test]
async fn request_is_found_only_by_its_user_and_platform() {
    let harness = Harness::new().await;
    let begun = harness.begin("plain").await;
    let path = |platform: &str, token: &str| format!("/api/v1/connections/connect/{platform}/status/{token}");

    assert_eq!(harness.get(&path("plain", &begun.token)).await.status, 200);
    assert_eq!(harness.get(&path("asking", &begun.token)).await.status, 404);
    assert_eq!(harness.get(&path("plain", "unknown")).await.status, 404);
    let other = harness.get_as_another(&path("plain", &begun.token)).await;
    assert_eq!((other.status, &other.body["error"]), (404, &json!("not_found")));
}

fn seconds(count: i64) -> TimeDelta {
    TimeDelta::seconds(count)
}

#[tokio::test]
async fn approval_in_an_app_connects_the_account_while_the_page_waits() {
    let harness = Harness::new().await;
    let begun = harness.begin("elsewhere").await;

    let page = harness.page(&begun).await;
    assert_eq!((page.status, harness.platform.polls()), (200, 1));
    for shown in ["Send the code to our robot.", "WXYZ", "https://elsewhere.example/robot", "I have approved it"] {
        assert!(page.html.contains(shown), "{shown}: {}", page.html);
    }
    assert!(page.html.contains(&harness.recipient().replace('\'', "&#39;")), "{}", page.html);
    assert_eq!(harness.poll(&begun).await.body["status"], "pending");

    harness.platform.approve(Ok("7"));
    harness.clock.advance(seconds(10));
    let page = harness.page(&begun).await;
    assert_eq!((page.status, page.location), (303, Some(format!("/connect/{}", begun.token))));
    assert!(harness.page(&begun).await.html.contains("is connected"));
    let completed = harness.poll(&begun).await;
    assert_eq!(completed.body["connection"]["username"], "user7");
    assert_eq!(harness.events.names(), ["connection.created"]);
    assert_eq!(harness.platform.polls(), 2, "nobody asks any more");
}

#[tokio::test]
async fn polling_client_advances_the_flow_to_the_choice_of_accounts() {
    let harness = Harness::new().await;
    let begun = harness.begin("elsewhere").await;
    harness.platform.approve(Ok("7,8"));

    assert_eq!(harness.poll(&begun).await.body["status"], "pending", "the person has to choose");
    assert!(harness.page(&begun).await.html.contains("name=\"account.8\""));
    assert_eq!(harness.send(&begun, "account.8=on").await.status, 303);

    assert_eq!(harness.poll(&begun).await.body["connection"]["username"], "user8");
}

#[tokio::test]
async fn platform_is_polled_at_most_every_ten_seconds() {
    let harness = Harness::new().await;
    let begun = harness.begin("elsewhere").await;

    for _ in 0..30 {
        futures::future::join_all((0..4).map(|_| harness.page(&begun))).await;
        harness.poll(&begun).await;
        harness.clock.advance(seconds(1));
    }

    assert_eq!(harness.platform.polls(), 3);
    assert_eq!(
        harness.get_as_another(&format!("/api/v1/connections/connect/elsewhere/status/{}", begun.token)).await.status,
        404
    );
}

#[tokio::test]
async fn named_server_is_polled_only_with_a_permit() {
    let harness = Harness::new().await;
    let (named, fixed) = (harness.begin("asking").await, harness.begin("elsewhere").await);
    assert_eq!(harness.send(&named, "server=app.example").await.status, 303);
    harness.hold_permits().await;

    assert_eq!(harness.poll(&named).await.body["status"], "pending");
    assert_eq!(harness.platform.polls(), 0);
    harness.poll(&fixed).await;
    assert_eq!(harness.platform.polls(), 1, "the platform's own host needs no permit");

    harness.release_permits().await;
    harness.platform.approve(Ok("7"));
    harness.clock.advance(seconds(10));
    assert_eq!(harness.poll(&named).await.body["connection"]["username"], "user7");
}

#[tokio::test]
async fn unreachable_platform_is_polled_again_and_a_denial_ends_the_flow() {
    let harness = Harness::new().await;
    let begun = harness.begin("elsewhere").await;
    harness.platform.set_behavior(PlatformBehavior::Broken);
    assert_eq!(harness.page(&begun).await.status, 200);
    harness.platform.set_behavior(PlatformBehavior::Willing);
    harness.platform.approve(Err(ConnectError::Denied));
    harness.clock.advance(seconds(10));

    assert_eq!(harness.poll(&begun).await.body, json!({"status": "failed"}));
    assert!(harness.page(&begun).await.html.contains("Access was denied"));
    assert_eq!(harness.platform.polls(), 2);
}

#[tokio::test]
async fn approval_after_expiry_or_cancellation_connects_nothing() {
    let harness = Harness::new().await;
    let late = harness.begin("elsewhere").await;
    harness.platform.approve(Ok("7"));
    harness.clock.advance(seconds(600));
    assert_eq!((harness.page(&late).await.status, harness.poll(&late).await.status), (410, 410));

    let cancelled = harness.begin("elsewhere").await;
    assert_eq!(harness.send(&cancelled, "account.7=on").await.status, 303, "there is nothing to send");
    assert_eq!(harness.send(&cancelled, "cancel=1").await.status, 303);
    assert_eq!(harness.poll(&cancelled).await.body, json!({"status": "failed"}));

    assert_eq!(harness.platform.polls(), 0);
    assert!(harness.events.names().is_empty());
}

#[tokio::test]
async fn guest_confirms_first_and_continues_only_in_that_browser() {
    let harness = Harness::with_guests().await;
    let begun = harness.begin("elsewhere").await;
    let page = harness.page(&begun).await;
    assert!(!page.html.contains("WXYZ"), "{}", page.html);

    assert_eq!(harness.send(&begun, "").await.status, 303);
    assert!(harness.page(&begun).await.html.contains("WXYZ"));
    let stranger = crate::testing::Browser::default();
    let refused = harness.visit_in(&stranger, &format!("/connect/{}", begun.token)).await;
    assert!(!refused.html.contains("WXYZ"), "{}", refused.html);
}
