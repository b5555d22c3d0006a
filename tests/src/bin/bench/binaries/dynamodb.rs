//! A fake of DynamoDB that responds immediately and always equally, so that only the function is
//! measured.

use axum::{Json, Router, http::HeaderMap};
use serde_json::{Value, json};
use tests::error::Result;
use tokio::net::TcpListener;

/// Runs on a free port until the runtime ends. Returns the URL.
pub(super) async fn start() -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    tokio::spawn(async { axum::serve(listener, Router::new().fallback(respond)).await });
    Ok(url)
}

/// Responds as if no item existed and every request were the first of its minute.
async fn respond(headers: HeaderMap) -> Json<Value> {
    let operation = headers.get("x-amz-target").and_then(|it| it.to_str().ok()).unwrap_or_default();
    if operation.ends_with(".UpdateItem") {
        return Json(json!({ "Attributes": { "requests": { "N": "1" }, "media": { "N": "0" } } }));
    }
    Json(json!({}))
}
