//! An assistant's use of an account, through the client of the protocol's authors; its program is
//! `tests/assistant`.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

use reqwest::{Method, header::WWW_AUTHENTICATE};
use serde_json::{Value, json};
use steps::{ROOT, tools};

use crate::{
    checks,
    deployment::{Deployment, User, missing},
    ensure,
    error::{Result, TestError, same},
    harness::binary,
    http_response::integer,
    runner::Check,
};

pub(super) fn checks() -> Vec<Check> {
    checks!(
        "mcp",
        [
            assistant_gets_access_and_uses_every_tool,
            response_without_token_names_the_authorization_server,
            only_post_from_own_origin_is_accepted,
            token_for_drafts_cannot_schedule,
            social_mcp_offers_the_same_tools,
        ]
    )
}

const TOOLS: [&str; 11] = [
    "list_platforms",
    "list_connections",
    "validate_post",
    "create_post",
    "list_posts",
    "get_post",
    "change_post",
    "cancel_post",
    "retry_post",
    "upload_media_from_url",
    "explain_error",
];

/// Runs the program of an assistant, whose user approves its request; returns its report.
async fn run_assistant(user: &mut User<'_>, connection: i64) -> Result<Value> {
    tools::assistant()?;
    let files = user.deployment.files().ok_or_else(|| missing("the server of the tests"))?;
    let mut program = Command::new("node")
        .arg(format!("{ROOT}/tests/assistant/assistant.mjs"))
        .args([user.deployment.origin(), &format!("http://{files}/client.json"), &connection.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut lines = BufReader::new(program.stdout.take().ok_or_else(|| missing("its output"))?).lines();
    let mut last = String::new();
    loop {
        // Waiting for a line blocks only this thread.
        let (line, rest) = tokio::task::spawn_blocking(move || (lines.next(), lines)).await?;
        lines = rest;
        let Some(line) = line else { break };
        last = line?;
        if let Some(address) = last.strip_prefix("open ") {
            let page = user.browser.open(address).await?;
            ensure!(page.html.contains("Planner"), "{}", page.test_error("the page does not name the app"));
            user.browser.press(&page, "Approve", &[]).await?;
        }
    }
    let status = program.wait()?;
    ensure!(status.success(), "the program ended with {status}");
    serde_json::from_str(&last).map_err(|it| TestError::new(format!("{it}: {last}")))
}

async fn assistant_gets_access_and_uses_every_tool(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let connection = integer(&user.connect(0).await?, "id")?;

    let report = run_assistant(&mut user, connection).await?;

    let versions: Vec<_> =
        report["revisions"].as_array().into_iter().flatten().map(|it| it["version"].clone()).collect();
    same(versions, vec![json!("2025-11-25"), json!("2026-07-28")], "the revisions that were spoken")?;
    for revision in report["revisions"].as_array().into_iter().flatten() {
        let tools: Vec<_> = revision["tools"].as_array().into_iter().flatten().map(|it| it["name"].clone()).collect();
        same(tools, TOOLS.map(Value::from).to_vec(), "the tools")?;
    }
    same(&report["scope"], &json!("connections:read posts:read posts:write media:write"), "the scopes")?;
    let calls = &report["calls"];
    ensure!(calls["same"] == true, "the same key made two posts");
    let failing = ["refused", "mistyped", "retried", "missing"];
    for (name, call) in calls.as_object().into_iter().flatten().filter(|it| it.0 != "same") {
        ensure!(call["is_error"] == failing.contains(&name.as_str()), "{name}: {call}");
    }
    for (name, expected) in [
        ("draft", "is a draft"),
        ("scheduled", "scheduled, not public yet"),
        ("mistyped", "schedule_at"),
        ("refused", "platforms.0.connected_account_id"),
        ("retried", "has the status scheduled"),
        ("cancelled", "is a draft"),
        ("deleted", "is deleted"),
        ("missing", "404"),
        ("explained", "invalid"),
        ("file", "media/"),
    ] {
        let sentence = calls[name]["sentence"].as_str().unwrap_or_default();
        ensure!(sentence.contains(expected), "{name} does not say {expected}: {sentence}");
    }
    ensure!(calls["connection"]["value"]["meta"].is_array(), "no limits: {}", calls["connection"]);
    ensure!(calls["platform"]["value"]["options"].is_object(), "no options: {}", calls["platform"]);
    let segments = &calls["thread"]["value"]["platforms"][0]["segments"];
    let kinds: Vec<_> = segments.as_array().into_iter().flatten().map(|it| it["kind"].clone()).collect();
    same(kinds, ["post", "reply", "reply"].map(Value::from).to_vec(), "segments of a thread")?;
    same(&calls["changed"]["value"]["content"], &json!("Hello once more"), "the changed text")?;
    same(calls["listed"]["value"].as_array().map(Vec::len), Some(2), "scheduled posts")
}

/// A message in the protocol revision before the latest, and its response.
async fn send(
    deployment: &Deployment,
    method: Method,
    token: Option<&str>,
    origin: Option<&str>,
    body: &Value,
) -> Result<reqwest::Response> {
    let mut request = deployment.http().request(method, format!("{}/mcp", deployment.origin()));
    request =
        request.header("accept", "application/json, text/event-stream").header("content-type", "application/json");
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    if let Some(origin) = origin {
        request = request.header("origin", origin);
    }
    Ok(request.body(body.to_string()).send().await?)
}

fn message(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

async fn response_without_token_names_the_authorization_server(deployment: &Deployment) -> Result {
    for token in [None, Some("sp_made_up")] {
        for body in [message("tools/list", &json!({})), message("tools/call", &json!({ "name": "list_posts" }))] {
            let response = send(deployment, Method::POST, token, None, &body).await?;
            same(response.status().as_u16(), 401, "status")?;
            let challenge =
                response.headers().get(WWW_AUTHENTICATE).and_then(|it| it.to_str().ok()).unwrap_or_default();
            let metadata = challenge.split('"').nth(1).unwrap_or_default();
            let resource: Value = serde_json::from_str(&deployment.http().get(metadata).send().await?.text().await?)?;
            same(&resource["resource"], &json!(format!("{}/mcp", deployment.origin())), "resource")?;
        }
    }
    Ok(())
}

async fn only_post_from_own_origin_is_accepted(deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;
    let (token, body) = (user.api.token(), message("tools/list", &json!({})));
    for (method, origin, status) in [
        (Method::POST, None, 200),
        (Method::POST, Some(deployment.origin()), 200),
        (Method::POST, Some("https://evil.example"), 403),
        (Method::POST, Some("null"), 403),
        (Method::GET, None, 405),
        (Method::DELETE, None, 405),
    ] {
        let answer = send(deployment, method.clone(), Some(token), origin, &body).await?;
        same(answer.status().as_u16(), status, &format!("{method} from {origin:?}"))?;
    }
    let large = message("tools/call", &json!({ "name": "list_posts", "arguments": { "x": "x".repeat(400_000) } }));
    same(send(deployment, Method::POST, Some(token), None, &large).await?.status().as_u16(), 413, "a large message")
}

async fn token_for_drafts_cannot_schedule(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let connection = integer(&user.connect(0).await?, "id")?;
    let email = user.email.clone();
    let drafts = deployment.grant(&mut user.browser, &email, &["posts:read", "posts:draft"]).await?;
    let create = async |key: &str, at: Value| {
        let platforms = json!([{ "connected_account_id": connection }]);
        let mut arguments = json!({ "idempotency_key": key, "content": "x", "platforms": platforms });
        if !at.is_null() {
            arguments["scheduled_at"] = at;
        }
        let body = message("tools/call", &json!({ "name": "create_post", "arguments": arguments }));
        let response = send(deployment, Method::POST, Some(drafts.token()), None, &body).await?;
        Ok::<Value, TestError>(serde_json::from_str(&response.text().await?)?)
    };

    let draft = create("a", Value::Null).await?;
    let scheduled = create("b", json!("now")).await?;

    ensure!(draft["result"]["isError"] == false, "the draft: {draft}");
    let refusal = scheduled["result"]["content"][0]["text"].as_str().unwrap_or_default();
    ensure!(scheduled["result"]["isError"] == true && refusal.contains("posts:write"), "the post: {scheduled}");
    let all = user.api.get("/posts").await?.ok(200)?;
    same(&all["meta"]["total"], &json!(1), "posts")
}

async fn social_mcp_offers_the_same_tools(deployment: &Deployment) -> Result {
    tools::assistant()?;
    let user = deployment.new_user().await?;
    let mut node = Command::new("node");
    node.arg(format!("{ROOT}/tests/assistant/local.mjs")).arg(binary("social")?);
    node.env("SOCIAL_URL", deployment.origin()).env("SOCIAL_TOKEN", user.api.token()).env("SOCIAL_KEYRING", "off");
    let output = tokio::task::spawn_blocking(move || node.output()).await??;
    ensure!(output.status.success(), "local.mjs: {}", String::from_utf8_lossy(&output.stderr));
    let replies: Vec<Value> = serde_json::from_slice(&output.stdout)?;
    same(replies.len(), 2, "revisions")?;
    for one in &replies {
        same(&one["tools"], &json!(TOOLS.len()), "tools")?;
        ensure!(one["said"].as_str().is_some_and(|it| it.contains("is a draft")), "{one}");
    }
    same(&replies[0]["id"], &replies[1]["id"], "the post of one key")
}
