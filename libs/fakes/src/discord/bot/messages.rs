//! Messages: sending and listing.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, RawQuery, Request, State};
use axum::response::{AppendHeaders, IntoResponse, Response};
use chrono::{DateTime, TimeDelta, Utc};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};
use url::form_urlencoded;

use super::permissions::{ATTACH, HISTORY, IN_THREADS, SEND, VIEW};
use super::{BOT, Fake, GUILD, Memory, Message};
use crate::conformance::fake_platform::PublicMedium;
use crate::discord::api_error::{ApiError, rate_headers};
use crate::discord::files::Body;
use crate::discord::message::{ALLOWED_MENTIONS, ATTACHMENTS, CONTENT, FLAGS, MessageBody};
use crate::fake::limits::{Limit, LimitUsage, WindowStart};
use crate::fake::schema::{self, Boolean, Fields, Nullable, Object, Optional, Required, TEXT, Text};

/// Message limit of a channel, as in Discord's responses: 5 in 5 seconds.
const PER_CHANNEL: Limit =
    Limit { name: "channel", max: 5, period: TimeDelta::seconds(5), window_start: WindowStart::FirstRequest };

const NONCE: TimeDelta = TimeDelta::minutes(2);

impl Fake {
    pub(super) fn counted(&self, channel: &str) -> Result<LimitUsage, ApiError> {
        let now = self.clock.now();
        let usage = self.memory().limits.count(PER_CHANNEL, channel, 1, now);
        if usage.is_exceeded {
            let seconds = (usage.resets_at - now).as_seconds_f64();
            return Err(ApiError::too_many(seconds).with(&usage, now));
        }
        Ok(usage)
    }
}

const MESSAGE: Fields = &[
    CONTENT,
    FLAGS,
    ALLOWED_MENTIONS,
    ATTACHMENTS,
    ("nonce", Nullable, Text(1, 25)),
    ("enforce_nonce", Optional, Boolean),
    // "When sending, only `message_id` is required."
    ("message_reference", Optional, Object(&[("message_id", Required, TEXT)])),
];

impl Memory {
    pub(super) fn post(
        &mut self,
        body: MessageBody,
        (channel, id): (String, String),
        nonce: Option<String>,
        payload: Value,
        at: DateTime<Utc>,
    ) -> &Message {
        let MessageBody { text, media, names } = body;
        self.messages.push(Message { id, channel, is_ours: true, text, media, names, nonce, at, payload });
        &self.messages[self.messages.len() - 1]
    }

    fn check_may_send(&self, channel: &str) -> Result<(), ApiError> {
        if self.threads.iter().any(|it| it.id == channel) {
            return self.channel(channel, IN_THREADS).map(|_| ());
        }
        match self.channel(channel, SEND)?.kind {
            0 | 5 => Ok(()),
            _ => Err(ApiError::bad(50_008, "Cannot send messages in a non-text channel")),
        }
    }

    /// Checks that a reply refers to a message of the same channel.
    fn check_reference(&self, channel: &str, id: &str) -> Result<(), ApiError> {
        if !self.channel(channel, VIEW)?.permits(HISTORY) {
            let message = "Cannot reply without permission to read message history";
            return Err(ApiError::new(StatusCode::FORBIDDEN, 160_002, message));
        }
        match self.messages.iter().find(|it| it.channel == channel && it.id == id) {
            Some(_) => Ok(()),
            None => Err(ApiError::field("message_reference", "MESSAGE_REFERENCE_UNKNOWN_MESSAGE", "Unknown message")),
        }
    }
}

impl Message {
    pub(super) fn parent(&self) -> Option<&str> {
        self.payload["message_reference"]["message_id"].as_str()
    }

    /// The message resource; the response to the sending call includes the nonce.
    pub(super) fn to_json(&self, has_nonce: bool) -> Value {
        let file = |(name, medium): (&String, &PublicMedium)| {
            json!({
                "id": self.id,
                "filename": name,
                "description": medium.alt_text,
                "content_type": medium.mime_type.as_str(),
                "size": medium.bytes.len(),
                "url": format!("https://cdn.discordapp.com/attachments/{}/{}/{name}", self.channel, self.id),
            })
        };
        let author = if self.is_ours { BOT } else { "80351110224678912" };
        let mut object = json!({
            "id": self.id,
            "type": 0,
            "channel_id": self.channel,
            "author": { "id": author, "username": "Keeper", "bot": self.is_ours },
            "content": self.text,
            "attachments": self.names.iter().zip(&self.media).map(file).collect::<Vec<_>>(),
            "embeds": [],
            "timestamp": self.at.to_rfc3339(),
            "edited_timestamp": null,
        });
        if let Some(parent) = self.parent() {
            object["type"] = 19.into();
            object["message_reference"] =
                json!({ "message_id": parent, "channel_id": self.channel, "guild_id": GUILD });
        }
        if let Some(nonce) = self.nonce.as_ref().filter(|_| has_nonce) {
            object["nonce"] = nonce.as_str().into();
        }
        object
    }
}

pub(super) async fn create(
    State(fake): State<Arc<Fake>>,
    Path(channel): Path<String>,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, ApiError> {
    fake.authenticate_bot(&headers)?.check_may_send(&channel)?;
    let usage = fake.counted(&channel)?;
    let Body { payload, files } = Body::read(request).await?;
    let mut memory = fake.memory();
    if !files.is_empty() {
        memory.channel(&channel, ATTACH)?;
    }
    schema::check(&payload, MESSAGE)?;
    let nonce = payload["nonce"].as_str().map(str::to_owned);
    let is_enforced = payload["enforce_nonce"] == true;
    if let Some(id) = payload["message_reference"]["message_id"].as_str() {
        memory.check_reference(&channel, id)?;
    }
    let body = MessageBody::read(&payload, files)?;
    let now = fake.clock.now();
    // "Sending a message will automatically unarchive the thread".
    if let Some(thread) = memory.threads.iter_mut().find(|it| it.id == channel) {
        thread.archived_at = None;
    }
    // "If another message was created by the same author with the same nonce, that
    // message will be returned and no new message will be created."
    let is_it = |it: &&Message| it.is_ours && it.nonce.is_some() && it.nonce == nonce && now < it.at + NONCE;
    let known = memory.messages.iter().find(is_it).filter(|_| is_enforced).map(|it| it.to_json(true));
    let object = if let Some(object) = known {
        object
    } else {
        let id = memory.id(now);
        memory.post(body, (channel, id), nonce, payload, now).to_json(true)
    };
    Ok((AppendHeaders(rate_headers(&usage, now)), Json(object)).into_response())
}

pub(super) async fn list(
    State(fake): State<Arc<Fake>>,
    Path(channel): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Json<Value>, ApiError> {
    let memory = fake.authenticate_bot(&headers)?;
    let may_read = memory.channel(&channel, VIEW)?.permits(HISTORY);
    let (mut after, mut limit) = (None, 50);
    for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        match (name.as_ref(), value.parse::<u64>()) {
            ("after", Ok(id)) => after = Some(id),
            ("limit", Ok(most @ 1..=100)) => limit = usize::try_from(most).unwrap_or_default(),
            _ => return Err(ApiError::field(&name, "NUMBER_TYPE_COERCE", "There is no such parameter, or value.")),
        }
    }
    let number = |it: &&Message| it.id.parse::<u64>().unwrap_or_default();
    let mut there: Vec<_> =
        memory.messages.iter().filter(|it| it.channel == channel && may_read && after < Some(number(it))).collect();
    there.sort_by_key(number);
    // The messages directly after the given id, or the latest ones.
    match after {
        Some(_) => there.truncate(limit),
        None => drop(there.drain(..there.len().saturating_sub(limit))),
    }
    // "from newest to oldest"
    Ok(Json(there.into_iter().rev().map(|it| it.to_json(memory.lists_nonces)).collect()))
}

pub(super) async fn show(
    State(fake): State<Arc<Fake>>,
    Path((channel, id)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Json<Value>, ApiError> {
    let memory = fake.authenticate_bot(&headers)?;
    memory.channel(&channel, HISTORY)?;
    let found = memory.messages.iter().find(|it| it.channel == channel && it.id == id);
    let found = found.ok_or_else(|| ApiError::new(StatusCode::NOT_FOUND, 10_008, "Unknown Message"))?;
    Ok(Json(found.to_json(memory.lists_nonces)))
}
