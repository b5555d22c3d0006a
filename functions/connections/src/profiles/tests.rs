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
async fn profile_is_created_found_renamed_and_deleted() {
    let harness = Harness::new().await;
    let id = created(&harness, json!({ "name": " The Harbor ", "external_id": "c-1" })).await;
    let other = created(&harness, json!({ "name": "The Pier" })).await;
    let path = format!("{PROFILES}/{id}");

    let shown = harness.get(&path).await.body;
    assert_eq!((&shown["name"], &shown["external_id"]), (&json!("The Harbor"), &json!("c-1")));
    let listed = harness.get(&format!("{PROFILES}?per_page=1&page=2")).await.body;
    assert_eq!((&listed["data"][0]["id"], &listed["meta"]["total"]), (&json!(other), &json!(2)));
    let found = harness.get(&format!("{PROFILES}?external_id=c-1")).await.body;
    assert_eq!((&found["data"], &found["meta"]["total"]), (&json!([shown]), &json!(1)));
    assert_eq!(
        harness.send_json("PATCH", &path, &json!({ "name": "The Lighthouse" })).await.body["name"],
        "The Lighthouse"
    );
    assert_eq!(harness.delete(&path).await.status, 204);
    assert_eq!((harness.get(&path).await.status, harness.delete(&path).await.status), (404, 404));
}

#[tokio::test]
async fn deleted_profile_is_erased_on_request_only() {
    let harness = Harness::new().await;
    let delete = async |name: &str, query: &str| {
        let id = created(&harness, json!({ "name": name })).await;
        (id, harness.delete(&format!("{PROFILES}/{id}?{query}")).await)
    };
    for query in ["erase=1", "erase=True", "erase=true&erase=true", "eras=true"] {
        let (id, refused) = delete("a", query).await;
        let field = query.split('=').next().unwrap();
        assert_eq!((refused.status, refused.body["errors"][field].is_array()), (422, true), "{query}");
        assert_eq!(harness.get(&format!("{PROFILES}/{id}")).await.status, 200);
    }
    for query in ["", "erase=false", "erase="] {
        assert_eq!(delete("b", query).await.1.status, 204, "{query}");
    }
    let (id, deleted) = delete("c", "erase=true").await;
    assert_eq!(deleted.status, 204, "{}", deleted.html);

    let requested = harness.store().due_erasures(harness.clock.now(), 9).await.unwrap();
    assert_eq!(requested.iter().map(|it| it.profile_id.get()).collect::<Vec<_>>(), [id]);
}

#[tokio::test]
async fn invalid_profile_has_an_error_for_each_field() {
    let harness = Harness::with_plan(json!({ "default": { "max_profiles": 1 } })).await;
    for (body, field) in [
        (json!({}), "name"),
        (json!({ "name": " " }), "name"),
        (json!({ "name": "x".repeat(101) }), "name"),
        (json!({ "name": "a", "external_id": "" }), "external_id"),
        (json!({ "name": "a", "color": "blue" }), "color"),
    ] {
        let refused = create(&harness, body.clone()).await;
        assert_eq!((refused.status, refused.body["errors"][field].is_array()), (422, true), "{body}");
    }
    let id = created(&harness, json!({ "name": "a", "external_id": "c-1" })).await;
    assert_eq!(create(&harness, json!({ "name": "b" })).await.status, 403);
    let renamed = harness.send_json("PATCH", &format!("{PROFILES}/{id}"), &json!({ "external_id": "c-2" })).await;
    assert_eq!((renamed.status, renamed.body["errors"]["name"].is_array()), (422, true), "{}", renamed.html);
}

#[tokio::test]
async fn account_is_connected_once_for_each_profile_and_once_for_the_user() {
    let harness = Harness::new().await;
    let profile = created(&harness, json!({ "name": "a", "external_id": "c-1" })).await;
    let own = harness.connect("7").await;
    let theirs = harness.connect_for(profile, "7").await;
    assert_ne!(own, theirs);
    assert_eq!(harness.connect_for(profile, "7").await, theirs);

    let ids = async |query: &str| {
        let listed = harness.get(&format!("/api/v1/connections{query}")).await.body;
        let data = listed["data"].as_array().unwrap().clone();
        data.iter().map(|it| (it["id"].as_u64().unwrap(), it["profile_id"].as_u64())).collect::<Vec<_>>()
    };
    assert_eq!(ids("").await, [(own, None), (theirs, Some(profile))]);
    assert_eq!(ids(&format!("?profile_id={profile}")).await, [(theirs, Some(profile))]);
    assert_eq!(ids("?profile_id=1").await, []);

    let kept = harness.delete(&format!("{PROFILES}/{profile}")).await;
    assert_eq!(kept.status, 409, "{}", kept.html);
    assert_eq!(harness.delete(&format!("/api/v1/connections/{theirs}")).await.status, 204);
    assert_eq!(harness.delete(&format!("{PROFILES}/{profile}")).await.status, 204);
    assert!(harness.platform.revoked().is_empty(), "the grant serves the account of the user");
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
async fn account_is_not_connected_for_a_profile_that_is_gone_or_of_another_user() {
    let harness = Harness::new().await;
    let profile = created(&harness, json!({ "name": "a" })).await;
    let begun = harness.begin_for(profile).await;
    assert_eq!(harness.delete(&format!("{PROFILES}/{profile}")).await.status, 204);

    harness.callback(&begun, "7").await;
    assert_eq!(harness.poll(&begun).await.body, json!({ "status": "failed" }));
    assert_eq!(harness.platform.revoked(), ["access-7"]);
    for id in ["", "1", "x", &profile.to_string()] {
        let refused = harness.post(&format!("/api/v1/connections/connect/plain?profile_id={id}")).await;
        assert_eq!((refused.status, refused.body["errors"]["profile_id"].is_array()), (422, true), "{id}");
    }
    let theirs = created(&harness, json!({ "name": "a" })).await;
    assert_eq!(harness.get_as_another(&format!("{PROFILES}/{theirs}")).await.status, 404);
    assert_eq!(harness.delete_as_another(&format!("{PROFILES}/{theirs}")).await.status, 404);
}

#[tokio::test]
async fn limited_token_sees_only_the_connections_of_its_profile() {
    let harness = Harness::new().await;
    let (profile, other) = (
        created(&harness, json!({ "name": "a", "external_id": "c-1" })).await,
        created(&harness, json!({ "name": "b", "external_id": "c-2" })).await,
    );
    let theirs = [harness.connect("7").await, harness.connect_for(other, "7").await];
    let own = harness.connect_for(profile, "7").await;
    let token = harness.limited_token(profile).await;
    let call = async |method: &str, path: &str| harness.call_with(&token, method, &format!("/api/v1{path}")).await;

    let listed = call("GET", "/connections").await.body;
    assert_eq!(listed["data"].as_array().unwrap().iter().map(|it| it["id"].as_u64()).collect::<Vec<_>>(), [Some(own)]);
    assert_eq!(call("GET", &format!("/connections?profile_id={other}")).await.body["data"], json!([]));
    for id in theirs {
        assert_eq!(call("GET", &format!("/connections/{id}")).await.status, 404);
        assert_eq!(call("GET", &format!("/connections/{id}/choices/board")).await.status, 404);
        assert_eq!(call("DELETE", &format!("/connections/{id}")).await.status, 404);
        assert_eq!(call("DELETE", &format!("/connections/{id}?x=1")).await.status, 404);
    }
    assert_eq!(call("GET", &format!("/connections/{own}")).await.status, 200);
    assert_eq!(call("DELETE", &format!("/connections/{own}")).await.status, 204);
}

#[tokio::test]
async fn limited_token_connects_accounts_only_for_its_profile() {
    let harness = Harness::new().await;
    let (profile, other) =
        (created(&harness, json!({ "name": "a" })).await, created(&harness, json!({ "name": "b" })).await);
    let token = harness.limited_token(profile).await;
    let call = async |method: &str, path: &str| harness.call_with(&token, method, &format!("/api/v1{path}")).await;
    let status = |state: &str| format!("/connections/connect/plain/status/{state}");

    let refused = call("POST", &format!("/connections/connect/plain?profile_id={other}")).await;
    assert_eq!((refused.status, refused.body["errors"]["profile_id"].is_array()), (422, true), "{}", refused.html);
    assert_eq!(call("GET", &status(&harness.begin_for(other).await.token)).await.status, 404);
    for path in ["/connections/connect/plain".to_owned(), format!("/connections/connect/plain?profile_id={profile}")] {
        let begun = call("POST", &path).await;
        assert_eq!(begun.status, 201, "{}", begun.html);
        let state = begun.body["state_token"].as_str().unwrap();
        harness.visit(&format!("/connect/callback/plain?state={state}&code=7")).await;
        let polled = call("GET", &status(state)).await.body;
        assert_eq!(polled["connection"]["profile_id"], json!(profile), "{polled}");
    }
}

#[tokio::test]
async fn limited_token_reads_its_profile_and_changes_none() {
    let harness = Harness::new().await;
    let (profile, other) = (
        created(&harness, json!({ "name": "a", "external_id": "c-1" })).await,
        created(&harness, json!({ "name": "b", "external_id": "c-2" })).await,
    );
    let token = harness.limited_token(profile).await;
    let get = async |path: &str| harness.call_with(&token, "GET", &format!("{PROFILES}{path}")).await;

    let listed = get("").await.body;
    assert_eq!((&listed["data"][0]["id"], &listed["meta"]["total"]), (&json!(profile), &json!(1)));
    assert_eq!(get("?external_id=c-2").await.body["data"], json!([]));
    assert_eq!((get(&format!("/{profile}")).await.status, get(&format!("/{other}")).await.status), (200, 404));
    for (method, path) in [("POST", String::new()), ("PATCH", format!("/{profile}")), ("DELETE", format!("/{profile}"))]
    {
        let body = json!({ "name": "c" });
        let refused = harness.send_json_with(&token, method, &format!("{PROFILES}{path}"), &body).await;
        let message = refused.body["message"].as_str().unwrap_or_default();
        assert!(refused.status == 403 && message.contains("limited to a profile"), "{method}: {}", refused.html);
    }
    assert_eq!(harness.delete(&format!("{PROFILES}/{profile}")).await.status, 204);
    assert_eq!(get("").await.status, 401, "the token has ended");
}
