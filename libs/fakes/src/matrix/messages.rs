//! Sending and listing messages.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use bytes::Bytes;
use chrono::TimeDelta;
use http::HeaderMap;
use serde_json::{Value, json};

use super::api_error::ApiError;
use super::rooms::enter;
use super::{Fake, Membership, SILENT, USER, access, content};
use crate::fake::limits::{Limit, WindowStart};

/// How long transaction ids are remembered: as long as on the server with the shortest memory.
const REMEMBERED: TimeDelta = TimeDelta::minutes(30);

/// Synapse's default: ten at once, and one in five seconds. The fake counts in a simpler way.
const PER_USER: Limit =
    Limit { name: "messages", max: 10, period: TimeDelta::seconds(50), window_start: WindowStart::FirstRequest };

/// `PUT /_matrix/client/v3/rooms/{roomId}/send/{eventType}/{txnId}`
pub(super) async fn send(
    State(fake): State<Arc<Fake>>,
    Path((room, kind, transaction)): Path<(String, String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Value>, ApiError> {
    let now = fake.clock.now();
    let mut memory = fake.memory();
    let device = memory.device(&headers, now)?.id.clone();
    let key = (device.clone(), room.clone(), transaction.clone());
    let known = memory.transactions.get(&key).filter(|(_, at)| now < *at + REMEMBERED);
    if let Some((event, _)) = known {
        return Ok(Json(json!({ "event_id": event })));
    }
    let fields = access::object(&headers, &body)?;
    if kind != "m.room.message" {
        return Err(ApiError::bad("only messages are sent here"));
    }
    if memory.membership == Membership::Banned {
        return Err(ApiError::forbidden("You are banned from this room"));
    }
    enter(&room)?;
    if room == SILENT {
        return Err(ApiError::forbidden("You don't have permission to post that to the room"));
    }
    content::check(&memory, &room, &fields)?;
    let membership = memory.limits.count(PER_USER, USER, 1, now);
    if membership.is_exceeded {
        return Err(ApiError::too_many((membership.resets_at - now).num_milliseconds()));
    }
    let event = memory.say(&room, Value::Object(fields), Some((device, transaction)), now);
    memory.transactions.insert(key, (event.clone(), now));
    Ok(Json(json!({ "event_id": event })))
}

/// `GET /_matrix/client/v3/rooms/{roomId}/messages`
pub(super) async fn list(
    State(fake): State<Arc<Fake>>,
    Path(room): Path<String>,
    Query(query): Query<Vec<(String, String)>>,
    headers: HeaderMap,
) -> Result<Json<Value>, ApiError> {
    let mut memory = fake.memory();
    let device = memory.device(&headers, fake.clock.now())?.id.clone();
    enter(&room)?;
    let (mut from, mut limit, mut filter, mut dir) = (0, 10, json!({}), None);
    for (name, value) in query {
        let number = || value.parse::<usize>().map_err(|_| ApiError::parameter(&format!("{name} is no number")));
        match name.as_str() {
            "dir" => dir = Some(value),
            "limit" => limit = number()?,
            "filter" => filter = serde_json::from_str(&value).map_err(|_| ApiError::parameter("filter is no JSON"))?,
            "from" => {
                let at = value.strip_prefix("behind-").and_then(|it| it.parse().ok());
                from = at.ok_or_else(|| ApiError::parameter("from is no token"))?;
            }
            _ => return Err(ApiError::parameter(&format!("there is no {name}"))),
        }
    }
    match dir.as_deref() {
        Some("b") => {}
        Some(_) => return Err(ApiError::parameter("dir is to be b here")),
        None => return Err(ApiError::new(400, "M_MISSING_PARAM", "Missing required query parameter dir")),
    }
    let lets = |name: &str, value: &str| {
        filter.get(name).and_then(Value::as_array).is_none_or(|all| all.iter().any(|it| it == value))
    };
    let of_room: Vec<_> = memory.events.iter().rev().filter(|it| it.room == room).collect();
    let limit = limit.min(memory.page.unwrap_or(100)).max(1);
    let page = of_room.iter().skip(from).take(limit);
    // "An empty chunk does not necessarily imply that no more events are available."
    let chunk = page.filter(|it| lets("senders", &it.sender) && lets("types", "m.room.message")).map(|it| {
        let mut event = json!({
            "type": "m.room.message", "room_id": room, "event_id": it.id, "sender": it.sender, "user_id": it.sender,
            "origin_server_ts": it.at.timestamp_millis(), "content": it.content, "age": 0,
            "unsigned": { "age": 0, "membership": "join" },
        });
        if let Some((by, transaction)) = &it.transaction
            && *by == device
        {
            event["unsigned"]["transaction_id"] = transaction.as_str().into();
        }
        event
    });
    let mut response = json!({ "start": format!("behind-{from}"), "chunk": chunk.collect::<Vec<_>>() });
    // Synapse omits `end` only if it has read no event, so that the last page is empty.
    if from < of_room.len() {
        response["end"] = format!("behind-{}", of_room.len().min(from + limit)).into();
    }
    Ok(Json(response))
}
