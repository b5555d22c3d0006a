//! Execute Webhook: sending messages.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, RawQuery, Request, State};
use axum::response::{AppendHeaders, IntoResponse, Response};
use chrono::TimeDelta;
use http::StatusCode;
use serde_json::json;
use url::{Url, form_urlencoded};

use super::api_error::{ApiError, rate_headers};
use super::files::Body;
use super::message::{ALLOWED_MENTIONS, ATTACHMENTS, CONTENT, FLAGS, MessageBody};
use super::{CHANNEL, Fake, Message};
use crate::fake::limits::{Limit, WindowStart};
use crate::fake::schema::{self, Fields, Nullable, Pattern, Text};

/// Message limit of a webhook, as in Discord's responses: 5 in 2 seconds.
const PER_WEBHOOK: Limit =
    Limit { name: "webhook", max: 5, period: TimeDelta::seconds(2), window_start: WindowStart::FirstRequest };

const MESSAGE: Fields = &[
    CONTENT,
    FLAGS,
    ALLOWED_MENTIONS,
    ATTACHMENTS,
    ("username", Nullable, Text(1, 80)),
    ("avatar_url", Nullable, Pattern(is_web_url)),
    ("thread_name", Nullable, Text(0, 100)),
];

fn is_web_url(text: &str) -> bool {
    text.len() <= 2_048 && Url::parse(text).is_ok_and(|it| matches!(it.scheme(), "http" | "https"))
}

/// Sends a message. The response has the message only with `wait`.
pub(super) async fn execute(
    State(fake): State<Arc<Fake>>,
    Path((id, token)): Path<(String, String)>,
    RawQuery(query): RawQuery,
    request: Request,
) -> Result<Response, ApiError> {
    let waits = waits(&query.unwrap_or_default())?;
    fake.memory().called(&id, &token)?;
    let now = fake.clock.now();
    let usage = fake.memory().limits.count(PER_WEBHOOK, &id, 1, now);
    if usage.is_exceeded {
        let seconds = (usage.resets_at - now).as_seconds_f64();
        return Err(ApiError::too_many(seconds).with(&usage, now));
    }
    let message = message(&fake, Body::read(request).await?)?;
    let mut memory = fake.memory();
    let channel = if memory.is_forum { memory.id() } else { CHANNEL.to_owned() };
    let object = json!({
        "id": message.id,
        "type": 0,
        "channel_id": channel,
        "content": message.text,
        "webhook_id": id,
        "attachments": message.media.iter().map(|it| json!({ "description": it.alt_text })).collect::<Vec<_>>(),
        "timestamp": now.to_rfc3339(),
    });
    memory.messages.push(message);
    let headers = AppendHeaders(rate_headers(&usage, now));
    Ok(if waits { (headers, Json(object)).into_response() } else { (StatusCode::NO_CONTENT, headers).into_response() })
}

fn waits(query: &str) -> Result<bool, ApiError> {
    let mut waits = false;
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        waits = match (name.as_ref(), value.as_ref()) {
            ("wait", "true" | "True" | "1") => true,
            ("wait", "false" | "False" | "0") => false,
            _ => return Err(ApiError::field(&name, "UNKNOWN", "There is no such parameter, or it has another value.")),
        };
    }
    Ok(waits)
}

fn message(fake: &Fake, Body { payload, files }: Body) -> Result<Message, ApiError> {
    schema::check(&payload, MESSAGE)?;
    let text = |name: &str| payload[name].as_str().unwrap_or_default();
    let username = text("username").to_lowercase();
    if let Some(word) = ["clyde", "discord"].into_iter().find(|it| username.contains(it)) {
        let message = format!("Username cannot contain \"{word}\"");
        return Err(ApiError::field("username", "USERNAME_INVALID_CONTAINS", &message));
    }
    match (fake.memory().is_forum, text("thread_name").trim().is_empty()) {
        (true, true) => {
            let message = "Webhooks posted to forum channels must have a thread_name or thread_id";
            return Err(ApiError::bad(220_001, message));
        }
        (false, false) => {
            return Err(ApiError::bad(220_003, "Webhooks can only create threads in forum channels"));
        }
        _ => {}
    }
    let MessageBody { text, media, .. } = MessageBody::read(&payload, files)?;
    Ok(Message { id: fake.memory().id(), text, media, payload })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::Value;

    use super::*;
    use crate::fake::schema::testing::assert_refuses;

    #[test]
    fn invalid_fields_of_messages_are_refused() {
        let valid = json!({ "content": null, "flags": 4, "allowed_mentions": { "parse": ["users"] },
            "attachments": [{ "id": "0", "filename": "a.png", "description": "" }], "avatar_url": "https://a.invalid" });
        let long = |length: usize| Value::from("x".repeat(length));
        let attachment = json!({ "id": 0 });
        let wrong = json!({
            "/other": [1], "/content": [long(2_001), 1], "/flags": [null], "/allowed_mentions ": [null],
            "/allowed_mentions": [null], "/allowed_mentions/parse/0": ["here"], "/allowed_mentions/other": [1],
            "/attachments": [null, vec![attachment; 11]], "/attachments/0": [0], "/attachments/0/id ": [null],
            "/attachments/0/filename": [""], "/attachments/0/description": [long(1_025)],
            "/attachments/0/other": [1], "/username": ["", long(81)], "/avatar_url": ["", "ftp://a.invalid"],
            "/thread_name": [long(101)],
        });
        assert_refuses(MESSAGE, &valid, &wrong);
        for wrong in [
            json!({ "content": " " }),
            json!({ "content": "a", "flags": 8 }),
            json!({ "content": "a", "allowed_mentions": { "parse": ["users"], "users": ["1"] } }),
            json!({ "content": "a", "attachments": [{ "id": 0 }] }),
        ] {
            assert!(MessageBody::read(&wrong, BTreeMap::new()).is_err(), "{wrong}");
        }
    }
}
