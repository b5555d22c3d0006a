//! Discovery, devices and the user.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use serde_json::{Map, Value, json};

use super::refusal::Refusal;
use super::tokens::Pair;
use super::{Here, PASSWORD, USER};
use crate::stand_in::params::essence;

type Answer = Result<Json<Value>, Refusal>;

pub(super) async fn unrecognized() -> Refusal {
    Refusal::new(404, "M_UNRECOGNIZED", "Unrecognized request")
}

pub(super) async fn unrecognized_method() -> Refusal {
    Refusal::new(405, "M_UNRECOGNIZED", "Unrecognized request")
}

/// `GET /.well-known/matrix/client`
pub(super) async fn well_known(State(here): State<Arc<Here>>) -> Response {
    let moved = here.memory().moved_to.clone();
    match moved {
        Some(address) => (StatusCode::MOVED_PERMANENTLY, [(header::LOCATION, address)]).into_response(),
        None => well_known_elsewhere(State(here)).await,
    }
}

/// The same where its readers are moved.
pub(super) async fn well_known_elsewhere(State(here): State<Arc<Here>>) -> Response {
    match here.memory().well_known.clone() {
        Some(said) => Json(said).into_response(),
        None => Refusal::new(404, "M_NOT_FOUND", ".well-known not available").into_response(),
    }
}

/// `GET /_matrix/client/versions`
pub(super) async fn versions() -> Json<Value> {
    Json(json!({ "versions": ["r0.6.1", "v1.1", "v1.10", "v1.11", "v1.18"], "unstable_features": {} }))
}

/// "All `POST` and `PUT` endpoints […] require the client to supply a request body
/// containing a (potentially empty) JSON object."
pub(super) fn object(headers: &HeaderMap, body: &[u8]) -> Result<Map<String, Value>, Refusal> {
    if essence(headers) != "application/json" {
        return Err(Refusal::new(400, "M_NOT_JSON", "Content-Type is not application/json"));
    }
    match serde_json::from_slice(body) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(Refusal::bad("the body is no JSON object")),
        Err(_) => Err(Refusal::new(400, "M_NOT_JSON", "Content not JSON.")),
    }
}

/// Refuses fields that a call does not have.
fn check_fields(fields: &Map<String, Value>, known: &[&str]) -> Result<(), Refusal> {
    match fields.keys().find(|it| !known.contains(&it.as_str())) {
        None => Ok(()),
        Some(name) => Err(Refusal::bad(&format!("there is no field {name}"))),
    }
}

/// `POST /_matrix/client/v3/login`
pub(super) async fn log_in(State(here): State<Arc<Here>>, headers: HeaderMap, body: Bytes) -> Answer {
    let fields = object(&headers, &body)?;
    check_fields(
        &fields,
        &["type", "identifier", "password", "device_id", "initial_device_display_name", "refresh_token"],
    )?;
    let now = here.clock.now();
    let mut memory = here.memory();
    if fields.get("type") != Some(&json!("m.login.password")) || memory.takes_no_passwords {
        return Err(Refusal::new(400, "M_UNKNOWN", "Bad login type."));
    }
    let identifier = fields.get("identifier").cloned().unwrap_or_default();
    if identifier["type"] != "m.id.user" {
        return Err(Refusal::new(400, "M_UNKNOWN", "Unknown login identifier type"));
    }
    let localpart = USER[1..].split(':').next().unwrap_or_default();
    let is_user = identifier["user"] == USER || identifier["user"] == localpart;
    if !is_user || fields.get("password") != Some(&json!(PASSWORD)) {
        return Err(Refusal::forbidden("Invalid username or password"));
    }
    let pair = memory.log_in(fields.get("refresh_token") == Some(&json!(true)), now);
    let device = memory.devices.last_mut().ok_or_else(|| Refusal::bad("there is no device"))?;
    device.name = fields.get("initial_device_display_name").and_then(Value::as_str).map(str::to_owned);
    let id = device.id.clone();
    let mut answer = tokens(&pair, now);
    answer["user_id"] = USER.into();
    answer["device_id"] = id.into();
    Ok(Json(answer))
}

fn tokens(pair: &Pair, now: chrono::DateTime<chrono::Utc>) -> Value {
    let mut answer = json!({ "access_token": pair.access });
    if let (Some(refresh), Some(ends_at)) = (&pair.refresh, pair.ends_at) {
        answer["refresh_token"] = refresh.as_str().into();
        answer["expires_in_ms"] = (ends_at - now).num_milliseconds().into();
    }
    answer
}

/// `POST /_matrix/client/v3/refresh`
pub(super) async fn refresh(State(here): State<Arc<Here>>, headers: HeaderMap, body: Bytes) -> Answer {
    let fields = object(&headers, &body)?;
    check_fields(&fields, &["refresh_token"])?;
    let missing = || Refusal::new(400, "M_MISSING_PARAM", "there is no refresh_token");
    let token = fields.get("refresh_token").and_then(Value::as_str).ok_or_else(missing)?;
    let now = here.clock.now();
    let pair = here.memory().renew(token, now)?;
    Ok(Json(tokens(&pair, now)))
}

/// `POST /_matrix/client/v3/logout`
pub(super) async fn log_out(State(here): State<Arc<Here>>, headers: HeaderMap, body: Bytes) -> Answer {
    check_fields(&object(&headers, &body)?, &[])?;
    here.memory().log_out(&headers, here.clock.now())?;
    Ok(Json(json!({})))
}

/// `GET /_matrix/client/v3/account/whoami`
pub(super) async fn who_am_i(State(here): State<Arc<Here>>, headers: HeaderMap) -> Answer {
    let mut memory = here.memory();
    let device = memory.device(&headers, here.clock.now())?;
    Ok(Json(json!({ "user_id": USER, "device_id": device.id, "is_guest": false })))
}

/// `GET /_matrix/client/v3/profile/{userId}`
pub(super) async fn profile(State(here): State<Arc<Here>>, Path(user): Path<String>, headers: HeaderMap) -> Answer {
    // "Servers MAY additionally require authentication."
    here.memory().device(&headers, here.clock.now())?;
    if user != USER {
        return Err(Refusal::new(404, "M_NOT_FOUND", "Profile was not found"));
    }
    Ok(Json(json!({ "displayname": "The keeper", "avatar_url": "mxc://lighthouse.example/lamp" })))
}
