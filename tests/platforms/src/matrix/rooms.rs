//! Rooms and their state.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use http::HeaderMap;
use serde_json::{Value, json};

use super::refusal::Refusal;
use super::{ENCRYPTED, Here, ROOM, SILENT, USER};

/// The state of a room that the user has joined, by kinds; `None` of another.
fn state_of(room: &str) -> Option<Vec<(&'static str, Value)>> {
    let create = ("m.room.create", json!({ "room_version": "11" }));
    let levels =
        ("m.room.power_levels", json!({ "users": { "@captain:lighthouse.example": 100 }, "events_default": 0 }));
    let name = |it: &str| ("m.room.name", json!({ "name": it }));
    match room {
        ROOM => {
            let alias = ("m.room.canonical_alias", json!({ "alias": "#harbour:lighthouse.example" }));
            Some(vec![create, levels, name("Harbour"), alias])
        }
        ENCRYPTED => {
            let encryption = ("m.room.encryption", json!({ "algorithm": "m.megolm.v1.aes-sha2" }));
            Some(vec![create, levels, name("Cellar"), encryption])
        }
        SILENT => {
            let levels = ("m.room.power_levels", json!({ "users": { USER: 0 }, "events_default": 50 }));
            Some(vec![create, levels, name("Tower")])
        }
        _ => None,
    }
}

/// Refuses who has not joined.
pub(super) fn enter(room: &str) -> Result<Vec<(&'static str, Value)>, Refusal> {
    state_of(room).ok_or_else(|| Refusal::forbidden(&format!("User {USER} not in room {room}")))
}

/// `GET /_matrix/client/v3/rooms/{roomId}/state/{eventType}`
pub(super) async fn state(
    State(here): State<Arc<Here>>,
    Path((room, kind)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Json<Value>, Refusal> {
    here.memory().device(&headers, here.clock.now())?;
    let found = enter(&room)?.into_iter().find(|(it, _)| *it == kind);
    found.map(|(_, content)| Json(content)).ok_or_else(|| Refusal::new(404, "M_NOT_FOUND", "Event not found."))
}

/// `GET /_matrix/client/v3/sync`, the first one.
pub(super) async fn sync(
    State(here): State<Arc<Here>>,
    Query(query): Query<Vec<(String, String)>>,
    headers: HeaderMap,
) -> Result<Json<Value>, Refusal> {
    here.memory().device(&headers, here.clock.now())?;
    let mut filter = json!({});
    for (name, value) in query {
        match name.as_str() {
            "filter" => filter = serde_json::from_str(&value).map_err(|_| Refusal::parameter("filter is no JSON"))?,
            "set_presence" | "timeout" => {}
            _ => return Err(Refusal::parameter(&format!("there is no {name}"))),
        }
    }
    let lets = |part: &str, kind: &str| {
        filter["room"][part]["types"].as_array().is_none_or(|all| all.iter().any(|it| it == kind))
    };
    let event = |(kind, content): (&str, Value)| {
        json!({
            "type": kind, "state_key": "", "sender": "@captain:lighthouse.example", "content": content,
            "event_id": format!("${kind}"), "origin_server_ts": 0,
        })
    };
    let joined = [ROOM, ENCRYPTED, SILENT].map(|room| {
        let mut state = state_of(room).unwrap_or_default();
        // What came last is told in the timeline alone.
        let last = state.pop().filter(|(kind, _)| lets("timeline", kind));
        state.retain(|(kind, _)| lets("state", kind));
        let told = json!({
            "timeline": { "events": last.into_iter().map(event).collect::<Vec<_>>(), "limited": false },
            "state": { "events": state.into_iter().map(event).collect::<Vec<_>>() },
            "summary": {}, "ephemeral": { "events": [] }, "account_data": { "events": [] },
        });
        (room.to_owned(), told)
    });
    let joined: serde_json::Map<_, _> = joined.into_iter().collect();
    Ok(Json(json!({ "next_batch": "s1", "rooms": { "join": joined, "invite": {}, "leave": {} } })))
}
