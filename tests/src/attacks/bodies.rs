//! Bodies that would make the service respond with more than it received, or work for long.

use std::time::Duration;

use reqwest::Method;
use serde_json::json;

use super::{Attack, AttackTargets};
use crate::{attacks, ensure, error::Result, http_response::HttpResponse};

pub(super) fn attacks() -> Vec<Attack> {
    let mut all = attacks!(7, [
        "261 KB of unknown scopes", "one error; the response stays below 64 KiB" => many_scopes;
        "a list of 50,000 accounts, one of 85,000 files", "one error each" => long_lists;
        "40,000 unknown fields", "50 errors named, all counted" => many_fields;
        "a field name of 200 KB with control characters", "the name is truncated" => long_name;
        "objects 40,000 levels deep", "400 with the reason" => deeply_nested_body;
    ]);
    all.extend(attacks!(21, [
        "a draft is scheduled by a field given twice", "422 that names the field, on every operation" => duplicate_field;
        "a field given twice in an entry of platforms", "422 with the path of the entry" => duplicate_nested_field;
        "1e400 as the id of an account", "422 on the field" => huge_number;
        "a query parameter and a form's field given twice", "422, and a page that names the field" => duplicate_query_parameter;
    ]));
    all
}

/// Below the limit of a function. A program that is not optimized takes seconds on a busy machine.
const ANSWERED: Duration = Duration::from_secs(20);

/// The body has exactly 256 KB.
async fn send(deployments: &AttackTargets, method: Method, path: &str, body: &str) -> Result<HttpResponse> {
    let api = deployments.lifted().stranger()?.with_token(Some(deployments.lifted().token()));
    let response = api.call(method, path).raw("application/json", body.as_bytes()).send().await?;
    ensure!(response.text.len() <= 64 * 1024, "{} bytes", response.text.len());
    ensure!(response.took < ANSWERED, "{:?}", response.took);
    Ok(response)
}

fn describe_response(response: &HttpResponse) -> Result<String> {
    let message: String = response.json()?["message"].as_str().unwrap_or_default().chars().take(120).collect();
    Ok(format!("{} with {} bytes: {message}", response.status, response.text.len()))
}

async fn many_scopes(deployments: &AttackTargets) -> Result<String> {
    let body = format!("{{\"scopes\":[{}7]}}", "7,".repeat(130_000));
    let response = send(deployments, Method::POST, "/auth/device/code", &body).await?;
    response.clone().invalid(&["scopes"])?;
    describe_response(&response)
}

async fn long_lists(deployments: &AttackTargets) -> Result<String> {
    let accounts = format!("{{\"content\":\"a\",\"platforms\":[{}{{}}]}}", "{},".repeat(50_000));
    let accounts = send(deployments, Method::POST, "/posts", &accounts).await?;
    accounts.clone().invalid(&["platforms"])?;
    let files = format!("{{\"content\":\"a\",\"media\":[{}7]}}", "7,".repeat(85_000));
    let files = send(deployments, Method::POST, "/posts", &files).await?;
    files.clone().invalid(&["media"])?;
    Ok(format!("{}; {}", describe_response(&accounts)?, describe_response(&files)?))
}

async fn many_fields(deployments: &AttackTargets) -> Result<String> {
    let fields = (100_000..119_000).fold(String::new(), |fields, it| fields + &format!("\"{it}\":1,"));
    let response = send(deployments, Method::POST, "/posts", &format!("{{{fields}\"content\":\"a\"}}")).await?;
    ensure!(response.status == 422, "{} {}", response.status, response.text);
    let errors = response.json()?["errors"].as_object().map_or(0, serde_json::Map::len);
    ensure!(errors == 50, "{errors} fields are named");
    ensure!(response.text.contains("(and 18999 more errors)"), "{}", response.json()?["message"]);
    describe_response(&response)
}

async fn long_name(deployments: &AttackTargets) -> Result<String> {
    let mut seen_of = Vec::new();
    for part in ["name", "\\u0001", "é", "\\\""] {
        let body = format!("{{\"content\":\"a\",\"{}\":1}}", part.repeat(200_000 / part.len()));
        let response = send(deployments, Method::POST, "/posts", &body).await?;
        ensure!(
            response.status == 422 && response.text.len() < 2048,
            "{} with {}",
            response.status,
            response.text.len()
        );
        seen_of.push(format!("{} with {} bytes", response.status, response.text.len()));
    }
    Ok(seen_of.join(", "))
}

async fn deeply_nested_body(deployments: &AttackTargets) -> Result<String> {
    let response = send(deployments, Method::POST, "/posts", &"{\"a\":".repeat(40_000)).await?;
    ensure!(response.status == 400 && response.text.contains("levels deep"), "{} {}", response.status, response.text);
    describe_response(&response)
}

async fn duplicate_field(deployments: &AttackTargets) -> Result<String> {
    let user = deployments.lifted().new_user().await?;
    let post = user.create(&json!({ "content": "a" })).await?;
    let change = format!("/posts/{}", post["id"]);
    for (method, path, body, field) in [
        (Method::POST, "/posts", r#"{"content":"a","content":"b"}"#, "content"),
        (Method::PATCH, &change, r#"{"content":"b","content":"c"}"#, "content"),
        (Method::POST, "/media", r#"{"mime_type":"image/png","mime_type":"image/gif"}"#, "mime_type"),
        (Method::POST, "/auth/device/code", r#"{"scopes":["posts:read"],"scopes":null}"#, "scopes"),
        (Method::POST, "/auth/device/token", r#"{"device_code":"a","device_code":"b"}"#, "device_code"),
    ] {
        let response = user.api.call(method, path).raw("application/json", body.as_bytes()).send().await?;
        let errors = response.invalid(&[field])?;
        ensure!(errors[field][0] == format!("{field} is given more than once"), "{errors}");
    }
    let after = user.show(post["id"].as_i64().unwrap_or_default()).await?;
    ensure!(after["content"] == "a", "a refused change changed the post: {after}");
    Ok("422 on the field, five times; nothing was changed".to_owned())
}

async fn duplicate_nested_field(deployments: &AttackTargets) -> Result<String> {
    let body = r#"{"content":"a","platforms":[{"connected_account_id":1,"content":"x","content":"y"}]}"#;
    let response = send(deployments, Method::POST, "/posts", body).await?;
    let errors = response.json()?["errors"].clone();
    ensure!(
        errors["platforms.0.content"][0] == "platforms.0.content is given more than once",
        "{} {errors}",
        response.status
    );
    describe_response(&response)
}

async fn huge_number(deployments: &AttackTargets) -> Result<String> {
    let body = r#"{"content":"a","platforms":[{"connected_account_id":1e400}]}"#;
    let response = send(deployments, Method::POST, "/posts", body).await?;
    response.clone().invalid(&["platforms.0.connected_account_id"])?;
    describe_response(&response)
}

async fn duplicate_query_parameter(deployments: &AttackTargets) -> Result<String> {
    let mut user = deployments.lifted().new_user().await?;
    user.api.get("/posts?page=1&page=2").await?.invalid(&["page"])?;
    let page = user.browser.open(&format!("{}/device?user_code=A&user_code=B", deployments.lifted().origin())).await?;
    ensure!(page.status == 400 && page.html.contains("user_code more than once"), "{} {}", page.status, page.html);
    Ok(format!("422 on page; a page with {}", page.status))
}
