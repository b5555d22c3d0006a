//! Accounts on platforms: connect flow, list, reconnecting, disconnecting.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    checks,
    deployment::{Deployment, missing, targets},
    ensure,
    error::{Result, same},
    http_response::{integer, list, text},
    moment,
    runner::Check,
    shapes,
};

pub(super) fn checks() -> Vec<Check> {
    checks!(
        "connections",
        [
            unknown_platform_is_unsupported,
            every_account_on_the_consent_page_can_be_connected,
            connect_flow_is_pending_until_completed,
            denied_connect_flow_has_failed,
            connect_flow_is_closed_to_other_users,
            connections_are_listed_oldest_first_and_filtered,
            connection_is_shown_with_its_meta,
            connecting_again_updates_the_same_connection,
            deleted_connection_is_gone,
            unsigned_deauthorization_ends_nothing,
            connection_with_pending_posts_cannot_be_deleted,
            draft_survives_its_connection,
            concurrent_schedule_and_disconnect_agree,
        ]
    )
}

async fn unknown_platform_is_unsupported(deployment: &Deployment) -> Result {
    let user = deployment.user().await?;
    for platform in ["nosuch", "SANDBOX", "sand%20box", "%C3%A4", "x'; drop"] {
        let path = format!("/connections/connect/{platform}");
        let description = user.api.call(Method::POST, &path).send().await?.error(422, "unsupported_platform")?;
        ensure!(description.contains("sandbox"), "error_description does not list the platforms: {description}");
    }
    Ok(())
}

async fn every_account_on_the_consent_page_can_be_connected(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;

    let mut names = Vec::new();
    for account in 0..3 {
        let connection = user.connect(account).await?;
        same(text(&connection, "provider")?, "sandbox", "provider")?;
        same(&connection["needs_reconnection"], &json!(false), "needs_reconnection")?;
        names.push(text(&connection, "username")?.to_owned());
    }

    names.sort();
    names.dedup();
    same(names.len(), 3, "different accounts")
}

async fn connect_flow_is_pending_until_completed(deployment: &Deployment) -> Result {
    let mut user = deployment.user().await?;

    let request = user.begin().await?;
    let pending = user.api.get(text(&request, "poll_url")?).await?.ok(200)?;
    user.consent(&request, 0, "Allow").await?;
    let completed = user.api.get(text(&request, "poll_url")?).await?.ok(200)?;
    let path = format!("/connections/{}", integer(&completed["connection"], "id")?);
    user.api.delete(&path).await?.is(204)?;
    let deleted = user.api.get(text(&request, "poll_url")?).await?.ok(200)?;

    same(&request["expires_in"], &json!(600), "expires_in")?;
    same(request.as_object().map(serde_json::Map::len), Some(4), "fields of the connect flow")?;
    let state = text(&request, "state_token")?;
    ensure!(43 <= state.len(), "state_token has less than 256 bits");
    let expected = format!("{}/connections/connect/sandbox/status/{state}", deployment.base());
    same(text(&request, "poll_url")?, &expected, "poll_url")?;
    same(text(&pending, "status")?, "pending", "status before the consent")?;
    let seconds_left = integer(&pending, "expires_in")?;
    ensure!((540..=600).contains(&seconds_left), "expires_in while pending is {seconds_left}");
    same(text(&completed, "status")?, "completed", "status after the consent")?;
    shapes::check_connection(&completed["connection"], false)?;
    same(deleted, json!({ "status": "completed", "connection": null }), "status after deleting the connection")
}

async fn denied_connect_flow_has_failed(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;

    let request = user.begin().await?;
    let page = user.consent(&request, 0, "Deny").await?;

    let status = user.api.get(text(&request, "poll_url")?).await?.ok(200)?;
    same(status, json!({ "status": "failed" }), "status after Deny")?;
    ensure!(page.html.len() > 200, "{}", page.test_error("the page after Deny says nothing"));
    let all = user.api.get("/connections").await?.ok(200)?;
    same(list(&all, "data")?.len(), 0, "connections after Deny")?;
    // Going back in the browser does not change the result.
    user.consent(&request, 0, "Allow").await.ok();
    let status = user.api.get(text(&request, "poll_url")?).await?.ok(200)?;
    same(status, json!({ "status": "failed" }), "status after Deny and Allow")
}

async fn connect_flow_is_closed_to_other_users(deployment: &Deployment) -> Result {
    let (user, other) = (deployment.new_user().await?, deployment.new_user().await?);
    let request = user.begin().await?;
    let state = text(&request, "state_token")?;

    let path = |platform: &str, state: &str| format!("/connections/connect/{platform}/status/{state}");
    let refused = other.api.get(&path("sandbox", state)).await?.error(404, "not_found")?;
    for (platform, state) in [("mastodon", state), ("nosuch", state), ("sandbox", "x"), ("sandbox", &"A".repeat(43))] {
        let description = user.api.get(&path(platform, state)).await?.error(404, "not_found")?;
        same(&description, &refused, "error_description of a connect flow that is not there")?;
    }
    Ok(())
}

async fn connections_are_listed_oldest_first_and_filtered(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let (first, second) = (user.connect(1).await?, user.connect(0).await?);

    for (query, expected) in [
        ("", vec![&first, &second]),
        ("?provider=sandbox", vec![&first, &second]),
        ("?provider=mastodon", vec![]),
        ("?provider=nosuch", vec![]),
        ("?status=active", vec![&first, &second]),
        ("?status=needs_reconnection", vec![]),
        ("?status=active&provider=sandbox", vec![&first, &second]),
        ("?status=&provider=", vec![&first, &second]),
    ] {
        let response = user.api.get(&format!("/connections{query}")).await?.ok(200)?;
        same(list(&response, "data")?.iter().collect::<Vec<_>>(), expected, &format!("GET /connections{query}"))?;
        same(response.as_object().map(serde_json::Map::len), Some(1), "fields of the list")?;
    }
    user.api.get("/connections?status=activ").await?.invalid(&["status"])?;
    let errors = user.api.get("/connections?provder=sandbox").await?.invalid(&["provder"])?;
    ensure!(errors.to_string().contains("provider"), "provider is not suggested: {errors}");
    Ok(())
}

async fn connection_is_shown_with_its_meta(deployment: &Deployment) -> Result {
    let mut user = deployment.user().await?;
    let connection = user.connect(0).await?;

    let path = format!("/connections/{}", integer(&connection, "id")?);
    let shown = user.api.get(&path).await?.ok(200)?;

    shapes::check_connection(&shown, true)?;
    let mut without = shown.clone();
    without.as_object_mut().ok_or_else(|| missing("an object"))?.remove("meta");
    same(&without, &connection, "the connection without its meta")?;
    for name in ["profile_url", "scopes", "token_expires_at", "max_text", "max_images"] {
        ensure!(list(&shown, "meta")?.iter().any(|it| it["name"] == name), "meta has no {name}: {shown}");
    }
    let names: BTreeSet<_> = list(&shown, "meta")?.iter().map(|it| it["name"].as_str()).collect();
    same(names.len(), list(&shown, "meta")?.len(), "different names in meta")?;
    for entry in list(&shown, "meta")? {
        let is_list_of_texts = entry["value"].as_array().is_none_or(|it| it.iter().all(Value::is_string));
        ensure!(!entry["value"].is_object() && !entry["value"].is_boolean() && is_list_of_texts, "meta has {entry}");
        same(entry.as_object().map(serde_json::Map::len), Some(2), "fields of a meta entry")?;
    }
    Ok(())
}

async fn connecting_again_updates_the_same_connection(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;

    let (first, again) = (user.connect(0).await?, user.connect(0).await?);

    same(&again["id"], &first["id"], "id of the renewed connection")?;
    same(&again["created_at"], &first["created_at"], "created_at of the renewed connection")?;
    let all = user.api.get("/connections").await?.ok(200)?;
    same(list(&all, "data")?.len(), 1, "connections")
}

async fn deleted_connection_is_gone(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let connection = user.connect(0).await?;
    let path = format!("/connections/{}", integer(&connection, "id")?);

    user.api.delete(&path).await?.is(204)?;

    user.api.get(&path).await?.refused(404)?;
    user.api.delete(&path).await?.refused(404)?;
    let all = user.api.get("/connections").await?.ok(200)?;
    same(list(&all, "data")?.len(), 0, "connections")?;
    let again = user.connect(0).await?;
    ensure!(again["id"] != connection["id"], "a deleted connection came back");
    Ok(())
}

async fn unsigned_deauthorization_ends_nothing(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let connection = user.connect(0).await?;
    let id = integer(&connection, "id")?;

    for path in ["deauthorize", "delete-data"] {
        for (form, status) in [(&[][..], 422), (&[("signed_request", "bm90.c2lnbmVk")][..], 404)] {
            let url = format!("{}/connect/{path}/sandbox", deployment.origin());
            let response = deployment.http().post(url).form(form).send().await?;
            same(response.status().as_u16(), status, &format!("status of POST {path} with {form:?}"))?;
        }
    }

    let shown = user.api.get(&format!("/connections/{id}")).await?.ok(200)?;
    same(&shown["needs_reconnection"], &json!(false), "needs_reconnection")
}

async fn connection_with_pending_posts_cannot_be_deleted(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let connection = user.connect(0).await?;
    let path = format!("/connections/{}", integer(&connection, "id")?);
    let post = user.schedule("later", &[&connection], 3600).await?;

    user.api.delete(&path).await?.error(422, "has_pending_posts")?;
    user.api.get(&path).await?.is(200)?;
    user.change(post, &json!({ "scheduled_at": null })).await?;
    let second = user.schedule("later still", &[&connection], 3600).await?;
    user.api.delete(&path).await?.error(422, "has_pending_posts")?;
    user.api.delete(&format!("/posts/{second}")).await?.is(204)?;

    user.api.delete(&path).await?.is(204)?;
    Ok(())
}

async fn draft_survives_its_connection(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let connection = user.connect(0).await?;
    let draft = user.create(&json!({ "content": "a draft", "platforms": targets(&[&connection])? })).await?;
    user.api.delete(&format!("/connections/{}", integer(&connection, "id")?)).await?.is(204)?;

    let id = integer(&draft, "id")?;
    let shown = user.show(id).await?;

    same(&shown["platforms"][0]["provider"], &json!("sandbox"), "provider of the entry")?;
    same(&shown["platforms"][0]["username"], &connection["username"], "username of the entry")?;
    let body = json!({ "scheduled_at": moment::in_seconds(600) });
    user.api.patch(&format!("/posts/{id}"), &body).await?.invalid(&["platforms.0.connected_account_id"])?;
    same(&user.show(id).await?["status"], &json!("draft"), "status")
}

async fn concurrent_schedule_and_disconnect_agree(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    for round in 0..6 {
        let connection = user.connect(0).await?;
        let body = json!({
            "content": format!("race {round}"),
            "platforms": targets(&[&connection])?,
            "scheduled_at": moment::in_seconds(3600),
        });
        let path = format!("/connections/{}", integer(&connection, "id")?);

        let (created, deleted) = futures::join!(user.api.post("/posts", &body), user.api.delete(&path));

        match (created?, deleted?) {
            (post, connection) if post.status == 201 => {
                connection.error(422, "has_pending_posts")?;
                let id = integer(&post.json()?, "id")?;
                user.api.delete(&format!("/posts/{id}")).await?.is(204)?;
            }
            (post, connection) => {
                connection.is(204)?;
                post.invalid(&["platforms.0.connected_account_id"])?;
            }
        }
    }
    Ok(())
}
