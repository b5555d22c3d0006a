use axum::response::{IntoResponse, Redirect};
use chrono::TimeDelta;
use domain::webhook::{DISABLED_AFTER, LEASE, PLANNED_AHEAD, ROTATION, TRIES};
use http::StatusCode;
use serde_json::{Value, json};
use standardwebhooks::Webhook;

use crate::testing::{Got, Harness};

fn verifies(got: &Got, secret: &Value) -> bool {
    Webhook::new(secret.as_str().unwrap()).unwrap().verify(&got.body, &got.headers).is_ok()
}

#[tokio::test]
async fn what_happened_is_told_once_signed_and_to_its_user_alone() {
    let world = Harness::new().await;
    let webhook = world.webhook().await;
    let event = world.event(7);

    world.app.fan_out(&event).await.unwrap();
    world.app.fan_out(&event).await.unwrap();
    let mut of_another = world.event(8);
    of_another.detail["user_id"] = "77".into();
    world.app.fan_out(&of_another).await.unwrap();
    world.work().await;

    let got = world.got();
    assert_eq!(got.len(), 1);
    assert!(verifies(&got[0], &webhook["secret"]));
    let payload: Value = serde_json::from_slice(&got[0].body).unwrap();
    assert_eq!(payload["type"], "post.published");
    assert_eq!(payload["data"], json!({ "post_id": 7 }));
    assert_eq!(got[0].headers["content-type"], "application/json");
    let delivery = &world.deliveries(&webhook).await[0];
    assert_eq!((&delivery["status"], &delivery["attempts"][0]["status"]), (&json!("delivered"), &json!(204)));
    assert_eq!(delivery["id"].as_str(), got[0].headers["webhook-id"].to_str().ok());
}

#[tokio::test]
async fn an_unverified_endpoint_gets_exactly_its_tests() {
    let world = Harness::new().await;
    let webhook = world.unverified().await;
    let path = format!("/webhooks/{}", webhook["id"]);
    let test = async || assert_eq!(world.call("POST", &format!("{path}/test"), None).await.0, 202);
    let status = async || world.call("GET", &path, None).await.1["status"].clone();
    let types = || {
        let bodies = world.got().into_iter().map(|it| serde_json::from_slice::<Value>(&it.body).unwrap());
        bodies.map(|it| it["type"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(webhook["status"], "unverified");
    world.answer(|| StatusCode::INTERNAL_SERVER_ERROR.into_response());
    for number in 1..=3 {
        world.app.fan_out(&world.event(number)).await.unwrap();
    }
    test().await;
    test().await;
    world.work().await;
    assert_eq!((types(), status().await), (vec!["webhook.test".to_owned(); 2], json!("unverified")));

    world.answer(|| StatusCode::OK.into_response());
    test().await;
    world.work().await;
    world.app.fan_out(&world.event(4)).await.unwrap();
    world.work().await;
    assert_eq!(
        (types(), status().await),
        (vec!["webhook.test".to_owned(), "post.published".to_owned()], json!("enabled"))
    );

    // What waits when the address changes is not sent to the new one.
    world.answer(|| StatusCode::INTERNAL_SERVER_ERROR.into_response());
    world.app.fan_out(&world.event(5)).await.unwrap();
    world.work().await;
    assert_eq!(types(), ["post.published"]);
    let moved = json!({ "url": format!("{}/moved", world.url) });
    assert_eq!(world.call("PATCH", &path, Some(moved)).await.1["status"], "unverified");
    world.answer(|| StatusCode::OK.into_response());
    world.clock.advance(TimeDelta::seconds(6));
    world.work().await;
    let deliveries = world.deliveries(&webhook).await;
    let waited = deliveries.iter().find(|it| it["payload"]["data"]["post_id"] == 5).unwrap();
    assert_eq!((types(), &waited["status"]), (vec![], &json!("failed")));
    let again = format!("{path}/deliveries/{}/redeliver", waited["id"].as_str().unwrap());
    let (refused, body) = world.call("POST", &again, None).await;
    assert_eq!((refused, body["errors"]["status"].is_array()), (422, true), "{body}");
    test().await;
    world.work().await;
    assert_eq!(world.call("POST", &again, None).await.0, 202);
    world.work().await;
    assert_eq!(types(), ["webhook.test", "post.published"]);
}

#[tokio::test]
async fn a_webhook_shows_only_until_when_the_secret_before_signs() {
    let world = Harness::new().await;
    let webhook = world.webhook().await;
    let path = format!("/webhooks/{}", webhook["id"]);
    world.call("POST", &format!("{path}/rotate"), None).await;
    let until = async || world.call("GET", &path, None).await.1["previous_secret_until"].clone();
    assert!(until().await.is_string());
    world.clock.advance(ROTATION);
    assert_eq!(until().await, Value::Null);
}

#[tokio::test]
async fn the_public_key_verifies_what_the_deployment_signed() {
    use ring::signature::{ED25519, UnparsedPublicKey};
    let world = Harness::new().await;
    world.webhook().await;
    let (_, key) = world.call("GET", "/webhooks/key", None).await;

    world.app.fan_out(&world.event(7)).await.unwrap();
    world.work().await;

    let got = &world.got()[0];
    let header = |name: &str| got.headers[name].to_str().unwrap();
    let content = [header("webhook-id").as_bytes(), header("webhook-timestamp").as_bytes(), &got.body].join(&b'.');
    let signature = header("webhook-signature").split(' ').find_map(|it| it.strip_prefix("v1a,")).unwrap();
    let decoded = |text: &str| base64::Engine::decode(&base64::engine::general_purpose::STANDARD, text).unwrap();
    let public = key["public_key"].as_str().unwrap().strip_prefix("whpk_").unwrap();
    UnparsedPublicKey::new(&ED25519, decoded(public)).verify(&content, &decoded(signature)).unwrap();
}

#[tokio::test]
async fn the_secrets_before_verify_for_a_day() {
    let world = Harness::new().await;
    let old = world.webhook().await;
    let rotate = format!("/webhooks/{}/rotate", old["id"]);
    let (status, unread) = world.call("POST", &rotate, None).await;
    assert_eq!(status, 200, "{unread}");
    // Whoever did not get that answer rotates again.
    let (_, new) = world.call("POST", &rotate, None).await;

    world.app.fan_out(&world.event(7)).await.unwrap();
    world.work().await;
    let got = &world.got()[0];
    assert!(verifies(got, &old["secret"]) && verifies(got, &new["secret"]));
    world.clock.advance(ROTATION);
    world.app.fan_out(&world.event(8)).await.unwrap();
    world.work().await;
    let signatures = world.got()[0].headers["webhook-signature"].to_str().unwrap().to_owned();
    assert_eq!(signatures.split(' ').filter(|it| it.starts_with("v1,")).count(), 1);
}

#[tokio::test]
async fn what_fails_is_tried_by_the_schedule_and_found_by_the_tick() {
    let world = Harness::new().await;
    let webhook = world.webhook().await;
    world.answer(|| (StatusCode::INTERNAL_SERVER_ERROR, "out of order").into_response());
    world.app.fan_out(&world.event(7)).await.unwrap();

    let began = world.clock.now();
    while world.deliveries(&webhook).await[0]["status"] == "waiting" {
        world.work().await;
        let delivery = world.deliveries(&webhook).await.remove(0);
        let Some(next) = delivery["next_attempt_at"].as_str() else { break };
        let next = domain::schedule::parse_instant(next).unwrap();
        // The tick hears of a long wait before it is over, and the queue does the rest.
        let heard = world.clock.now().max(next - PLANNED_AHEAD + TimeDelta::minutes(1));
        world.clock.advance(heard - world.clock.now());
        world.app.tick().await.unwrap();
        assert_eq!(world.sent.hints.lock().unwrap().len(), 1);
        world.clock.advance(next - heard + TimeDelta::seconds(1));
    }

    let got = world.got();
    assert_eq!(got.len(), TRIES);
    assert!(got.iter().all(|it| it.headers["webhook-id"] == got[0].headers["webhook-id"] && it.body == got[0].body));
    let delivery = &world.deliveries(&webhook).await[0];
    assert_eq!((&delivery["status"], &delivery["last_answer"]), (&json!("failed"), &json!("out of order")));
    let lasted = world.clock.now() - began;
    assert!(TimeDelta::hours(65) < lasted && lasted < TimeDelta::hours(85), "{lasted}");
}

#[tokio::test]
async fn no_redirect_is_followed_and_a_wait_that_is_asked_for_is_kept() {
    let world = Harness::new().await;
    let webhook = world.webhook().await;
    world.answer(|| Redirect::temporary("/elsewhere").into_response());
    world.app.fan_out(&world.event(7)).await.unwrap();
    world.work().await;
    assert_eq!(world.got().len(), 1, "and nothing at the other place");

    world.answer(|| (StatusCode::SERVICE_UNAVAILABLE, [("retry-after", "600")]).into_response());
    world.clock.advance(TimeDelta::seconds(6));
    world.work().await;
    assert_eq!(world.got().len(), 1);
    let next = world.deliveries(&webhook).await[0]["next_attempt_at"].as_str().unwrap().to_owned();
    let wait = domain::schedule::parse_instant(&next).unwrap() - world.clock.now();
    assert!(TimeDelta::seconds(599) <= wait, "{wait}");
}

#[tokio::test]
async fn one_that_is_gone_is_disabled_and_the_others_hear_of_it() {
    let world = Harness::new().await;
    let gone = world.webhook().await;
    world.answer(|| StatusCode::GONE.into_response());
    world.app.fan_out(&world.event(7)).await.unwrap();
    world.app.fan_out(&world.event(8)).await.unwrap();
    world.work().await;

    assert_eq!(world.got().len(), 1, "the second is not sent any more");
    let (_, shown) = world.call("GET", &format!("/webhooks/{}", gone["id"]), None).await;
    assert_eq!((&shown["disabled"], &shown["disabled_reason"]), (&json!(true), &json!("gone")));
    let events = world.sent.events.lock().unwrap().clone();
    assert_eq!(events.iter().map(|it| it.detail_type).collect::<Vec<_>>(), ["webhook.disabled"]);

    world.answer(|| StatusCode::OK.into_response());
    world.webhook().await;
    world.app.fan_out(&events[0]).await.unwrap();
    world.work().await;
    let got = world.got();
    assert_eq!(got.len(), 1, "only the other");
    let payload: Value = serde_json::from_slice(&got[0].body).unwrap();
    assert_eq!(payload["data"]["webhook_id"], gone["id"]);
    let redeliver = format!("/webhooks/{}/deliveries/{}/redeliver", gone["id"], world.deliveries(&gone).await[0]["id"]);
    assert_eq!(world.call("POST", &redeliver.replace('"', ""), None).await.0, 422);
    let back = world.call("PATCH", &format!("/webhooks/{}", gone["id"]), Some(json!({ "disabled": false }))).await;
    assert_eq!(back.1["disabled_at"], Value::Null);
    assert_eq!(world.call("POST", &redeliver.replace('"', ""), None).await.0, 202);
    world.work().await;
    assert_eq!(world.got().len(), 1);
}

#[tokio::test]
async fn five_days_of_failures_disable_an_endpoint() {
    let world = Harness::new().await;
    let webhook = world.webhook().await;
    world.answer(|| StatusCode::BAD_GATEWAY.into_response());
    world.app.fan_out(&world.event(7)).await.unwrap();
    world.work().await;
    let reason = async || {
        let (_, shown) = world.call("GET", &format!("/webhooks/{}", webhook["id"]), None).await;
        shown["disabled_reason"].clone()
    };
    world.clock.advance(DISABLED_AFTER);
    world.app.fan_out(&world.event(8)).await.unwrap();
    world.work().await;
    assert_eq!(reason().await, Value::Null, "two failures, days apart");

    // Until nothing is tried any more.
    for _ in 0..12 {
        world.clock.advance(TimeDelta::hours(27));
        world.app.tick().await.unwrap();
        world.work().await;
    }
    assert_eq!(reason().await, "failing");
}

#[tokio::test]
async fn what_somebody_holds_is_not_dropped_under_their_hands() {
    let world = Harness::new().await;
    let webhook = world.webhook().await;
    world.app.fan_out(&world.event(7)).await.unwrap();
    let name = world.sent.hints.lock().unwrap().remove(0).name;
    let notice = world.app.api.store.webhook_delivery_and_endpoint(&name).await.unwrap().0.unwrap();
    let held = notice.lease(world.clock.now());
    world.app.api.store.replace_webhook_delivery(&notice, &held).await.unwrap();
    world.call("PATCH", &format!("/webhooks/{}", webhook["id"]), Some(json!({ "disabled": true }))).await;

    world.app.send(&name).await.unwrap();
    let kept = world.app.api.store.webhook_delivery_and_endpoint(&name).await.unwrap().0.unwrap();
    assert_eq!(kept, held);

    world.clock.advance(LEASE);
    world.app.send(&name).await.unwrap();
    assert_eq!(world.deliveries(&webhook).await[0]["status"], "failed");
    assert!(world.got().is_empty());
}

#[tokio::test]
async fn a_test_that_fails_says_nothing_of_an_endpoint() {
    let world = Harness::new().await;
    let webhook = world.webhook().await;
    world.answer(|| StatusCode::BAD_GATEWAY.into_response());
    world.call("POST", &format!("/webhooks/{}/test", webhook["id"]), None).await;
    world.work().await;
    world.clock.advance(DISABLED_AFTER);
    world.call("POST", &format!("/webhooks/{}/test", webhook["id"]), None).await;
    world.work().await;

    let (_, shown) = world.call("GET", &format!("/webhooks/{}", webhook["id"]), None).await;
    assert_eq!(shown["disabled_reason"], Value::Null);
}

#[tokio::test]
async fn what_a_dead_worker_held_is_sent_by_the_next() {
    let world = Harness::new().await;
    world.webhook().await;
    world.app.fan_out(&world.event(7)).await.unwrap();
    let name = world.sent.hints.lock().unwrap().remove(0).name;
    let (notice, _) = world.app.api.store.webhook_delivery_and_endpoint(&name).await.unwrap();
    let notice = notice.unwrap();
    let held = notice.lease(world.clock.now());
    world.app.api.store.replace_webhook_delivery(&notice, &held).await.unwrap();

    world.app.send(&name).await.unwrap();
    assert!(world.got().is_empty(), "somebody may be at work");
    world.clock.advance(LEASE);
    world.app.tick().await.unwrap();
    world.work().await;
    assert_eq!(world.got().len(), 1);
}

#[tokio::test]
async fn a_test_is_sent_at_once_and_only_once() {
    let world = Harness::new().await;
    let webhook = world.webhook().await;
    world.answer(|| StatusCode::INTERNAL_SERVER_ERROR.into_response());
    let (status, delivery) = world.call("POST", &format!("/webhooks/{}/test", webhook["id"]), None).await;
    assert_eq!((status, &delivery["event"]), (202, &json!("webhook.test")));
    world.work().await;
    assert_eq!(world.got().len(), 1);
    assert_eq!(world.deliveries(&webhook).await[0]["status"], "failed");
}

#[tokio::test]
async fn what_is_deleted_is_told_nothing() {
    let world = Harness::new().await;
    let webhook = world.webhook().await;
    world.app.fan_out(&world.event(7)).await.unwrap();
    assert_eq!(world.call("DELETE", &format!("/webhooks/{}", webhook["id"]), None).await.0, 204);
    world.work().await;
    assert!(world.got().is_empty());
    assert_eq!(world.call("GET", &format!("/webhooks/{}/deliveries", webhook["id"]), None).await.0, 404);
}

#[tokio::test]
async fn an_address_that_may_not_be_called_is_refused() {
    let world = Harness::new().await;
    for url in [
        "http://example.com/hook",
        "http://127.0.0.1:9/hook",
        "https://127.0.0.1/hook",
        "https://169.254.169.254/latest",
        "https://example.com:22/",
        "https://me@example.com/",
        "hook",
    ] {
        let (status, body) = world.call("POST", "/webhooks", Some(json!({ "url": url }))).await;
        assert_eq!(status, 422, "{url}: {body}");
        assert!(body["errors"]["url"].is_array(), "{url}: {body}");
    }
    let wrong = json!({ "url": world.url, "events": ["post.publishd", "post.failed", "post.failed"], "scret": 1 });
    let (_, body) = world.call("POST", "/webhooks", Some(wrong)).await;
    let fields: Vec<_> = body["errors"].as_object().unwrap().keys().collect();
    assert_eq!(fields, ["events.0", "events.2", "scret"]);
}
