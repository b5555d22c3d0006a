use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect};
use chrono::TimeDelta;
use domain::webhook::{DISABLED_AFTER, DisabledReason, LEASE, PLANNED_AHEAD, TRIES, WebhookSecret};
use serde_json::{Value, json};
use standardwebhooks::Webhook;

use super::*;
use crate::testing::{ReceivedMessage, WebhookHarness};

fn is_verified(got: &ReceivedMessage, secret: &WebhookSecret) -> bool {
    Webhook::new(secret.expose()).unwrap().verify(&got.body, &got.headers).is_ok()
}

async fn delivery_of(harness: &WebhookHarness, number: u64) -> WebhookDelivery {
    harness.service.fan_out(&harness.event(number)).await.unwrap();
    let name = harness.sent.hints.lock().unwrap().remove(0).name;
    stored(harness, &name).await
}

async fn stored(harness: &WebhookHarness, name: &WebhookDeliveryId) -> WebhookDelivery {
    harness.service.store.webhook_delivery_and_endpoint(name).await.unwrap().0.unwrap()
}

#[tokio::test]
async fn event_is_sent_once_signed_and_only_to_its_user() {
    let harness = WebhookHarness::new().await;
    let (endpoint, secret) = harness.enabled_endpoint().await;
    let event = harness.event(7);

    harness.service.fan_out(&event).await.unwrap();
    harness.service.fan_out(&event).await.unwrap();
    let mut other_users_event = harness.event(8);
    other_users_event.detail["user_id"] = "77".into();
    harness.service.fan_out(&other_users_event).await.unwrap();
    harness.work().await;

    let got = harness.got();
    assert_eq!(got.len(), 1);
    assert!(is_verified(&got[0], &secret));
    let payload: Value = serde_json::from_slice(&got[0].body).unwrap();
    assert_eq!(payload["type"], "post.published");
    assert_eq!(payload["data"], json!({ "post_id": 7 }));
    assert_eq!(got[0].headers["content-type"], "application/json");
    let delivery = &harness.deliveries(endpoint.webhook_id).await[0];
    assert_eq!((delivery.state, delivery.attempts[0].status), (WebhookDeliveryStatus::Delivered, Some(204)));
    assert_eq!(delivery.message.id.as_str(), got[0].headers["webhook-id"]);
}

#[tokio::test]
async fn failed_delivery_is_retried_on_schedule_and_found_by_tick() {
    let harness = WebhookHarness::new().await;
    let webhook = harness.enabled_endpoint().await.0.webhook_id;
    harness.respond_with(|| (StatusCode::INTERNAL_SERVER_ERROR, "out of order").into_response());
    harness.service.fan_out(&harness.event(7)).await.unwrap();

    let began = harness.clock.now();
    loop {
        harness.work().await;
        let delivery = harness.deliveries(webhook).await.remove(0);
        if delivery.state != WebhookDeliveryStatus::Waiting {
            break;
        }
        let next = delivery.next_step_at;
        // The tick queues a delivery before a long wait is over; the queue delays it until then.
        let queued_at = harness.clock.now().max(next - PLANNED_AHEAD + TimeDelta::minutes(1));
        harness.clock.advance(queued_at - harness.clock.now());
        harness.service.tick().await.unwrap();
        assert_eq!(harness.sent.hints.lock().unwrap().len(), 1);
        harness.clock.advance(next - queued_at + TimeDelta::seconds(1));
    }

    let got = harness.got();
    assert_eq!(got.len(), TRIES);
    assert!(got.iter().all(|it| it.headers["webhook-id"] == got[0].headers["webhook-id"] && it.body == got[0].body));
    let delivery = &harness.deliveries(webhook).await[0];
    let ended = (delivery.state, delivery.last_answer.as_deref());
    assert_eq!(ended, (WebhookDeliveryStatus::Failed, Some("out of order")));
    let lasted = harness.clock.now() - began;
    assert!(TimeDelta::hours(65) < lasted && lasted < TimeDelta::hours(85), "{lasted}");
}

#[tokio::test]
async fn redirect_is_not_followed_and_retry_after_is_obeyed() {
    let harness = WebhookHarness::new().await;
    let webhook = harness.enabled_endpoint().await.0.webhook_id;
    harness.respond_with(|| Redirect::temporary("/elsewhere").into_response());
    harness.service.fan_out(&harness.event(7)).await.unwrap();
    harness.work().await;
    assert_eq!(harness.got().len(), 1, "nothing at the redirect's target");

    harness.respond_with(|| (StatusCode::SERVICE_UNAVAILABLE, [("retry-after", "600")]).into_response());
    harness.clock.advance(TimeDelta::seconds(6));
    harness.work().await;
    assert_eq!(harness.got().len(), 1);
    let wait = harness.deliveries(webhook).await[0].next_step_at - harness.clock.now();
    assert!(TimeDelta::seconds(599) <= wait, "{wait}");
}

#[tokio::test]
async fn five_days_of_failures_disable_endpoint() {
    let harness = WebhookHarness::new().await;
    let webhook = harness.enabled_endpoint().await.0.webhook_id;
    harness.respond_with(|| StatusCode::BAD_GATEWAY.into_response());
    harness.service.fan_out(&harness.event(7)).await.unwrap();
    harness.work().await;
    let reason = async || harness.endpoint(webhook).await.disabled_reason;
    harness.clock.advance(DISABLED_AFTER);
    harness.service.fan_out(&harness.event(8)).await.unwrap();
    harness.work().await;
    assert_eq!(reason().await, None, "two failures, days apart");

    for _ in 0..12 {
        harness.clock.advance(TimeDelta::hours(27));
        harness.service.tick().await.unwrap();
        harness.work().await;
    }
    assert_eq!(reason().await, Some(DisabledReason::Failing));
}

#[tokio::test]
async fn gone_endpoint_is_disabled_once_and_receives_nothing_more() {
    let harness = WebhookHarness::new().await;
    let webhook = harness.enabled_endpoint().await.0.webhook_id;
    harness.respond_with(|| StatusCode::GONE.into_response());
    harness.service.fan_out(&harness.event(7)).await.unwrap();
    harness.service.fan_out(&harness.event(8)).await.unwrap();
    harness.work().await;

    assert_eq!(harness.got().len(), 1, "the second is not sent");
    assert_eq!(harness.endpoint(webhook).await.disabled_reason, Some(DisabledReason::Gone));
    let events = harness.sent.events.lock().unwrap().clone();
    assert_eq!(events.iter().map(|it| it.detail_type).collect::<Vec<_>>(), ["webhook.disabled"]);
}

#[tokio::test]
async fn leased_delivery_is_not_failed_until_the_lease_ends() {
    let harness = WebhookHarness::new().await;
    let webhook = harness.enabled_endpoint().await.0.webhook_id;
    let delivery = delivery_of(&harness, 7).await;
    let leased = delivery.lease(harness.clock.now());
    harness.service.store.replace_webhook_delivery(&delivery, &leased).await.unwrap();
    let now = harness.clock.now();
    harness.change(webhook, |before| before.with_changes(None, None, Some(true), now)).await;

    harness.service.send(&delivery.name()).await.unwrap();
    assert_eq!(stored(&harness, &delivery.name()).await, leased);

    harness.clock.advance(LEASE);
    harness.service.send(&delivery.name()).await.unwrap();
    assert_eq!(stored(&harness, &delivery.name()).await.state, WebhookDeliveryStatus::Failed);
    assert!(harness.got().is_empty());
}

#[tokio::test]
async fn failed_tests_do_not_disable_endpoint() {
    let harness = WebhookHarness::new().await;
    let webhook = harness.enabled_endpoint().await.0.webhook_id;
    harness.respond_with(|| StatusCode::BAD_GATEWAY.into_response());
    harness.service.send_test(harness.user.user_id, webhook).await.unwrap();
    harness.work().await;
    harness.clock.advance(DISABLED_AFTER);
    harness.service.send_test(harness.user.user_id, webhook).await.unwrap();
    harness.work().await;

    assert_eq!(harness.got().len(), 2);
    assert_eq!(harness.endpoint(webhook).await.disabled_reason, None);
}

#[tokio::test]
async fn delivery_of_dead_worker_is_sent_after_its_lease() {
    let harness = WebhookHarness::new().await;
    harness.enabled_endpoint().await;
    let delivery = delivery_of(&harness, 7).await;
    let leased = delivery.lease(harness.clock.now());
    harness.service.store.replace_webhook_delivery(&delivery, &leased).await.unwrap();

    harness.service.send(&delivery.name()).await.unwrap();
    assert!(harness.got().is_empty(), "another worker may be sending it");
    harness.clock.advance(LEASE);
    harness.service.tick().await.unwrap();
    harness.work().await;
    assert_eq!(harness.got().len(), 1);
}

#[tokio::test]
async fn test_is_sent_immediately_and_only_once() {
    let harness = WebhookHarness::new().await;
    let webhook = harness.enabled_endpoint().await.0.webhook_id;
    harness.respond_with(|| StatusCode::INTERNAL_SERVER_ERROR.into_response());
    harness.service.send_test(harness.user.user_id, webhook).await.unwrap();
    harness.work().await;
    assert_eq!(harness.got().len(), 1);
    assert_eq!(harness.deliveries(webhook).await[0].state, WebhookDeliveryStatus::Failed);
}

#[tokio::test]
async fn removed_endpoint_receives_nothing() {
    let harness = WebhookHarness::new().await;
    let webhook = harness.enabled_endpoint().await.0.webhook_id;
    harness.service.fan_out(&harness.event(7)).await.unwrap();
    assert!(harness.service.store.remove_webhook(harness.user.user_id, webhook).await.unwrap());
    harness.work().await;
    assert!(harness.got().is_empty());
}
