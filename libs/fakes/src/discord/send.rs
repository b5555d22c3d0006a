//! Execute Webhook: sending messages.

use std::sync::Arc;

use crate::conformance::fake_platform::PublicMedium;
use axum::Json;
use axum::extract::{Path, RawQuery, Request, State};
use axum::response::{AppendHeaders, IntoResponse, Response};
use chrono::TimeDelta;
use http::StatusCode;
use serde_json::{Value, json};
use url::{Url, form_urlencoded};

use super::api_error::{ApiError, rate_headers};
use super::fields::Fields;
use super::files::Body;
use super::{CHANNEL, Fake, Message};
use crate::fake::limits::{Limit, WindowStart};

/// Message limit of a webhook, as in Discord's responses: 5 in 2 seconds.
const PER_WEBHOOK: Limit =
    Limit { name: "webhook", max: 5, period: TimeDelta::seconds(2), window_start: WindowStart::FirstRequest };

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

/// Whether the response includes the message.
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
    let mut fields = Fields(payload.clone());
    let text = fields.text("content", 0, 2_000)?.unwrap_or_default().trim().to_owned();
    if let Some(name) = fields.text("username", 1, 80)? {
        let lower = name.to_lowercase();
        if let Some(word) = ["clyde", "discord"].into_iter().find(|it| lower.contains(it)) {
            let message = format!("Username cannot contain \"{word}\"");
            return Err(ApiError::field("username", "USERNAME_INVALID_CONTAINS", &message));
        }
    }
    if let Some(address) = fields.text("avatar_url", 1, 2_048)?
        && !Url::parse(&address).is_ok_and(|it| matches!(it.scheme(), "http" | "https"))
    {
        return Err(ApiError::field("avatar_url", "URL_TYPE_INVALID_URL", "Not a well formed URL."));
    }
    let thread_name = fields.text("thread_name", 0, 100)?.filter(|it| !it.trim().is_empty());
    let is_forum = fake.memory().is_forum;
    if is_forum && thread_name.is_none() {
        return Err(ApiError::bad(220_001, "Webhooks posted to forum channels must have a thread_name or thread_id"));
    }
    if !is_forum && thread_name.is_some() {
        return Err(ApiError::bad(220_003, "Webhooks can only create threads in forum channels"));
    }
    fields.flags()?;
    fields.check_allowed_mentions()?;
    let attachments = fields.attachments(&files)?;
    fields.refuse_unknown()?;
    if text.is_empty() && files.is_empty() {
        return Err(ApiError::bad(50_006, "Cannot send an empty message"));
    }
    let find_alt_text = |number: u64| attachments.iter().find(|it| it.0 == number).and_then(|it| it.1.clone());
    let media = files.into_iter().map(|(number, file)| PublicMedium {
        mime_type: file.mime_type,
        bytes: file.bytes.to_vec(),
        alt_text: find_alt_text(number).filter(|it| !it.is_empty()),
    });
    let media = media.collect();
    Ok(Message { id: fake.memory().id(), text, media, payload: Value::Object(payload) })
}
