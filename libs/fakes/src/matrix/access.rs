//! Discovery, devices and the user.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use bytes::Bytes;
use http::{HeaderMap, header};
use serde_json::{Map, Value, json};
use url::Url;

use super::api_error::ApiError;
use super::{API, DEVICE, Fake, MAX_FILE_BYTES, PASSWORD, USER};
use crate::fake::oauth::{Fault, Grant, OAuth, secret};
use crate::fake::params::{bearer, essence};
use crate::fake::wire::browser;

type JsonResult = Result<Json<Value>, ApiError>;

pub(super) async fn unrecognized() -> ApiError {
    ApiError::unrecognized()
}

/// `GET /_matrix/client/versions`
pub(super) async fn versions() -> Json<Value> {
    Json(json!({ "versions": ["r0.6.1", "v1.1", "v1.18"], "unstable_features": {} }))
}

/// The JSON object in a body, whose fields must be known.
pub(super) fn object(headers: &HeaderMap, body: &[u8], known: &[&str]) -> Result<Map<String, Value>, ApiError> {
    let object = serde_json::from_slice(body).ok().filter(|_| essence(headers) == "application/json");
    let Some(Value::Object(fields)) = object else {
        return Err(ApiError::new(400, "M_NOT_JSON", "Content not JSON."));
    };
    match fields.keys().find(|it| !known.contains(&it.as_str())) {
        None => Ok(fields),
        Some(name) => Err(ApiError::bad(&format!("there is no field {name}"))),
    }
}

/// Adds a device of the older sign-in.
pub(super) fn add_device<'a>(oauth: &'a mut OAuth, fake: &Fake) -> &'a mut Grant {
    let scopes = vec![API.to_owned(), format!("{DEVICE}{}", secret())];
    let index = oauth.grant(&fake.app, scopes, USER, fake.clock.now());
    &mut oauth.grants[index]
}

fn device_id(grant: &Grant) -> String {
    grant.scopes.iter().find_map(|it| it.strip_prefix(DEVICE)).unwrap_or_default().to_owned()
}

/// The id of the device of a request's access token.
pub(super) fn device(fake: &Fake, headers: &HeaderMap) -> Result<String, ApiError> {
    let oauth = fake.oauth();
    let grant = oauth.accept(headers, &[API], fake.clock.now());
    grant.map(device_id).map_err(|fault| match bearer(headers) {
        None => ApiError::new(401, "M_MISSING_TOKEN", "Missing access token"),
        Some(_) => ApiError::unknown_token(fault == Fault::ExpiredToken),
    })
}

/// `POST /_matrix/client/v3/login`
pub(super) async fn log_in(State(fake): State<Arc<Fake>>, headers: HeaderMap, body: Bytes) -> JsonResult {
    let known = ["type", "initial_device_display_name", "refresh_token", "identifier", "password", "token"];
    let fields = object(&headers, &body, &known)?;
    let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    let is_right = match text("type") {
        "m.login.password" if !fake.kind.has_oauth => {
            fields["identifier"] == json!({ "type": "m.id.user", "user": USER }) && text("password") == PASSWORD
        }
        "m.login.token" => fake.memory().login_tokens.remove(text("token")),
        _ => return Err(ApiError::new(400, "M_UNKNOWN", "Bad login type.")),
    };
    if !is_right {
        return Err(ApiError::forbidden("Invalid username, password or token"));
    }
    let mut oauth = fake.oauth();
    let grant = add_device(&mut oauth, &fake);
    let mut response = tokens_json(grant);
    response["user_id"] = USER.into();
    response["device_id"] = device_id(grant).into();
    Ok(Json(response))
}

fn tokens_json(grant: &Grant) -> Value {
    let lives = grant.expires_at.map(|it| (it - grant.made_at).num_milliseconds());
    json!({ "access_token": grant.access_token, "refresh_token": grant.refresh_token, "expires_in_ms": lives })
}

/// `GET /_matrix/client/v3/login`
pub(super) async fn flows(State(fake): State<Arc<Fake>>) -> Json<Value> {
    let password = (!fake.kind.has_oauth).then_some("m.login.password");
    let page = ["m.login.sso", "m.login.token"].into_iter().filter(|_| fake.memory().has_page);
    Json(json!({ "flows": password.into_iter().chain(page).map(|it| json!({ "type": it })).collect::<Vec<_>>() }))
}

/// `GET /_matrix/client/v3/login/sso/redirect`: a signed-in user approves.
pub(super) async fn sign_in(
    State(fake): State<Arc<Fake>>,
    Query(query): Query<Vec<(String, String)>>,
) -> Result<Response, ApiError> {
    let mut memory = fake.memory();
    if let Some((_, honest)) = &memory.leads_to {
        let page = format!("{honest}/_matrix/client/v3/login/sso/redirect");
        let page = Url::parse_with_params(&page, &query).expect("a homeserver's address is a URL");
        return Ok(Redirect::to(page.as_str()).into_response());
    }
    let redirect_uri = query.iter().find(|(name, _)| name == "redirectUrl").and_then(|(_, it)| Url::parse(it).ok());
    let (true, Some(mut back)) = (memory.has_page, redirect_uri) else { return Err(ApiError::unrecognized()) };
    let token = format!("login-{}", secret());
    back.query_pairs_mut().append_pair("loginToken", &token);
    memory.login_tokens.insert(token);
    Ok(Redirect::to(back.as_str()).into_response())
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

/// `POST /_matrix/client/v3/refresh`
pub(super) async fn refresh(State(fake): State<Arc<Fake>>, headers: HeaderMap, body: Bytes) -> JsonResult {
    let fields = object(&headers, &body, &["refresh_token"])?;
    let token = fields.get("refresh_token").and_then(Value::as_str).unwrap_or_default();
    let mut oauth = fake.oauth();
    let index = oauth.refresh(&fake.app, token, fake.clock.now()).map_err(|_| ApiError::unknown_token(false))?;
    Ok(Json(tokens_json(&oauth.grants[index])))
}

/// `POST /_matrix/client/v3/logout`
pub(super) async fn log_out(State(fake): State<Arc<Fake>>, headers: HeaderMap, body: Bytes) -> JsonResult {
    object(&headers, &body, &[])?;
    device(&fake, &headers)?;
    let token = bearer(&headers).unwrap_or_default();
    fake.oauth().revoke(&fake.app, token).map_err(|_| ApiError::unknown_token(false))?;
    Ok(Json(json!({})))
}

/// `GET /_matrix/client/v3/account/whoami`
pub(super) async fn who_am_i(State(fake): State<Arc<Fake>>, headers: HeaderMap) -> JsonResult {
    Ok(Json(json!({ "user_id": USER, "device_id": device(&fake, &headers)? })))
}

/// `GET /_matrix/client/v3/profile/{userId}`
pub(super) async fn profile(State(fake): State<Arc<Fake>>, headers: HeaderMap) -> JsonResult {
    device(&fake, &headers)?;
    Ok(Json(json!({ "displayname": "The keeper", "avatar_url": "mxc://lighthouse.example/lamp" })))
}

/// `GET /_matrix/client/v1/media/config`
pub(super) async fn media_config(State(fake): State<Arc<Fake>>, headers: HeaderMap) -> JsonResult {
    device(&fake, &headers)?;
    Ok(Json(json!({ "m.upload.size": MAX_FILE_BYTES })))
}
