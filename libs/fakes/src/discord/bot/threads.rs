//! Threads of forums.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, RawQuery, Request, State};
use axum::response::{AppendHeaders, IntoResponse, Response};
use chrono::{DateTime, Utc};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};
use url::form_urlencoded;

use super::permissions::{ATTACH, HISTORY, SEND, VIEW};
use super::{BOT, Fake, GUILD, Thread};
use crate::discord::api_error::{ApiError, rate_headers};
use crate::discord::files::Body;
use crate::discord::message::{ALLOWED_MENTIONS, ATTACHMENTS, CONTENT, FLAGS, MessageBody};
use crate::fake::schema::{self, Fields, Object, Pattern, Required};

impl Thread {
    /// The channel resource.
    pub(super) fn to_json(&self) -> Value {
        json!({
            "id": self.id,
            "type": 11,
            "guild_id": GUILD,
            "parent_id": self.forum,
            "owner_id": BOT,
            "name": self.name,
            "message_count": 0,
            "thread_metadata": {
                "archived": self.archived_at.is_some(),
                "auto_archive_duration": 1_440,
                "archive_timestamp": self.archived_at.unwrap_or_default().to_rfc3339(),
                "locked": false,
            },
        })
    }
}

const FORUM_POST: Fields = &[
    ("name", Required, Pattern(|it| !it.trim().is_empty() && it.chars().count() <= 100)),
    ("message", Required, Object(&[CONTENT, FLAGS, ALLOWED_MENTIONS, ATTACHMENTS])),
];

/// Start Thread in Forum or Media Channel.
pub(super) async fn begin(
    State(fake): State<Arc<Fake>>,
    Path(forum): Path<String>,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, ApiError> {
    // In a text channel, the same call starts an empty thread without members.
    if !matches!(fake.authenticate_bot(&headers)?.channel(&forum, SEND)?.kind, 15 | 16) {
        return Err(ApiError::bad(50_024, "Cannot execute action on this channel type"));
    }
    let usage = fake.counted(&forum)?;
    let Body { payload, files } = Body::read(request).await?;
    let mut memory = fake.memory();
    if !files.is_empty() {
        memory.channel(&forum, ATTACH)?;
    }
    schema::check(&payload, FORUM_POST)?;
    let body = MessageBody::read(&payload["message"], files)?;
    if memory.requires_tags {
        return Err(ApiError::tag_required());
    }
    let now = fake.clock.now();
    let id = memory.id(now);
    let name = payload["name"].as_str().unwrap_or_default().to_owned();
    memory.threads.push(Thread { id: id.clone(), forum, name, archived_at: None });
    let thread = memory.threads[memory.threads.len() - 1].to_json();
    let first = memory.post(body, (id.clone(), id), None, payload, now).to_json(true);
    let mut object = thread;
    object["message"] = first;
    Ok((StatusCode::CREATED, AppendHeaders(rate_headers(&usage, now)), Json(object)).into_response())
}

pub(super) async fn active(
    State(fake): State<Arc<Fake>>,
    Path(guild): Path<String>,
    headers: HeaderMap,
) -> Result<Json<Value>, ApiError> {
    let memory = fake.authenticate_bot(&headers)?;
    if guild != GUILD || !memory.is_in {
        return Err(super::permissions::missing_access());
    }
    let is_seen = |it: &&Thread| it.archived_at.is_none() && memory.channel(&it.forum, VIEW).is_ok();
    let threads: Vec<_> = memory.threads.iter().rev().filter(is_seen).map(Thread::to_json).collect();
    Ok(Json(json!({ "threads": threads, "members": [] })))
}

/// "ordered by `archive_timestamp`, in descending order"
pub(super) async fn list_archived(
    State(fake): State<Arc<Fake>>,
    Path(forum): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Json<Value>, ApiError> {
    let memory = fake.authenticate_bot(&headers)?;
    if !memory.channel(&forum, VIEW)?.permits(HISTORY) {
        return Err(ApiError::new(StatusCode::FORBIDDEN, 50_013, "Missing Permissions"));
    }
    let (mut before, mut limit) = (DateTime::<Utc>::MAX_UTC, 50);
    for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        let wrong = || ApiError::field(&name, "UNKNOWN", "There is no such parameter, or value.");
        match name.as_ref() {
            "before" => before = DateTime::parse_from_rfc3339(&value).map_err(|_| wrong())?.to_utc(),
            "limit" => limit = value.parse().ok().filter(|it| (2..=100).contains(it)).ok_or_else(wrong)?,
            _ => return Err(wrong()),
        }
    }
    let mut there: Vec<_> =
        memory.threads.iter().filter(|it| it.forum == forum && it.archived_at.is_some_and(|at| at < before)).collect();
    there.sort_by_key(|it| std::cmp::Reverse(it.archived_at));
    let has_more = limit < there.len();
    let threads: Vec<_> = there.into_iter().take(limit).map(Thread::to_json).collect();
    Ok(Json(json!({ "threads": threads, "members": [], "has_more": has_more })))
}
