//! Rooms with their state and messages, and files.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use bytes::Bytes;
use chrono::TimeDelta;
use http::{HeaderMap, header};
use serde_json::{Value, json};

use super::access::device;
use super::api_error::ApiError;
use super::{ENCRYPTED, Event, FURTHER_ROOMS, Fake, File, ROOM, USER, content};
use crate::fake::params::essence;

/// How long transaction ids are remembered: as long as on the server with the shortest memory.
const REMEMBERED: TimeDelta = TimeDelta::minutes(30);

type JsonResult = Result<Json<Value>, ApiError>;

/// `GET /_matrix/client/v3/joined_rooms`
pub(super) async fn joined(State(fake): State<Arc<Fake>>, headers: HeaderMap) -> JsonResult {
    device(&fake, &headers)?;
    Ok(Json(json!({ "joined_rooms": [ROOM, ENCRYPTED] })))
}

/// The name of a joined room, and whether it is encrypted. Refuses other rooms.
fn enter(room: &str) -> Result<(String, bool), ApiError> {
    let number = room.strip_prefix(FURTHER_ROOMS).and_then(|it| it.parse::<usize>().ok());
    match (room, number) {
        (ROOM, _) => Ok(("Harbour".to_owned(), false)),
        (ENCRYPTED, _) => Ok(("Cellar".to_owned(), true)),
        (_, Some(number)) => Ok((format!("Crowd {number}"), number % 2 == 1)),
        _ => Err(ApiError::forbidden(&format!("User {USER} not in room {room}"))),
    }
}

/// `GET /_matrix/client/v3/rooms/{roomId}/state/{eventType}`
pub(super) async fn state(
    State(fake): State<Arc<Fake>>,
    Path((room, kind)): Path<(String, String)>,
    Query(query): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
) -> JsonResult {
    device(&fake, &headers)?;
    let (name, is_encrypted) = enter(&room)?;
    let content = match kind.as_str() {
        "m.room.create" => json!({ "room_version": "11" }),
        "m.room.name" => json!({ "name": name }),
        "m.room.power_levels" => json!({ "users": {}, "users_default": 0, "events": levels(), "events_default": 0 }),
        "m.room.canonical_alias" if room == ROOM => json!({ "alias": "#harbour:lighthouse.example" }),
        "m.room.encryption" if is_encrypted => json!({ "algorithm": "m.megolm.v1.aes-sha2" }),
        _ => return Err(ApiError::new(404, "M_NOT_FOUND", "Event not found.")),
    };
    let is_event = query.get("format").is_some_and(|it| it == "event");
    let event = json!({
        "type": kind, "state_key": "", "room_id": room, "event_id": format!("${kind}"), "origin_server_ts": 0,
        "sender": "@captain:lighthouse.example", "content": content, "unsigned": { "age": 0 },
    });
    Ok(Json(if is_event { event } else { content }))
}

/// The levels of a new room at Synapse. Messages have none of their own.
fn levels() -> Value {
    json!({
        "m.room.avatar": 50, "m.room.canonical_alias": 50, "m.room.encryption": 100, "m.room.history_visibility": 100,
        "m.room.name": 50, "m.room.power_levels": 100, "m.room.server_acl": 100, "m.room.tombstone": 100,
    })
}

/// `PUT /_matrix/client/v3/rooms/{roomId}/send/m.room.message/{txnId}`
pub(super) async fn send(
    State(fake): State<Arc<Fake>>,
    Path((room, transaction)): Path<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> JsonResult {
    let transaction = (device(&fake, &headers)?, transaction);
    let mut memory = fake.memory();
    let now = fake.clock.now();
    let is_same = |it: &&Event| it.transaction.as_ref() == Some(&transaction) && now < it.at + REMEMBERED;
    if let Some(event) = memory.events.iter().find(is_same) {
        return Ok(Json(json!({ "event_id": event.id })));
    }
    let Ok(Value::Object(fields)) = serde_json::from_slice(&body) else {
        return Err(ApiError::bad("the body is no JSON object"));
    };
    enter(&room)?;
    content::check(&memory, &fields)?;
    let event = memory.say(&room, Value::Object(fields), Some(transaction), now);
    Ok(Json(json!({ "event_id": event })))
}

/// `GET /_matrix/client/v3/rooms/{roomId}/messages`, newest first. All events are messages of the user.
pub(super) async fn messages(
    State(fake): State<Arc<Fake>>,
    Path(room): Path<String>,
    Query(query): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
) -> JsonResult {
    let device = device(&fake, &headers)?;
    enter(&room)?;
    let number = |name: &str| query.get(name).and_then(|it| it.parse::<usize>().ok());
    let (Some("b"), Some(limit)) = (query.get("dir").map(String::as_str), number("limit")) else {
        return Err(ApiError::new(400, "M_MISSING_PARAM", "dir is b here, and there is a limit"));
    };
    let from = number("from").unwrap_or_default();
    let memory = fake.memory();
    let events: Vec<_> = memory.events.iter().rev().filter(|it| it.room == room).skip(from).take(limit).collect();
    let chunk = events.iter().map(|it| {
        let mut event = json!({
            "type": "m.room.message", "room_id": room, "event_id": it.id, "sender": USER, "user_id": USER,
            "origin_server_ts": it.at.timestamp_millis(), "content": it.content, "unsigned": {},
        });
        // Only the device that sent a message reads its transaction id.
        if let Some((_, transaction)) = it.transaction.as_ref().filter(|(sender, _)| *sender == device) {
            event["unsigned"]["transaction_id"] = transaction.as_str().into();
        }
        event
    });
    let mut response = json!({ "start": from.to_string(), "chunk": chunk.collect::<Vec<_>>() });
    // Synapse omits `end` only if it has read no event, so that the last page is empty.
    if !events.is_empty() {
        response["end"] = (from + events.len()).to_string().into();
    }
    Ok(Json(response))
}

/// `POST /_matrix/media/v3/upload`. Synapse requires the length in advance.
pub(super) async fn upload(State(fake): State<Arc<Fake>>, headers: HeaderMap, bytes: Bytes) -> JsonResult {
    device(&fake, &headers)?;
    if !headers.contains_key(header::CONTENT_LENGTH) {
        return Err(ApiError::new(400, "M_UNKNOWN", "Request must specify a Content-Length"));
    }
    let mut memory = fake.memory();
    let uri = format!("mxc://lighthouse.example/file-{}", memory.files.len());
    memory.files.insert(uri.clone(), File { mime_type: essence(&headers), bytes });
    Ok(Json(json!({ "content_uri": uri })))
}
