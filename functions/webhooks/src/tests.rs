//! The API of webhooks, with the deliveries that follow.

use axum::response::IntoResponse;
use chrono::TimeDelta;
use domain::id::WebhookId;
use domain::testing::a_profile;
use domain::webhook::ROTATION;
use http::StatusCode;
use serde_json::{Value, json};
use standardwebhooks::Webhook;
use webhook_delivery::testing::ReceivedMessage;

use crate::testing::{Harness, webhook_id};

fn is_verified(got: &ReceivedMessage, secret: &Value) -> bool {
    Webhook::new(secret.as_str().unwrap()).unwrap().verify(&got.body, &got.headers).is_ok()
}

#[tokio::test]
async fn delivered_event_is_listed_with_its_attempt() {
    let harness = Harness::new().await;
    let webhook = harness.webhook().await;

    harness.service.fan_out(&harness.event(7)).await.unwrap();
    harness.work().await;

    let got = harness.got();
    assert!(is_verified(&got[0], &webhook["secret"]));
    let delivery = &harness.list_deliveries(&webhook).await[0];
    assert_eq!((&delivery["status"], &delivery["attempts"][0]["status"]), (&json!("delivered"), &json!(204)));
    assert_eq!(delivery["id"].as_str(), got[0].headers["webhook-id"].to_str().ok());
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
async fn public_key_verifies_signature() {
    use ring::signature::{ED25519, UnparsedPublicKey};
    let harness = Harness::new().await;
    harness.webhook().await;
    let (_, key) = harness.call("GET", "/webhooks/key", None).await;

    harness.service.fan_out(&harness.event(7)).await.unwrap();
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

#[tokio::test]
async fn gone_endpoint_is_disabled_and_other_endpoints_are_notified() {
    let harness = Harness::new().await;
    let gone = harness.webhook().await;
    harness.respond_with(|| StatusCode::GONE.into_response());
    harness.service.fan_out(&harness.event(7)).await.unwrap();
    harness.service.fan_out(&harness.event(8)).await.unwrap();
    harness.work().await;

    assert_eq!(harness.got().len(), 1, "the second is not sent");
    let (_, shown) = harness.call("GET", &format!("/webhooks/{}", gone["id"]), None).await;
    assert_eq!((&shown["disabled"], &shown["disabled_reason"]), (&json!(true), &json!("gone")));
    let events = harness.sent.events.lock().unwrap().clone();
    assert_eq!(events.iter().map(|it| it.detail_type).collect::<Vec<_>>(), ["webhook.disabled"]);

    harness.respond_with(|| StatusCode::OK.into_response());
    harness.webhook().await;
    harness.service.fan_out(&events[0]).await.unwrap();
    harness.work().await;
    let got = harness.got();
    assert_eq!(got.len(), 1, "only to the other endpoint");
    let payload: Value = serde_json::from_slice(&got[0].body).unwrap();
    assert_eq!(payload["data"]["webhook_id"], gone["id"]);
    let redeliver =
        format!("/webhooks/{}/deliveries/{}/redeliver", gone["id"], harness.list_deliveries(&gone).await[0]["id"]);
    assert_eq!(harness.call("POST", &redeliver.replace('"', ""), None).await.0, 422);
    let back = harness.call("PATCH", &format!("/webhooks/{}", gone["id"]), Some(json!({ "disabled": false }))).await;
    assert_eq!(back.1["disabled_at"], Value::Null);
    assert_eq!(harness.call("POST", &redeliver.replace('"', ""), None).await.0, 202);
    harness.work().await;
    assert_eq!(harness.got().len(), 1);
}

#[tokio::test]
async fn deleted_webhook_receives_nothing() {
    let harness = Harness::new().await;
    let webhook = harness.webhook().await;
    harness.service.fan_out(&harness.event(7)).await.unwrap();
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

#[tokio::test]
async fn limited_token_sees_and_creates_only_webhooks_of_its_profile() {
    let harness = Harness::new().await;
    let (profile, other) = (a_profile(&harness.user), a_profile(&harness.user));
    for profile in [&profile, &other] {
        harness.app.api.store.create_profile(profile, None).await.unwrap();
    }
    let (token, of_other) = (harness.limited_token(&profile).await, harness.limited_token(&other).await);
    let call = async |method: &str, path: &str| harness.call_with(&token, method, path, None).await;
    let create = async |token| {
        let (status, created) =
            harness.call_with(token, "POST", "/webhooks", Some(json!({ "url": harness.url }))).await;
        assert_eq!(status, 201, "{created}");
        harness.verify(webhook_id(&created)).await;
        created["id"].as_u64().unwrap()
    };
    let everything = webhook_id(&harness.webhook().await).get();
    let (theirs, own) = (create(&of_other).await, create(&token).await);
    harness.service.fan_out(&harness.event(7)).await.unwrap();
    let delivery = harness.deliveries(WebhookId::new(everything).unwrap()).await.remove(0).message.id;

    let (_, listed) = call("GET", "/webhooks").await;
    assert_eq!(listed["data"].as_array().unwrap().iter().map(|it| it["id"].as_u64()).collect::<Vec<_>>(), [Some(own)]);
    for id in [everything, theirs] {
        for (method, path) in [
            ("GET", String::new()),
            ("PATCH", String::new()),
            ("DELETE", String::new()),
            ("POST", "/test".to_owned()),
            ("POST", "/rotate".to_owned()),
            ("GET", "/deliveries".to_owned()),
            ("POST", format!("/deliveries/{delivery}/redeliver")),
        ] {
            let (status, body) = call(method, &format!("/webhooks/{id}{path}")).await;
            assert_eq!(status, 404, "{method} {path}: {body}");
        }
    }
    let page = harness.page("/account/webhooks").await;
    assert!(page.contains(&format!("only the events of the customer <bdi>{}</bdi>", profile.profile_id)), "{page}");
    assert_eq!(call("GET", &format!("/webhooks/{own}/deliveries")).await.0, 200);
    assert_eq!(call("POST", &format!("/webhooks/{own}/rotate")).await.0, 200);
    assert_eq!(call("DELETE", &format!("/webhooks/{own}")).await.0, 204);
    let (_, all) = harness.call("GET", "/webhooks", None).await;
    assert_eq!(all["data"].as_array().unwrap().len(), 2);
}
