//! The server and its members.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, RawQuery, State};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use super::permissions::{OF_EVERYBODY, missing_access};
use super::{BOT, Fake, GUILD, Memory, PERMISSIONS, ROLE, SERVER, bits_json};
use crate::discord::api_error::ApiError;
use crate::discord::webhooks::refuse_query;

pub(super) async fn me(State(fake): State<Arc<Fake>>, headers: HeaderMap) -> Result<Json<Value>, ApiError> {
    drop(fake.authenticate_bot(&headers)?);
    Ok(Json(json!({ "id": BOT, "username": "Keeper", "discriminator": "0042", "bot": true, "avatar": null })))
}

/// The guild resource in members' responses.
pub(super) fn to_json(id: &str) -> Value {
    let role = |id: &str, name: &str, permissions| json!({ "id": id, "name": name, "permissions": bits_json(permissions), "managed": id == ROLE, "position": 0 });
    json!({
        "id": id,
        "name": SERVER,
        "icon": "a_bb71f469c158984e265093a81b3397fb",
        "owner_id": "53908232999183680",
        "roles": [role(id, "@everyone", OF_EVERYBODY), role(ROLE, "Keeper", PERMISSIONS)],
        "features": [],
        "premium_tier": 0,
    })
}

impl Memory {
    fn check_membership(&self, guild: &str) -> Result<(), ApiError> {
        match guild {
            GUILD if self.is_in => Ok(()),
            GUILD => Err(missing_access()),
            _ => Err(unknown_guild()),
        }
    }
}

fn unknown_guild() -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, 10_004, "Unknown Guild")
}

pub(super) async fn show(
    State(fake): State<Arc<Fake>>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Json<Value>, ApiError> {
    refuse_query(query)?;
    fake.authenticate_bot(&headers)?.check_membership(&id)?;
    Ok(Json(to_json(&id)))
}

/// All channels, including those that the bot cannot view.
pub(super) async fn channels(
    State(fake): State<Arc<Fake>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Json<Value>, ApiError> {
    let memory = fake.authenticate_bot(&headers)?;
    memory.check_membership(&id)?;
    Ok(Json(memory.channels.iter().filter(|it| it.is_here()).map(super::Channel::to_json).collect()))
}

pub(super) async fn member(
    State(fake): State<Arc<Fake>>,
    Path((id, user)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Json<Value>, ApiError> {
    fake.authenticate_bot(&headers)?.check_membership(&id)?;
    if user != BOT {
        return Err(ApiError::new(StatusCode::NOT_FOUND, 10_007, "Unknown Member"));
    }
    Ok(Json(json!({ "user": { "id": BOT, "username": "Keeper", "bot": true }, "roles": [ROLE], "nick": null })))
}

pub(super) async fn leave(
    State(fake): State<Arc<Fake>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<StatusCode, ApiError> {
    let mut memory = fake.authenticate_bot(&headers)?;
    if id != GUILD || !memory.is_in {
        return Err(unknown_guild());
    }
    memory.is_in = false;
    Ok(StatusCode::NO_CONTENT)
}
