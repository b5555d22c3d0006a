//! Rooms and their state.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use http::HeaderMap;
use serde_json::{Value, json};

use super::api_error::ApiError;
use super::{ENCRYPTED, Fake, ROOM, SILENT, USER};

/// Prefix of the ids of further rooms.
const CROWD: &str = "!crowd-";

/// The state events of a joined room, by type; `None` for any other room.
fn find_state(room: &str) -> Option<Vec<(&'static str, Value)>> {
    let number = room.strip_prefix(CROWD).and_then(|it| it.parse::<usize>().ok());
    let create = ("m.room.create", json!({ "room_version": "11" }));
    let levels = |users: Value, events_default: i64| {
        // Synapse's default for a new room.
        let events = json!({
            "m.room.name": 50, "m.room.power_levels": 100, "m.room.history_visibility": 100, "m.room.canonical_alias": 50,
            "m.room.avatar": 50, "m.room.tombstone": 100, "m.room.server_acl": 100, "m.room.encryption": 100,
        });
        let content = json!({
            "users": users, "users_default": 0, "events": events, "events_default": events_default,
            "state_default": 50, "ban": 50, "kick": 50, "redact": 50, "invite": 0, "historical": 100,
        });
        ("m.room.power_levels", content)
    };
    let ours = || levels(json!({ "@captain:lighthouse.example": 100 }), 0);
    let name = |it: &str| ("m.room.name", json!({ "name": it }));
    match room {
        ROOM => {
            let alias = ("m.room.canonical_alias", json!({ "alias": "#harbour:lighthouse.example" }));
            Some(vec![create, ours(), name("Harbour"), alias])
        }
        ENCRYPTED => {
            let encryption = ("m.room.encryption", json!({ "algorithm": "m.megolm.v1.aes-sha2" }));
            Some(vec![create, ours(), name("Cellar"), encryption])
        }
        SILENT => Some(vec![create, levels(json!({ USER: 0 }), 50), name("Tower")]),
        _ => number.map(|number| {
            let name = name(&format!("Crowd {number}"));
            let encryption = ("m.room.encryption", json!({ "algorithm": "m.megolm.v1.aes-sha2" }));
            [create, ours(), name].into_iter().chain((number % 2 == 1).then_some(encryption)).collect()
        }),
    }
}

fn joined_rooms(extra_rooms: usize) -> Vec<String> {
    let extra_rooms = (0..extra_rooms).map(|number| format!("{CROWD}{number}"));
    [ROOM, ENCRYPTED, SILENT].map(str::to_owned).into_iter().chain(extra_rooms).collect()
}

/// `GET /_matrix/client/v3/joined_rooms`
pub(super) async fn joined(State(fake): State<Arc<Fake>>, headers: HeaderMap) -> Result<Json<Value>, ApiError> {
    let mut memory = fake.memory();
    memory.device(&headers, fake.clock.now())?;
    Ok(Json(json!({ "joined_rooms": joined_rooms(memory.crowd) })))
}

/// Refuses rooms that the user has not joined.
pub(super) fn enter(room: &str) -> Result<Vec<(&'static str, Value)>, ApiError> {
    find_state(room).ok_or_else(|| ApiError::forbidden(&format!("User {USER} not in room {room}")))
}

/// `GET /_matrix/client/v3/rooms/{roomId}/state/{eventType}`
pub(super) async fn state(
    State(fake): State<Arc<Fake>>,
    Path((room, kind)): Path<(String, String)>,
    Query(query): Query<Vec<(String, String)>>,
    headers: HeaderMap,
) -> Result<Json<Value>, ApiError> {
    let mut memory = fake.memory();
    memory.device(&headers, fake.clock.now())?;
    memory.asked_of_rooms += 1;
    let is_event = match &query[..] {
        [] => false,
        [(name, value)] if name == "format" && matches!(value.as_str(), "content" | "event") => value == "event",
        _ => return Err(ApiError::parameter("format is content or event, and there is no other parameter")),
    };
    let found = enter(&room)?.into_iter().find(|(it, _)| *it == kind);
    let (kind, content) = found.ok_or_else(|| ApiError::new(404, "M_NOT_FOUND", "Event not found."))?;
    // Since version 1.16.
    Ok(Json(if is_event { event(&room, kind, &content) } else { content }))
}

fn event(room: &str, kind: &str, content: &Value) -> Value {
    json!({
        "type": kind, "state_key": "", "room_id": room, "unsigned": { "age": 0 }, "sender": "@captain:lighthouse.example", "content": content,
        "event_id": format!("${kind}"), "origin_server_ts": 0,
    })
}
