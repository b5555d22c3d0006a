use serde_json::{Value, json};

use crate::testing::{Harness, TestResponse};

const PROFILES: &str = "/api/v1/profiles";

async fn create(harness: &Harness, body: Value) -> TestResponse {
    harness.send_json("POST", PROFILES, &body).await
}

async fn created(harness: &Harness, body: Value) -> u64 {
    let created = create(harness, body).await;
    assert_eq!(created.status, 201, "{}", created.html);
    created.body["id"].as_u64().unwrap()
}

#[tokio::test]
async fn deleted_profile_is_erased_on_request_only() {
    let harness = Harness::new().await;
    let delete = async |name: &str, query: &str| {
        let id = created(&harness, json!({ "name": name })).await;
        (id, harness.delete(&format!("{PROFILES}/{id}?{query}")).await)
    };
    for query in ["", "erase=false", "erase="] {
        assert_eq!(delete("b", query).await.1.status, 204, "{query}");
    }
    let (id, deleted) = delete("c", "erase=true").await;
    assert_eq!(deleted.status, 204, "{}", deleted.html);

    let requested = harness.store().due_erasures(harness.clock.now(), 9).await.unwrap();
    assert_eq!(requested.iter().map(|it| it.profile_id.get()).collect::<Vec<_>>(), [id]);
}

#[tokio::test]
async fn plan_limits_the_number_of_profiles() {
    let harness = Harness::with_plan(json!({ "default": { "max_profiles": 1 } })).await;
    created(&harness, json!({ "name": "a" })).await;
    assert_eq!(create(&harness, json!({ "name": "b" })).await.status, 403);
}

#[tokio::test]
async fn token_stays_while_another_connection_of_the_account_uses_it() {
    let harness = Harness::new().await;
    let profile = created(&harness, json!({ "name": "a" })).await;
    harness.connect("7").await;
    let theirs = harness.connect_for(profile, "7").await;
    assert_eq!(harness.delete(&format!("/api/v1/connections/{theirs}")).await.status, 204);
    assert!(harness.platform.revoked().is_empty());
}

#[tokio::test]
async fn new_credentials_serve_every_connection_of_the_account() {
    let harness = Harness::new().await;
    let profile = created(&harness, json!({ "name": "a" })).await;
    let (own, theirs) = (harness.connect("7").await, harness.connect_for(profile, "7").await);
    harness.lose_grant(own).await;
    harness.lose_grant(theirs).await;

    harness.connect_for(profile, "7").await;

    let lost = harness.get("/api/v1/connections?status=needs_reconnection").await.body;
    assert_eq!(lost["data"], json!([]));
}

#[tokio::test]
async fn failed_flow_is_tried_again_for_the_same_profile() {
    let harness = Harness::new().await;
    let profile = created(&harness, json!({ "name": "a" })).await;
    let begun = harness.begin_for(profile).await;
    harness.visit(&format!("/connect/callback/plain?state={}&error=access_denied", begun.token)).await;

    let page = harness.page(&begun).await.html;

    assert!(page.contains(&format!("name=\"profile\" value=\"{profile}\"")), "{page}");
}

#[tokio::test]
async fn account_is_not_connected_for_a_profile_that_was_deleted_meanwhile() {
    let harness = Harness::new().await;
    let profile = created(&harness, json!({ "name": "a" })).await;
    let begun = harness.begin_for(profile).await;
    assert_eq!(harness.delete(&format!("{PROFILES}/{profile}")).await.status, 204);

    harness.callback(&begun, "7").await;
    assert_eq!(harness.poll(&begun).await.body, json!({ "status": "failed" }));
    assert_eq!(harness.platform.revoked(), ["access-7"]);
}
