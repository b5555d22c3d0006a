//! Scopes of tokens.

use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    checks,
    client::Api,
    deployment::{Deployment, SCOPES},
    ensure,
    error::Result,
    http_response::integer,
    runner::Check,
};

pub(super) fn checks() -> Vec<Check> {
    checks!(
        "scopes",
        [
            unknown_scope_is_reported_by_field,
            every_operation_needs_its_scope,
            token_for_drafts_is_denied_before_validation,
        ]
    )
}

async fn unknown_scope_is_reported_by_field(deployment: &Deployment) -> Result {
    let api = deployment.stranger()?;
    let rows: [(Value, &[&str]); 6] = [
        (json!(["posts:raed"]), &["scopes.0"]),
        (json!(["posts:read", "POSTS:READ", ""]), &["scopes.1", "scopes.2"]),
        (json!("posts:read"), &["scopes"]),
        (json!([1]), &["scopes.0"]),
        (json!([null]), &["scopes.0"]),
        (json!({}), &["scopes"]),
    ];
    for (scopes, fields) in rows {
        api.post("/auth/device/code", &json!({ "scopes": scopes })).await?.invalid(fields)?;
    }
    let errors = api.post("/auth/device/code", &json!({ "scope": ["posts:read"] })).await?.invalid(&["scope"])?;
    ensure!(errors.to_string().contains("scopes"), "scopes is not suggested: {errors}");
    Ok(())
}

/// The second one allows drafts only.
const POSTS: &[&str] = &["posts:write", "posts:draft"];

/// Operations with their scopes, each of which is sufficient alone.
const OPERATIONS: [(Method, &str, &[&str]); 19] = [
    (Method::GET, "/user", &["user:read"]),
    (Method::GET, "/connections", &["connections:read"]),
    (Method::GET, "/platforms", &["connections:read"]),
    (Method::GET, "/connections/1", &["connections:read"]),
    (Method::GET, "/connections/1/choices/board", &["connections:read"]),
    (Method::DELETE, "/connections/1", &["connections:write"]),
    (Method::POST, "/connections/connect/sandbox", &["connections:write"]),
    (Method::GET, "/connections/connect/sandbox/status/x", &["connections:write"]),
    (Method::POST, "/media", &["media:write"]),
    (Method::GET, "/posts", &["posts:read"]),
    (Method::POST, "/posts", POSTS),
    (Method::POST, "/posts/validate", POSTS),
    (Method::GET, "/posts/1", &["posts:read"]),
    (Method::PATCH, "/posts/1", POSTS),
    (Method::DELETE, "/posts/1", POSTS),
    (Method::GET, "/webhooks", &["webhooks:write"]),
    (Method::POST, "/webhooks", &["webhooks:write"]),
    (Method::POST, "/webhooks/1/test", &["webhooks:write"]),
    (Method::GET, "/webhooks/1/deliveries", &["webhooks:write"]),
];

async fn every_operation_needs_its_scope(deployment: &Deployment) -> Result {
    for scope in SCOPES {
        let operations: Vec<_> = OPERATIONS.into_iter().filter(|it| it.2.contains(&scope)).collect();
        let enough = operations.first().map_or(&[][..], |it| it.2);
        let others: Vec<_> = SCOPES.into_iter().filter(|it| !enough.contains(it)).collect();
        let with = deployment.new_user_with(&[scope]).await?;
        let without = deployment.new_user_with(&others).await?;
        for (method, path, _) in operations {
            let message = send_empty_request(&without.api, method.clone(), path).await?.refused(403)?;
            ensure!(message.contains(scope), "403 for {method} {path} does not name {scope}: {message}");
            let response = send_empty_request(&with.api, method.clone(), path).await?;
            ensure!(
                ![401, 403].contains(&response.status),
                "{}",
                response.test_error("refused with the scope it needs")
            );
        }
    }
    Ok(())
}

async fn token_for_drafts_is_denied_before_validation(deployment: &Deployment) -> Result {
    let user = deployment.new_user_with(&["posts:draft"]).await?;
    let id = integer(&user.create(&json!({ "content": "a" })).await?, "id")?;
    let path = format!("/posts/{id}");
    for at in [json!("2031-01-01T09:00:00Z"), json!("now"), json!("soon"), json!("2001-01-01T09:00:00Z"), json!(7)] {
        let body = json!({ "content": " ", "scheduled_at": at });
        user.api.post("/posts", &body).await?.refused(403)?;
        user.api.patch(&path, &body).await?.refused(403)?;
    }
    user.api.patch(&path, &json!({ "content": " ", "scheduled_at": null })).await?.invalid(&["content"])?;
    Ok(())
}

/// Sends an invalid body, because the scope is checked before the body.
async fn send_empty_request(api: &Api, method: Method, path: &str) -> Result<crate::http_response::HttpResponse> {
    let call = api.call(method.clone(), path);
    let body = method == Method::PATCH || method == Method::POST && path != "/connections/connect/sandbox";
    if body { call.raw("application/json", b"{").send().await } else { call.send().await }
}
