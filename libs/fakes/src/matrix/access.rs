//! Discovery, devices and the user.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use chrono::TimeDelta;
use http::{HeaderMap, StatusCode, header};
use serde_json::{Map, Value, json};
use url::Url;

use super::api_error::ApiError;
use super::tokens::Pair;
use super::{Fake, PASSWORD, USER};
use crate::fake::oauth::secret;
use crate::fake::params::essence;
use crate::fake::wire::browser;

/// Lifetime of a login token, which is used once. The same as Synapse's.
const LOGIN_TOKEN_LIVES: TimeDelta = TimeDelta::minutes(2);

type JsonResult = Result<Json<Value>, ApiError>;

pub(super) async fn unrecognized() -> ApiError {
    ApiError::new(404, "M_UNRECOGNIZED", "Unrecognized request")
}

pub(super) async fn unrecognized_method() -> ApiError {
    ApiError::new(405, "M_UNRECOGNIZED", "Unrecognized request")
}

/// `GET /.well-known/matrix/client`
pub(super) async fn well_known(State(fake): State<Arc<Fake>>) -> Response {
    let moved = fake.memory().moved_to.clone();
    match moved {
        Some(address) => (StatusCode::MOVED_PERMANENTLY, [(header::LOCATION, address)]).into_response(),
        None => redirected_well_known(State(fake)).await,
    }
}

/// The target of a redirected `/.well-known/matrix/client`.
pub(super) async fn redirected_well_known(State(fake): State<Arc<Fake>>) -> Response {
    match fake.memory().well_known.clone() {
        Some(body) => Json(body).into_response(),
        None => ApiError::new(404, "M_NOT_FOUND", ".well-known not available").into_response(),
    }
}

/// `GET /_matrix/client/versions`
pub(super) async fn versions(State(fake): State<Arc<Fake>>) -> Json<Value> {
    let today = ["r0.6.1", "v1.1", "v1.10", "v1.11", "v1.18"];
    let versions = fake.memory().old_versions.map_or_else(|| today.to_vec(), |it| it.to_vec());
    Json(json!({ "versions": versions, "unstable_features": {} }))
}

/// "All `POST` and `PUT` endpoints […] require the client to supply a request body
/// containing a (potentially empty) JSON object."
pub(super) fn object(headers: &HeaderMap, body: &[u8]) -> Result<Map<String, Value>, ApiError> {
    if essence(headers) != "application/json" {
        return Err(ApiError::new(400, "M_NOT_JSON", "Content-Type is not application/json"));
    }
    match serde_json::from_slice(body) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(ApiError::bad("the body is no JSON object")),
        Err(_) => Err(ApiError::new(400, "M_NOT_JSON", "Content not JSON.")),
    }
}

/// Refuses fields that are unknown to a call.
pub(super) fn check_fields(fields: &Map<String, Value>, known: &[&str]) -> Result<(), ApiError> {
    match fields.keys().find(|it| !known.contains(&it.as_str())) {
        None => Ok(()),
        Some(name) => Err(ApiError::bad(&format!("there is no field {name}"))),
    }
}

/// `POST /_matrix/client/v3/login`
pub(super) async fn log_in(State(fake): State<Arc<Fake>>, headers: HeaderMap, body: Bytes) -> JsonResult {
    let fields = object(&headers, &body)?;
    let of_all = ["type", "device_id", "initial_device_display_name", "refresh_token"];
    let now = fake.clock.now();
    let mut memory = fake.memory();
    if memory.has_no_older_sign_in {
        return Err(ApiError::new(404, "M_UNRECOGNIZED", "Unrecognized request"));
    }
    match fields.get("type").and_then(Value::as_str) {
        Some("m.login.password") if !memory.takes_no_passwords => {
            check_fields(&fields, &[of_all.as_slice(), &["identifier", "password"]].concat())?;
            check_password(&fields)?;
        }
        Some("m.login.token") if memory.has_page => {
            check_fields(&fields, &[of_all.as_slice(), &["token"]].concat())?;
            let token = fields.get("token").and_then(Value::as_str).unwrap_or_default();
            let given_at = memory.login_tokens.remove(token);
            if given_at.is_none_or(|it| it + LOGIN_TOKEN_LIVES < now) {
                return Err(ApiError::forbidden("Invalid login token"));
            }
        }
        _ => return Err(ApiError::new(400, "M_UNKNOWN", "Bad login type.")),
    }
    let pair = memory.log_in(fields.get("refresh_token") == Some(&json!(true)), now);
    let device = memory.devices.last_mut().ok_or_else(|| ApiError::bad("there is no device"))?;
    device.name = fields.get("initial_device_display_name").and_then(Value::as_str).map(str::to_owned);
    let id = device.id.clone();
    let mut answer = tokens_json(&pair, now);
    answer["user_id"] = USER.into();
    answer["device_id"] = id.into();
    Ok(Json(answer))
}

fn check_password(fields: &Map<String, Value>) -> Result<(), ApiError> {
    let identifier = fields.get("identifier").cloned().unwrap_or_default();
    if identifier["type"] != "m.id.user" {
        return Err(ApiError::new(400, "M_UNKNOWN", "Unknown login identifier type"));
    }
    let localpart = USER[1..].split(':').next().unwrap_or_default();
    let is_user = identifier["user"] == USER || identifier["user"] == localpart;
    if !is_user || fields.get("password") != Some(&json!(PASSWORD)) {
        return Err(ApiError::forbidden("Invalid username or password"));
    }
    Ok(())
}

/// `GET /_matrix/client/v3/login`
pub(super) async fn flows(State(fake): State<Arc<Fake>>) -> JsonResult {
    let memory = fake.memory();
    if memory.has_no_older_sign_in {
        return Err(ApiError::new(404, "M_UNRECOGNIZED", "Unrecognized request"));
    }
    let password = (!memory.takes_no_passwords).then(|| json!({ "type": "m.login.password" }));
    let page = [json!({ "type": "m.login.sso", "identity_providers": [] }), json!({ "type": "m.login.token" })];
    let page = page.into_iter().filter(|_| memory.has_page);
    Ok(Json(json!({ "flows": password.into_iter().chain(page).collect::<Vec<_>>() })))
}

/// `GET /_matrix/client/v3/login/sso/redirect`: a signed-in user approves.
pub(super) async fn sign_in(
    State(fake): State<Arc<Fake>>,
    Query(query): Query<Vec<(String, String)>>,
) -> Result<Response, ApiError> {
    let now = fake.clock.now();
    let mut memory = fake.memory();
    if let Some((_, honest)) = &memory.leads_to {
        let page = format!("{honest}/_matrix/client/v3/login/sso/redirect");
        let page = Url::parse_with_params(&page, &query).expect("a homeserver's address is a URL");
        return Ok((StatusCode::FOUND, [(header::LOCATION, page.to_string())]).into_response());
    }
    if !memory.has_page {
        return Err(ApiError::new(404, "M_UNRECOGNIZED", "Unrecognized request"));
    }
    let parameter = |name: &str| query.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str());
    let is_known = query.iter().all(|(name, _)| name == "redirectUrl" || name == "action");
    if !is_known || parameter("action").is_some_and(|it| it != "login") {
        return Err(ApiError::parameter("there is no such parameter"));
    }
    let back = parameter("redirectUrl").and_then(|it| Url::parse(it).ok());
    let mut back = back.ok_or_else(|| ApiError::new(400, "M_MISSING_PARAM", "there is no redirectUrl"))?;
    let token = format!("login-{}", secret());
    back.query_pairs_mut().append_pair("loginToken", &token);
    memory.login_tokens.insert(token, now);
    Ok((StatusCode::FOUND, [(header::LOCATION, back.to_string())]).into_response())
}

/// A signed-in user opens the page, which may redirect to another homeserver's page. Returns the
/// final redirect URL.
pub(super) async fn sign_in_at(url: &str) -> Url {
    let mut url = Url::parse(url).expect("the page is a URL");
    while url.query_pairs().all(|it| it.0 != "loginToken") {
        let page = browser().get(url).send().await.expect("the page is there");
        let location = page.headers().get(header::LOCATION).and_then(|it| it.to_str().ok()).map(str::to_owned);
        let Some(location) = location else { panic!("no way back: {}", page.text().await.unwrap_or_default()) };
        url = Url::parse(&location).expect("the way back is a URL");
    }
    url
}

fn tokens_json(pair: &Pair, now: chrono::DateTime<chrono::Utc>) -> Value {
    let mut answer = json!({ "access_token": pair.access });
    if let (Some(refresh), Some(ends_at)) = (&pair.refresh, pair.ends_at) {
        answer["refresh_token"] = refresh.as_str().into();
        answer["expires_in_ms"] = (ends_at - now).num_milliseconds().into();
    }
    answer
}

/// `POST /_matrix/client/v3/refresh`
pub(super) async fn refresh(State(fake): State<Arc<Fake>>, headers: HeaderMap, body: Bytes) -> JsonResult {
    let fields = object(&headers, &body)?;
    check_fields(&fields, &["refresh_token"])?;
    let missing = || ApiError::new(400, "M_MISSING_PARAM", "there is no refresh_token");
    let token = fields.get("refresh_token").and_then(Value::as_str).ok_or_else(missing)?;
    let now = fake.clock.now();
    let pair = fake.memory().renew(token, None, now)?;
    Ok(Json(tokens_json(&pair, now)))
}

/// `POST /_matrix/client/v3/logout`
pub(super) async fn log_out(State(fake): State<Arc<Fake>>, headers: HeaderMap, body: Bytes) -> JsonResult {
    check_fields(&object(&headers, &body)?, &[])?;
    fake.memory().log_out(&headers, fake.clock.now())?;
    Ok(Json(json!({})))
}

/// `GET /_matrix/client/v3/account/whoami`
pub(super) async fn who_am_i(State(fake): State<Arc<Fake>>, headers: HeaderMap) -> JsonResult {
    let mut memory = fake.memory();
    let device = memory.device(&headers, fake.clock.now())?;
    Ok(Json(json!({ "user_id": USER, "device_id": device.id, "is_guest": false })))
}

/// `GET /_matrix/client/v3/profile/{userId}`
pub(super) async fn profile(State(fake): State<Arc<Fake>>, Path(user): Path<String>, headers: HeaderMap) -> JsonResult {
    // "Servers MAY additionally require authentication."
    fake.memory().device(&headers, fake.clock.now())?;
    if user != USER {
        return Err(ApiError::new(404, "M_NOT_FOUND", "Profile was not found"));
    }
    Ok(Json(json!({ "displayname": "The keeper", "avatar_url": "mxc://lighthouse.example/lamp" })))
}
