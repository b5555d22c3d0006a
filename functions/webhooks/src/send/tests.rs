use axum::response::{IntoResponse, Redirect};
use chrono::TimeDelta;
use domain::webhook::{DISABLED_AFTER, LEASE, PLANNED_AHEAD, ROTATION, TRIES};
use http::StatusCode;
use serde_json::{Value, json};
use standardwebhooks::Webhook;

use crate::testing::{Harness, ReceivedMessage};

fn is_verified(got: &ReceivedMessage, secret: &Value) -> bool {
    Webhook::new(secret.as_str().unwrap()).unwrap().verify(&got.body, &got.headers).is_ok()
}

#[tokio::test]
async fn event_is_sent_once_signed_and_only_to_its_user() {
    let harness = Harness::new().await;
    let webhook = harness.webhook().await;
    let event = harness.event(7);

    harness.app.fan_out(&event).await.unwrap();
    harness.app.fan_out(&event).await.unwrap();
    let mut other_users_event = harness.event(8);
    other_users_event.detail["user_id"] = "77".into();
    harness.app.fan_out(&other_users_event).await.unwrap();
    harness.work().await;

    let got = harness.got();
    assert_eq!(got.len(), 1);
    assert!(is_verified(&got[0], &webhook["secret"]));
    let payload: Value = serde_json::from_slice(&got[0].body).unwrap();
    assert_eq!(payload["type"], "post.published");
    assert_eq!(payload["data"], json!({ "post_id": 7 }));
    assert_eq!(got[0].headers["content-type"], "application/json");
    let delivery = &harness.deliveries(&webhook).await[0];
    assert_eq!((&delivery["status"], &delivery["attempts"][0]["status"]), (&json!("delivered"), &json!(204)));
    assert_eq!(delivery["id"].as_str(), got[0].headers["webhook-id"].to_str().ok());
}

#[tokio::test]
async fn unverified_endpoint_receives_only_tests() {
    let harness = Harness::new().await;
    let webhook = harness.create_unverified().await;
    let path = format!("/webhooks/{}", webhook["id"]);
    let test = async || assert_eq!(harness.call("POST", &format!("{path}/test"), None).await.0, 202);
    let status = async || harness.call("GET", &path, None).await.1["status"].clone();
    let types = || {
        let bodies = harness.got().into_iter().map(|it| serde_json::from_slice::<Value>(&it.body).unwrap());
        bodies.map(|it| it["type"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(webhook["status"], "unverified");
    harness.respond_with(|| StatusCode::INTERNAL_SERVER_ERROR.into_response());
    for number in 1..=3 {
        harness.app.fan_out(&harness.event(number)).await.unwrap();
    }
    test().await;
    test().await;
    harness.work().await;
    assert_eq!((types(), status().await), (vec!["webhook.test".to_owned(); 2], json!("unverified")));

    harness.respond_with(|| StatusCode::OK.into_response());
    test().await;
    harness.work().await;
    harness.app.fan_out(&harness.event(4)).await.unwrap();
    harness.work().await;
    assert_eq!(
        (types(), status().await),
        (vec!["webhook.test".to_owned(), "post.published".to_owned()], json!("enabled"))
    );

    // A delivery that is waiting when the URL changes is not sent to the new URL.
    harness.respond_with(|| StatusCode::INTERNAL_SERVER_ERROR.into_response());
    harness.app.fan_out(&harness.event(5)).await.unwrap();
    harness.work().await;
    assert_eq!(types(), ["post.published"]);
    let moved = json!({ "url": format!("{}/moved", harness.url) });
    assert_eq!(harness.call("PATCH", &path, Some(moved)).await.1["status"], "unverified");
    harness.respond_with(|| StatusCode::OK.into_response());
    harness.clock.advance(TimeDelta::seconds(6));
    harness.work().await;
    let deliveries = harness.deliveries(&webhook).await;
    let waited = deliveries.iter().find(|it| it["payload"]["data"]["post_id"] == 5).unwrap();
    assert_eq!((types(), &waited["status"]), (vec![], &json!("failed")));
    let again = format!("{path}/deliveries/{}/redeliver", waited["id"].as_str().unwrap());
    let (refused, body) = harness.call("POST", &again, None).await;
    assert_eq!((refused, body["errors"]["status"].is_array()), (422, true), "{body}");
    test().await;
    harness.work().await;
    assert_eq!(harness.call("POST", &again, None).await.0, 202);
    harness.work().await;
    assert_eq!(types(), ["webhook.test", "post.published"]);
}

#[tokio::test]
async fn webhook_shows_until_when_previous_secret_signs() {
    let harness = Harness::new().await;
    let webhook = harness.webhook().await;
    let path = format!("/webhooks/{}", webhook["id"]);
    harness.call("POST", &format!("{path}/rotate"), None).await;
    let until = async || harness.call("GET", &path, None).await.1["previous_secret_until"].clone();
    assert!(until().await.is_string());
    harness.clock.advance(ROTATION);
    assert_eq!(until().await, Value::Null);
}

#[tokio::test]
async fn public_key_verifies_signature() {
    use ring::signature::{ED25519, UnparsedPublicKey};
    let harness = Harness::new().await;
    harness.webhook().await;
    let (_, key) = harness.call("GET", "/webhooks/key", None).await;

    harness.app.fan_out(&harness.event(7)).await.unwrap();
    harness.work().await;

    let got = &harness.got()[0];
    let header = |name: &str| got.headers[name].to_str().unwrap();
    let content = [header("webhook-id").as_bytes(), header("webhook-timestamp").as_bytes(), &got.body].join(&b'.');
    let signature = header("webhook-signature").split(' ').find_map(|it| it.strip_prefix("v1a,")).unwrap();
    let decoded = |text: &str| base64::Engine::decode(&base64::engine::general_purpose::STANDARD, text).unwrap();
    let public = key["public_key"].as_str().unwrap().strip_prefix("whpk_").unwrap();
    UnparsedPublicKey::new(&ED25519, decoded(public)).verify(&content, &decoded(signature)).unwrap();
}

#[tokio::test]
async fn replaced_secrets_verify_for_a_day() {
    let harness = Harness::new().await;
    let old = harness.webhook().await;
    let rotate = format!("/webhooks/{}/rotate", old["id"]);
    let (status, unread) = harness.call("POST", &rotate, None).await;
    assert_eq!(status, 200, "{unread}");
    // A client that lost the response rotates again.
    let (_, new) = harness.call("POST", &rotate, None).await;

    harness.app.fan_out(&harness.event(7)).await.unwrap();
    harness.work().await;
    let got = &harness.got()[0];
    assert!(is_verified(got, &old["secret"]) && is_verified(got, &new["secret"]));
    harness.clock.advance(ROTATION);
    harness.app.fan_out(&harness.event(8)).await.unwrap();
    harness.work().await;
    let signatures = harness.got()[0].headers["webhook-signature"].to_str().unwrap().to_owned();
    assert_eq!(signatures.split(' ').filter(|it| it.starts_with("v1,")).count(), 1);
}

#[tokio::test]
async fn failed_delivery_is_retried_on_schedule_and_found_by_tick() {
    let harness = Harness::new().await;
    let webhook = harness.webhook().await;
    harness.respond_with(|| (StatusCode::INTERNAL_SERVER_ERROR, "out of order").into_response());
    harness.app.fan_out(&harness.event(7)).await.unwrap();

    let began = harness.clock.now();
    while harness.deliveries(&webhook).await[0]["status"] == "waiting" {
        harness.work().await;
        let delivery = harness.deliveries(&webhook).await.remove(0);
        let Some(next) = delivery["next_attempt_at"].as_str() else { break };
        let next = domain::schedule::parse_instant(next).unwrap();
        // The tick queues a delivery before a long wait is over; the queue delays it until then.
        let queued_at = harness.clock.now().max(next - PLANNED_AHEAD + TimeDelta::minutes(1));
        harness.clock.advance(queued_at - harness.clock.now());
        harness.app.tick().await.unwrap();
        assert_eq!(harness.sent.hints.lock().unwrap().len(), 1);
        harness.clock.advance(next - queued_at + TimeDelta::seconds(1));
    }

    let got = harness.got();
    assert_eq!(got.len(), TRIES);
    assert!(got.iter().all(|it| it.headers["webhook-id"] == got[0].headers["webhook-id"] && it.body == got[0].body));
    let delivery = &harness.deliveries(&webhook).await[0];
    assert_eq!((&delivery["status"], &delivery["last_answer"]), (&json!("failed"), &json!("out of order")));
    let lasted = harness.clock.now() - began;
    assert!(TimeDelta::hours(65) < lasted && lasted < TimeDelta::hours(85), "{lasted}");
}

#[tokio::test]
async fn redirect_is_not_followed_and_retry_after_is_obeyed() {
    let harness = Harness::new().await;
    let webhook = harness.webhook().await;
    harness.respond_with(|| Redirect::temporary("/elsewhere").into_response());
    harness.app.fan_out(&harness.event(7)).await.unwrap();
    harness.work().await;
    assert_eq!(harness.got().len(), 1, "nothing at the redirect's target");

    harness.respond_with(|| (StatusCode::SERVICE_UNAVAILABLE, [("retry-after", "600")]).into_response());
    harness.clock.advance(TimeDelta::seconds(6));
    harness.work().await;
    assert_eq!(harness.got().len(), 1);
    let next = harness.deliveries(&webhook).await[0]["next_attempt_at"].as_str().unwrap().to_owned();
    let wait = domain::schedule::parse_instant(&next).unwrap() - harness.clock.now();
    assert!(TimeDelta::seconds(599) <= wait, "{wait}");
}

#[tokio::test]
async fn gone_endpoint_is_disabled_and_other_endpoints_are_notified() {
    let harness = Harness::new().await;
    let gone = harness.webhook().await;
    harness.respond_with(|| StatusCode::GONE.into_response());
    harness.app.fan_out(&harness.event(7)).await.unwrap();
    harness.app.fan_out(&harness.event(8)).await.unwrap();
    harness.work().await;

    assert_eq!(harness.got().len(), 1, "the second is not sent");
    let (_, shown) = harness.call("GET", &format!("/webhooks/{}", gone["id"]), None).await;
    assert_eq!((&shown["disabled"], &shown["disabled_reason"]), (&json!(true), &json!("gone")));
    let events = harness.sent.events.lock().unwrap().clone();
    assert_eq!(events.iter().map(|it| it.detail_type).collect::<Vec<_>>(), ["webhook.disabled"]);

    harness.respond_with(|| StatusCode::OK.into_response());
    harness.webhook().await;
    harness.app.fan_out(&events[0]).await.unwrap();
    harness.work().await;
    let got = harness.got();
    assert_eq!(got.len(), 1, "only to the other endpoint");
    let payload: Value = serde_json::from_slice(&got[0].body).unwrap();
    assert_eq!(payload["data"]["webhook_id"], gone["id"]);
    let redeliver =
        format!("/webhooks/{}/deliveries/{}/redeliver", gone["id"], harness.deliveries(&gone).await[0]["id"]);
    assert_eq!(harness.call("POST", &redeliver.replace('"', ""), None).await.0, 422);
    let back = harness.call("PATCH", &format!("/webhooks/{}", gone["id"]), Some(json!({ "disabled": false }))).await;
    assert_eq!(back.1["disabled_at"], Value::Null);
    assert_eq!(harness.call("POST", &redeliver.replace('"', ""), None).await.0, 202);
    harness.work().await;
    assert_eq!(harness.got().len(), 1);
}

#[tokio::test]
async fn five_days_of_failures_disable_endpoint() {
    let harness = Harness::new().await;
    let webhook = harness.webhook().await;
    harness.respond_with(|| StatusCode::BAD_GATEWAY.into_response());
    harness.app.fan_out(&harness.event(7)).await.unwrap();
    harness.work().await;
    let reason = async || {
        let (_, shown) = harness.call("GET", &format!("/webhooks/{}", webhook["id"]), None).await;
        shown["disabled_reason"].clone()
    };
    harness.clock.advance(DISABLED_AFTER);
    harness.app.fan_out(&harness.event(8)).await.unwrap();
    harness.work().await;
    assert_eq!(reason().await, Value::Null, "two failures, days apart");

    // Until no attempt is left.
    for _ in 0..12 {
        harness.clock.advance(TimeDelta::hours(27));
        harness.app.tick().await.unwrap();
        harness.work().await;
    }
    assert_eq!(reason().await, "failing");
}

#[tokio::test]
async fn leased_delivery_is_not_failed_until_the_lease_ends() {
    let harness = Harness::new().await;
    let webhook = harness.webhook().await;
    harness.app.fan_out(&harness.event(7)).await.unwrap();
    let name = harness.sent.hints.lock().unwrap().remove(0).name;
    let delivery = harness.app.api.store.webhook_delivery_and_endpoint(&name).await.unwrap().0.unwrap();
    let leased = delivery.lease(harness.clock.now());
    harness.app.api.store.replace_webhook_delivery(&delivery, &leased).await.unwrap();
    harness.call("PATCH", &format!("/webhooks/{}", webhook["id"]), Some(json!({ "disabled": true }))).await;

    harness.app.send(&name).await.unwrap();
    let kept = harness.app.api.store.webhook_delivery_and_endpoint(&name).await.unwrap().0.unwrap();
    assert_eq!(kept, leased);

    harness.clock.advance(LEASE);
    harness.app.send(&name).await.unwrap();
    assert_eq!(harness.deliveries(&webhook).await[0]["status"], "failed");
    assert!(harness.got().is_empty());
}

#[tokio::test]
async fn failed_tests_do_not_disable_endpoint() {
    let harness = Harness::new().await;
    let webhook = harness.webhook().await;
    harness.respond_with(|| StatusCode::BAD_GATEWAY.into_response());
    harness.call("POST", &format!("/webhooks/{}/test", webhook["id"]), None).await;
    harness.work().await;
    harness.clock.advance(DISABLED_AFTER);
    harness.call("POST", &format!("/webhooks/{}/test", webhook["id"]), None).await;
    harness.work().await;

    let (_, shown) = harness.call("GET", &format!("/webhooks/{}", webhook["id"]), None).await;
    assert_eq!(shown["disabled_reason"], Value::Null);
}

#[tokio::test]
async fn delivery_of_dead_worker_is_sent_after_its_lease() {
    let harness = Harness::new().await;
    harness.webhook().await;
    harness.app.fan_out(&harness.event(7)).await.unwrap();
    let name = harness.sent.hints.lock().unwrap().remove(0).name;
    let (delivery, _) = harness.app.api.store.webhook_delivery_and_endpoint(&name).await.unwrap();
    let delivery = delivery.unwrap();
    let leased = delivery.lease(harness.clock.now());
    harness.app.api.store.replace_webhook_delivery(&delivery, &leased).await.unwrap();

    harness.app.send(&name).await.unwrap();
    assert!(harness.got().is_empty(), "another worker may be sending it");
    harness.clock.advance(LEASE);
    harness.app.tick().await.unwrap();
    harness.work().await;
    assert_eq!(harness.got().len(), 1);
}

#[tokio::test]
async fn test_is_sent_immediately_and_only_once() {
    let harness = Harness::new().await;
    let webhook = harness.webhook().await;
    harness.respond_with(|| StatusCode::INTERNAL_SERVER_ERROR.into_response());
    let (status, delivery) = harness.call("POST", &format!("/webhooks/{}/test", webhook["id"]), None).await;
    assert_eq!((status, &delivery["event"]), (202, &json!("webhook.test")));
    harness.work().await;
    assert_eq!(harness.got().len(), 1);
    assert_eq!(harness.deliveries(&webhook).await[0]["status"], "failed");
}

#[tokio::test]
async fn deleted_webhook_receives_nothing() {
    let harness = Harness::new().await;
    let webhook = harness.webhook().await;
    harness.app.fan_out(&harness.event(7)).await.unwrap();
    assert_eq!(harness.call("DELETE", &format!("/webhooks/{}", webhook["id"]), None).await.0, 204);
    harness.work().await;
    assert!(harness.got().is_empty());
    assert_eq!(harness.call("GET", &format!("/webhooks/{}/deliveries", webhook["id"]), None).await.0, 404);
}

#[tokio::test]
async fn url_that_may_not_be_called_is_invalid() {
    let harness = Harness::new().await;
    for url in [
        "http://example.com/hook",
        "http://127.0.0.1:9/hook",
        "https://127.0.0.1/hook",
        "https://169.254.169.254/latest",
        "https://example.com:22/",
        "https://me@example.com/",
        "hook",
    ] {
        let (status, body) = harness.call("POST", "/webhooks", Some(json!({ "url": url }))).await;
        assert_eq!(status, 422, "{url}: {body}");
        assert!(body["errors"]["url"].is_array(), "{url}: {body}");
    }
    let wrong = json!({ "url": harness.url, "events": ["post.publishd", "post.failed", "post.failed"], "scret": 1 });
    let (_, body) = harness.call("POST", "/webhooks", Some(wrong)).await;
    let fields: Vec<_> = body["errors"].as_object().unwrap().keys().collect();
    assert_eq!(fields, ["events.0", "events.2", "scret"]);
}
