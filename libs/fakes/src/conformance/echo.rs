//! A server that repeats the request in its errors, as some badly configured servers do, and some
//! that collect data.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

/// In bytes: the most of a request's body that is repeated.
const MOST: usize = 2_000;

/// The body of an error, with the `Authorization` header and the body of its request in the
/// message; `None` for an error without a message.
pub fn with_request(error_body: &[u8], authorization: &str, request: &[u8]) -> Option<Vec<u8>> {
    static TURN: AtomicUsize = AtomicUsize::new(0);
    let mut body: Value = serde_json::from_slice(error_body).ok()?;
    if body["error"]["message"].is_string() {
        let nested = serde_json::to_vec(&body["error"]).ok()?;
        body["error"] = serde_json::from_slice(&with_request(&nested, authorization, request)?).ok()?;
        return serde_json::to_vec(&body).ok();
    }
    if !body["message"].is_string() && body["errors"][0]["message"].is_string() {
        let nested = serde_json::to_vec(&body["errors"][0]).ok()?;
        body["errors"][0] = serde_json::from_slice(&with_request(&nested, authorization, request)?).ok()?;
        return serde_json::to_vec(&body).ok();
    }
    // Programs read `error`, so the message is in a field of its own. Programs that speak to Matrix read `errcode`
    // instead.
    let names = ["message", "description", "detail"].into_iter().chain(body["errcode"].is_string().then_some("error"));
    let name = names.into_iter().find(|it| body[*it].is_string());
    let field = name.unwrap_or("error_description");
    let message = body[field].as_str().or_else(|| body["error"].as_str())?;
    let request = String::from_utf8_lossy(&request[..request.len().min(MOST)]);
    // Adapters shorten long messages, so each part is first every other time.
    let repeated = match TURN.fetch_add(1, Ordering::Relaxed) % 2 {
        0 => format!("{message} {request} {authorization}"),
        _ => format!("{message} {authorization} {request}"),
    };
    body[field] = repeated.into();
    serde_json::to_vec(&body).ok()
}
