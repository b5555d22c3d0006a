//! Bodies that would make the service respond with more than it received, or work for long.

use std::time::Duration;

use reqwest::Method;
use serde_json::json;

use super::{Arena, Attack};
use crate::{answer::Answer, attacks, ensure, error::Result};

pub(super) fn attacks() -> Vec<Attack> {
    let mut all = attacks!(7, [
        "261 KB of unknown scopes", "one error; the response stays below 64 KiB" => many_scopes;
        "a list of 50,000 accounts, one of 85,000 files", "one error each" => long_lists;
        "40,000 unknown fields", "50 errors named, all counted" => many_fields;
        "a field name of 200 KB with control characters", "the name is truncated" => long_name;
        "objects 40,000 levels deep", "400 with the reason" => deep;
    ]);
    all.extend(attacks!(21, [
        "a draft is scheduled by a field given twice", "422 that names the field, on every operation" => given_twice;
        "a field given twice in an entry of platforms", "422 with the path of the entry" => given_twice_inside;
        "1e400 as the id of an account", "422 on the field" => huge_number;
        "a query parameter and a form's field given twice", "422, and a page that names the field" => given_twice_elsewhere;
    ]));
    all
}

/// Sends a body of exactly 256 KB.
async fn send(arena: &Arena, method: Method, path: &str, body: &str) -> Result<Answer> {
    let api = arena.lifted().stranger()?.with_token(Some(arena.lifted().token()));
    let answer = api.call(method, path).raw("application/json", body.as_bytes()).send().await?;
    ensure!(answer.text.len() <= 64 * 1024, "{} bytes", answer.text.len());
    ensure!(answer.took < Duration::from_secs(3), "{:?}", answer.took);
    Ok(answer)
}

fn seen(answer: &Answer) -> Result<String> {
    let message: String = answer.json()?["message"].as_str().unwrap_or_default().chars().take(120).collect();
    Ok(format!("{} with {} bytes: {message}", answer.status, answer.text.len()))
}

async fn many_scopes(arena: &Arena) -> Result<String> {
    let body = format!("{{\"scopes\":[{}7]}}", "7,".repeat(130_000));
    let answer = send(arena, Method::POST, "/auth/device/code", &body).await?;
    answer.clone().invalid(&["scopes"])?;
    seen(&answer)
}

async fn long_lists(arena: &Arena) -> Result<String> {
    let accounts = format!("{{\"content\":\"a\",\"platforms\":[{}{{}}]}}", "{},".repeat(50_000));
    let accounts = send(arena, Method::POST, "/posts", &accounts).await?;
    accounts.clone().invalid(&["platforms"])?;
    let files = format!("{{\"content\":\"a\",\"media\":[{}7]}}", "7,".repeat(85_000));
    let files = send(arena, Method::POST, "/posts", &files).await?;
    files.clone().invalid(&["media"])?;
    Ok(format!("{}; {}", seen(&accounts)?, seen(&files)?))
}

async fn many_fields(arena: &Arena) -> Result<String> {
    let fields = (100_000..119_000).fold(String::new(), |fields, it| fields + &format!("\"{it}\":1,"));
    let answer = send(arena, Method::POST, "/posts", &format!("{{{fields}\"content\":\"a\"}}")).await?;
    ensure!(answer.status == 422, "{} {}", answer.status, answer.text);
    let errors = answer.json()?["errors"].as_object().map_or(0, serde_json::Map::len);
    ensure!(errors == 50, "{errors} fields are named");
    ensure!(answer.text.contains("(and 18999 more errors)"), "{}", answer.json()?["message"]);
    seen(&answer)
}

async fn long_name(arena: &Arena) -> Result<String> {
    let mut seen_of = Vec::new();
    for part in ["name", "\\u0001", "é", "\\\""] {
        let body = format!("{{\"content\":\"a\",\"{}\":1}}", part.repeat(200_000 / part.len()));
        let answer = send(arena, Method::POST, "/posts", &body).await?;
        ensure!(answer.status == 422 && answer.text.len() < 2048, "{} with {}", answer.status, answer.text.len());
        seen_of.push(format!("{} with {} bytes", answer.status, answer.text.len()));
    }
    Ok(seen_of.join(", "))
}

async fn deep(arena: &Arena) -> Result<String> {
    let answer = send(arena, Method::POST, "/posts", &"{\"a\":".repeat(40_000)).await?;
    ensure!(answer.status == 400 && answer.text.contains("levels deep"), "{} {}", answer.status, answer.text);
    seen(&answer)
}

async fn given_twice(arena: &Arena) -> Result<String> {
    let user = arena.lifted().new_user().await?;
    let post = user.create(&json!({ "content": "a" })).await?;
    let change = format!("/posts/{}", post["id"]);
    for (method, path, body, field) in [
        (Method::POST, "/posts", r#"{"content":"a","content":"b"}"#, "content"),
        (Method::PATCH, &change, r#"{"content":"b","content":"c"}"#, "content"),
        (Method::POST, "/media", r#"{"mime_type":"image/png","mime_type":"image/gif"}"#, "mime_type"),
        (Method::POST, "/auth/device/code", r#"{"scopes":["posts:read"],"scopes":null}"#, "scopes"),
        (Method::POST, "/auth/device/token", r#"{"device_code":"a","device_code":"b"}"#, "device_code"),
    ] {
        let answer = user.api.call(method, path).raw("application/json", body.as_bytes()).send().await?;
        let errors = answer.invalid(&[field])?;
        ensure!(errors[field][0] == format!("{field} is given more than once"), "{errors}");
    }
    let after = user.show(post["id"].as_i64().unwrap_or_default()).await?;
    ensure!(after["content"] == "a", "a refused change changed the post: {after}");
    Ok("422 on the field, five times; nothing was changed".to_owned())
}

async fn given_twice_inside(arena: &Arena) -> Result<String> {
    let body = r#"{"content":"a","platforms":[{"connected_account_id":1,"content":"x","content":"y"}]}"#;
    let answer = send(arena, Method::POST, "/posts", body).await?;
    let errors = answer.json()?["errors"].clone();
    ensure!(
        errors["platforms.0.content"][0] == "platforms.0.content is given more than once",
        "{} {errors}",
        answer.status
    );
    seen(&answer)
}

async fn huge_number(arena: &Arena) -> Result<String> {
    let body = r#"{"content":"a","platforms":[{"connected_account_id":1e400}]}"#;
    let answer = send(arena, Method::POST, "/posts", body).await?;
    answer.clone().invalid(&["platforms.0.connected_account_id"])?;
    seen(&answer)
}

async fn given_twice_elsewhere(arena: &Arena) -> Result<String> {
    let mut user = arena.lifted().new_user().await?;
    user.api.get("/posts?page=1&page=2").await?.invalid(&["page"])?;
    let page = user.browser.open(&format!("{}/device?user_code=A&user_code=B", arena.lifted().origin())).await?;
    ensure!(page.status == 400 && page.html.contains("user_code more than once"), "{} {}", page.status, page.html);
    Ok(format!("422 on page; a page with {}", page.status))
}
