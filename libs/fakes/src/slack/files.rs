//! Files: announced, uploaded to a URL, shared, and looked up.

use std::sync::Arc;

use axum::body::{Bytes, to_bytes};
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, TimeDelta, Utc};
use domain::media::{FileType, MimeType};
use http::{StatusCode, header};
use serde_json::{Value, json};

use super::api_error::ApiError;
use super::arguments::{NOT_EMPTY, text};
use super::call::Call;
use super::{Fake, Memory, PRIVATE, TEAM_URL, chat};
use crate::fake::oauth::secret;
use crate::fake::params::essence;
use crate::fake::schema::{self, Fields, Integer, List, Object, Optional, Pattern, Required, TEXT, Text};

/// 1 GB.
const MAX_BYTES: u64 = 1 << 30;

pub(super) const UPLOAD: Fields = &[
    ("filename", Required, NOT_EMPTY),
    ("length", Required, Integer(1, u64::MAX)),
    // "The limit of 1000 character".
    ("alt_txt", Optional, Text(0, 1_000)),
];

pub(super) const SHARE: Fields = &[
    ("channel_id", Required, Pattern(is_channel_id)),
    ("initial_comment", Optional, TEXT),
    ("thread_ts", Optional, TEXT),
    // The limit of Slack's own clients.
    ("files", Required, List(1, 10, &Object(&[("id", Required, TEXT), ("title", Optional, TEXT)]))),
];

pub(super) const FILE: Fields = &[("file", Required, NOT_EMPTY)];

/// The pattern of the API: `^[CGDZ][A-Z0-9]{8,}$`.
fn is_channel_id(id: &str) -> bool {
    id.starts_with(['C', 'G', 'D', 'Z'])
        && 9 <= id.len()
        && id.bytes().all(|it| matches!(it, b'A'..=b'Z' | b'0'..=b'9'))
}

/// Lifetime of an upload URL. The documentation has no number.
const TICKET_LIVES: TimeDelta = TimeDelta::minutes(30);

/// Time of processing, before the channel shows files and `files.info` confirms the share.
const TAKES: TimeDelta = TimeDelta::seconds(7);

#[derive(Clone, Debug)]
pub(super) struct File {
    name: String,
    length: u64,
    pub(super) description: Option<String>,
    ticket: String,
    announced_at: DateTime<Utc>,
    /// `None` before the upload.
    pub(super) bytes: Option<Bytes>,
    shared: Option<Share>,
    is_deleted: bool,
}

#[derive(Clone, Debug)]
struct Share {
    channel: String,
    ts: String,
    /// When the message becomes visible.
    at: DateTime<Utc>,
}

impl File {
    /// Whether a message has the file, also one that is not visible yet.
    pub(super) fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    pub(super) fn delete(&mut self) {
        self.is_deleted = true;
    }

    /// Whether the file was deleted after it was shared.
    pub(super) fn is_deleted(&self) -> bool {
        self.is_deleted
    }

    fn is_image(&self) -> bool {
        let bytes = self.bytes.as_deref().unwrap_or_default();
        MimeType::sniff(bytes).is_some_and(|it| it.file_type() == FileType::Image)
    }
}

/// `files.getUploadURLExternal`
pub(super) fn announce(call: &mut Call<'_>, arguments: &Value) -> Result<Value, ApiError> {
    let (name, description) = (schema::text(arguments, "filename"), text(arguments, "alt_txt"));
    let length = arguments["length"].as_u64().unwrap_or_default();
    if MAX_BYTES < length {
        return Err(ApiError::new("file_upload_size_restricted"));
    }
    let (id, ticket) = (format!("F0{:08}", call.memory.next()), secret());
    let upload_url = format!("{}/upload/v1/{ticket}", call.memory.base_url);
    let file = File {
        name,
        length,
        description,
        ticket,
        announced_at: call.now,
        bytes: None,
        shared: None,
        is_deleted: false,
    };
    call.memory.files.insert(id.clone(), file);
    Ok(json!({ "ok": true, "upload_url": upload_url, "file_id": id }))
}

/// `POST /upload/v1/{ticket}`: the raw bytes, once.
pub(super) async fn arrive(State(fake): State<Arc<Fake>>, Path(ticket): Path<String>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let bad = |why: &'static str| (StatusCode::BAD_REQUEST, why).into_response();
    if head.headers.contains_key(header::AUTHORIZATION) {
        return bad("this address needs no token");
    }
    let length = head.headers.get(header::CONTENT_LENGTH).and_then(|it| it.to_str().ok()?.parse::<u64>().ok());
    let Ok(body) = to_bytes(body, usize::MAX).await else { return bad("it was cut off") };
    let now = fake.clock.now();
    let mut memory = fake.memory();
    let Some(file) = memory.files.values_mut().find(|it| it.ticket == ticket) else {
        return (StatusCode::NOT_FOUND, "there is no such upload").into_response();
    };
    if file.bytes.is_some() || file.announced_at + TICKET_LIVES <= now {
        return (StatusCode::GONE, "this upload is over").into_response();
    }
    if length != Some(file.length) || body.len() as u64 != file.length {
        return bad("it has another size than was announced");
    }
    // The content type of raw bytes does not matter: Slack's own clients send several.
    if essence(&head.headers).starts_with("multipart/") {
        return bad("this is no form with a file");
    }
    file.bytes = Some(body);
    format!("OK - {}", file.length).into_response()
}

/// `files.completeUploadExternal`
pub(super) fn share(call: &mut Call<'_>, arguments: &Value) -> Result<Value, ApiError> {
    let channel = schema::text(arguments, "channel_id");
    let (comment, thread) = (text(arguments, "initial_comment"), text(arguments, "thread_ts"));
    let mut ids = Vec::new();
    for entry in arguments["files"].as_array().into_iter().flatten() {
        let id = schema::text(entry, "id");
        let is_ready = call.memory.files.get(&id).is_some_and(|it| it.bytes.is_some() && !it.is_shared());
        if !is_ready || ids.contains(&id) {
            return Err(ApiError::new("file_not_found"));
        }
        ids.push(id);
    }
    chat::check_may_post(call, &channel, comment.as_deref().unwrap_or("files"))?;
    chat::check_thread(call, &channel, thread.as_deref())?;
    // A file with alternative text that is not an image never appears, without an error. This also
    // occurred with other files.
    let is_dropped =
        |id: &String| call.memory.files.get(id).is_some_and(|it| it.description.is_some() && !it.is_image());
    let is_lost = ids.iter().any(is_dropped) || 0 < call.memory.dropped_shares;
    call.memory.dropped_shares = call.memory.dropped_shares.saturating_sub(1);
    let takes = if is_lost { TimeDelta::days(10_000) } else { TAKES };
    let text = comment.unwrap_or_default();
    call.memory.calls_people += chat::called(&text);
    let ts = call.memory.say(&channel, &text, None, ids.clone(), call.now + takes);
    if let Some(message) = call.memory.messages.last_mut() {
        message.thread = thread;
    }
    for id in &ids {
        let shared = Share { channel: channel.clone(), ts: ts.clone(), at: call.now + takes };
        if let Some(file) = call.memory.files.get_mut(id) {
            file.shared = Some(shared);
        }
    }
    let shown = ids.iter().filter_map(|id| Some(view(id, call.memory.files.get(id)?, call.now)));
    Ok(json!({ "ok": true, "files": shown.collect::<Vec<_>>() }))
}

/// `files.info`
pub(super) fn info(call: &mut Call<'_>, arguments: &Value) -> Result<Value, ApiError> {
    let id = schema::text(arguments, "file");
    let file = shared(call.memory, &id)?;
    Ok(
        json!({ "ok": true, "file": view(&id, file, call.now), "comments": [], "response_metadata": { "next_cursor": "" } }),
    )
}

/// `files.delete`: also deletes a message without other files, even one that is not visible yet.
pub(super) fn delete(call: &mut Call<'_>, arguments: &Value) -> Result<Value, ApiError> {
    let id = schema::text(arguments, "file");
    shared(call.memory, &id)?.is_deleted = true;
    let Memory { messages, files, .. } = &mut *call.memory;
    messages.retain(|it| it.files.is_empty() || it.files.iter().any(|it| !files[it].is_deleted));
    Ok(json!({ "ok": true }))
}

/// A shared file: `files.info` does not know others.
fn shared<'a>(memory: &'a mut Memory, id: &str) -> Result<&'a mut File, ApiError> {
    match memory.files.get_mut(id).filter(|it| it.is_shared()) {
        None => Err(ApiError::new("file_not_found")),
        Some(file) if file.is_deleted => Err(ApiError::new("file_deleted")),
        Some(file) => Ok(file),
    }
}

/// A file's JSON: `shares` is set once the message is visible.
fn view(id: &str, file: &File, now: DateTime<Utc>) -> Value {
    let mut view = json!({
        "id": id, "name": file.name, "title": file.name, "size": file.length, "mode": "hosted", "shares": {},
        "permalink": format!("{TEAM_URL}files/U0KEEPERBOT/{id}/{}", file.name),
    });
    if let Some(share) = file.shared.as_ref().filter(|it| it.at <= now) {
        let kind = if share.channel == PRIVATE { "private" } else { "public" };
        view["shares"] = json!({ kind: { share.channel.as_str(): [{ "ts": share.ts, "reply_users": [] }] } });
    }
    view
}
