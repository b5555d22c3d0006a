//! The API of webhooks, with the deliveries that follow.

use axum::response::IntoResponse;
use chrono::TimeDelta;
use domain::webhook::ROTATION;
use http::StatusCode;
use serde_json::{Value, json};
use standardwebhooks::Webhook;
use webhook_delivery::testing::ReceivedMessage;

use crate::testing::Harness;

fn is_verified(got: &ReceivedMessage, secret: &Value) -> bool {
    Webhook::new(secret.as_str().unwrap()).unwrap().verify(&got.body, &got.headers).is_ok()
}

#[tokio::test]
async fn unverified_endpoint_receives_only_tests() {
    let harness = Harness::new().await;
    let webhook = harness.create_unverified().await;
    let path = format!("/webhooks/{}", webhook["id"]);
    let test = async || {
        let (accepted, delivery) = harness.call("POST", &format!("{path}/test"), None).await;
        assert_eq!((accepted, &delivery["event"]), (202, &json!("webhook.test")));
    };
    let status = async || harness.call("GET", &path, None).await.1["status"].clone();
    let types = || {
        let bodies = harness.got().into_iter().map(|it| serde_json::from_slice::<Value>(&it.body).unwrap());
        bodies.map(|it| it["type"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(webhook["status"], "unverified");
    harness.respond_with(|| StatusCode::INTERNAL_SERVER_ERROR.into_response());
    for number in 1..=3 {
        harness.service.fan_out(&harness.event(number)).await.unwrap();
    }
    test().await;
    test().await;
    harness.work().await;
    assert_eq!((types(), status().await), (vec!["webhook.test".to_owned(); 2], json!("unverified")));
    let failed = harness.list_deliveries(&webhook).await[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(harness.call("POST", &format!("{path}/deliveries/{failed}/redeliver"), None).await.0, 202);
    harness.work().await;
    assert_eq!((types(), status().await), (vec!["webhook.test".to_owned()], json!("unverified")));

    harness.respond_with(|| StatusCode::OK.into_response());
    test().await;
    harness.work().await;
    harness.service.fan_out(&harness.event(4)).await.unwrap();
    harness.work().await;
    assert_eq!(
        (types(), status().await),
        (vec!["webhook.test".to_owned(), "post.published".to_owned()], json!("enabled"))
    );

    // A delivery that is waiting when the URL changes is not sent to the new URL.
    harness.respond_with(|| StatusCode::INTERNAL_SERVER_ERROR.into_response());
    harness.service.fan_out(&harness.event(5)).await.unwrap();
    harness.work().await;
    assert_eq!(types(), ["post.published"]);
    let moved = json!({ "url": format!("{}/moved", harness.url) });
    assert_eq!(harness.call("PATCH", &path, Some(moved)).await.1["status"], "unverified");
    harness.respond_with(|| StatusCode::OK.into_response());
    harness.clock.advance(TimeDelta::seconds(6));
    harness.work().await;
    let deliveries = harness.list_deliveries(&webhook).await;
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
async fn replaced_secrets_verify_for_a_day() {
    let harness = Harness::new().await;
    let old = harness.webhook().await;
    let rotate = format!("/webhooks/{}/rotate", old["id"]);
    let (status, unread) = harness.call("POST", &rotate, None).await;
    assert_eq!(status, 200, "{unread}");
    // A client that lost the response rotates again.
    let (_, new) = harness.call("POST", &rotate, None).await;

    harness.service.fan_out(&harness.event(7)).await.unwrap();
    harness.work().await;
    let got = &harness.got()[0];
    assert!(is_verified(got, &old["secret"]) && is_verified(got, &new["secret"]));
    harness.clock.advance(ROTATION);
    harness.service.fan_out(&harness.event(8)).await.unwrap();
    harness.work().await;
    let signatures = harness.got()[0].headers["webhook-signature"].to_str().unwrap().to_owned();
    assert_eq!(signatures.split(' ').filter(|it| it.starts_with("v1,")).count(), 1);
}
