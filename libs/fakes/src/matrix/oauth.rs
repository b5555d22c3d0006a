//! OAuth 2.0, as in Matrix Authentication Service 1.20 with `allow_insecure_uris`, without which no
//! client at loopback is a web client.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use chrono::TimeDelta;
use http::{HeaderMap, StatusCode};
use platforms::conformance::fake_platform::Detour;
use serde_json::{Map, Value, json};
use url::Url;

use super::api_error::ApiError;
use super::tokens::{Pair, Session};
use super::{Fake, USER};
use crate::fake::oauth::{self, App, Authorizes, Client, Fault, Pkce, Refresh, Rules, redirect_to_honest_page, secret};
use crate::fake::params::Params;

/// The scopes that a device needs. Others, such as `openid`, are optional.
const API: &str = "urn:matrix:client:api:*";
const DEVICE: &str = "urn:matrix:client:device:";

pub(super) const RULES: Rules = Rules {
    clients: &[Client::Public],
    // The specification requires PKCE; the real service does not.
    pkce: Pkce::Required,
    scopes: &[API, "urn:matrix:client:device:{id}"],
    page: &[("response_mode", "query")],
    code_lives: TimeDelta::minutes(10),
    // Devices and their tokens are in `tokens.rs`.
    access_lives: Some(TimeDelta::minutes(5)),
    refresh: Refresh::Rotating,
    ..Rules::STANDARD
};

/// The OAuth 2.0 authorization server, if the homeserver has one.
#[derive(Default)]
pub(super) struct AuthorizationServer {
    pub(super) is_there: bool,
    /// Whether the server sends its issuer in authorization responses. Matrix Authentication
    /// Service does not.
    pub(super) names_itself: bool,
    pub(super) registers_nobody: bool,
    /// Client ids by client metadata.
    pub(super) clients: BTreeMap<String, String>,
}

impl Authorizes for Fake {
    fn accounts(&self) -> &'static [&'static str] {
        &[USER]
    }

    fn issuer(&self) -> Option<String> {
        self.memory().authorization.names_itself.then(|| issuer(self))
    }
}

fn issuer(here: &Fake) -> String {
    format!("{}/", here.base_url())
}

/// `GET /_matrix/client/v1/auth_metadata`
pub(super) async fn metadata(State(fake): State<Arc<Fake>>) -> Result<Json<Value>, ApiError> {
    let memory = fake.memory();
    if !memory.authorization.is_there {
        return Err(ApiError::new(404, "M_UNRECOGNIZED", "Unrecognized request"));
    }
    let base_url = match &memory.leads_to {
        Some((Detour::Named, honest)) => honest.clone(),
        _ => fake.base_url(),
    };
    let mut metadata = json!({
        "issuer": format!("{base_url}/"),
        "authorization_endpoint": format!("{base_url}/authorize"),
        "token_endpoint": format!("{base_url}/oauth2/token"),
        "registration_endpoint": format!("{base_url}/oauth2/registration"),
        "revocation_endpoint": format!("{base_url}/oauth2/revoke"),
        "scopes_supported": ["openid", "email"],
        "response_types_supported": ["code", "id_token", "code id_token"],
        "response_modes_supported": ["form_post", "query", "fragment"],
        "grant_types_supported": ["authorization_code", "refresh_token", "client_credentials"],
        "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post", "none"],
        "code_challenge_methods_supported": ["plain", "S256"],
        "prompt_values_supported": ["login"],
        "account_management_uri": format!("{base_url}/account/"),
    });
    if memory.authorization.names_itself {
        metadata["authorization_response_iss_parameter_supported"] = true.into();
    }
    Ok(Json(metadata))
}

/// `POST` to the registration endpoint (RFC 7591). Equal metadata gets the same id.
pub(super) async fn register(State(fake): State<Arc<Fake>>, headers: HeaderMap, body: Bytes) -> Response {
    let refused = |code: &str, words: &str| {
        (StatusCode::BAD_REQUEST, Json(json!({ "error": code, "error_description": words }))).into_response()
    };
    let Ok(client) = super::access::object(&headers, &body) else {
        return refused("invalid_request", "no JSON object");
    };
    if let Err((code, words)) = check_client_metadata(&client) {
        return refused(code, &words);
    }
    if fake.memory().authorization.registers_nobody {
        return refused("invalid_client_metadata", "Requester isn't allowed to do this action");
    }
    let metadata = Value::from(client.clone()).to_string();
    let known = fake.memory().authorization.clients.get(&metadata).cloned();
    let client_id = known.unwrap_or_else(|| {
        let client_id = secret();
        fake.oauth().apps.push(App {
            client_id: client_id.clone(),
            client_secret: String::new(),
            redirect_uris: string_list(&client["redirect_uris"]),
            scopes: RULES.scopes.iter().map(|it| (*it).to_owned()).collect(),
            removed: false,
        });
        fake.memory().authorization.clients.insert(metadata, client_id.clone());
        client_id
    });
    let mut registered = Value::from(client);
    registered["client_id"] = client_id.into();
    registered["client_id_issued_at"] = fake.clock.now().timestamp().into();
    (StatusCode::CREATED, Json(registered)).into_response()
}

/// Refuses clients without a URI, or with redirect URIs on another host.
fn check_client_metadata(client: &Map<String, Value>) -> Result<(), (&'static str, String)> {
    const KNOWN: [&str; 7] = [
        "client_name",
        "client_uri",
        "redirect_uris",
        "token_endpoint_auth_method",
        "response_types",
        "grant_types",
        "application_type",
    ];
    let invalid = |words: &str| ("invalid_client_metadata", words.to_owned());
    super::access::check_fields(client, &KNOWN).map_err(|_| invalid("there is no such field"))?;
    let text = |name: &str| client.get(name).and_then(Value::as_str).unwrap_or_default();
    let client_uri = parse_https_url(text("client_uri")).ok_or_else(|| invalid("invalid client_uri"))?;
    if text("application_type") != "web" || text("token_endpoint_auth_method") != "none" {
        return Err(invalid("only web clients without a secret are known here"));
    }
    if client["response_types"] != json!(["code"])
        || client["grant_types"] != json!(["authorization_code", "refresh_token"])
    {
        return Err(invalid("only the code flow with refresh tokens is known here"));
    }
    let redirect_uris = string_list(client.get("redirect_uris").unwrap_or(&Value::Null));
    let is_within = |it: &Url| {
        let (host, client_host) = (it.host_str().unwrap_or_default(), client_uri.host_str().unwrap_or_default());
        host == client_host || host.ends_with(&format!(".{client_host}"))
    };
    let is_good = |it: &String| parse_https_url(it).is_some_and(|it| it.fragment().is_none() && is_within(&it));
    if redirect_uris.is_empty() || !redirect_uris.iter().all(is_good) {
        return Err(("invalid_redirect_uri", "invalid redirect_uri".to_owned()));
    }
    Ok(())
}

fn string_list(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(|it| it.as_str().map(str::to_owned)).collect()
}

fn parse_https_url(address: &str) -> Option<Url> {
    let url = Url::parse(address).ok()?;
    let is_loopback = matches!(url.host_str(), Some("127.0.0.1" | "localhost"));
    (url.scheme() == "https" || url.scheme() == "http" && is_loopback).then_some(url)
}

/// `GET` of the authorization endpoint.
pub(super) async fn page(State(fake): State<Arc<Fake>>, RawQuery(query): RawQuery, params: Params) -> Response {
    let leads_to = fake.memory().leads_to.clone();
    let Some((Detour::Redirected, honest)) = leads_to else { return oauth::show(State(fake), params).await };
    let of_us = params.text("client_id").unwrap_or_default();
    let metadata =
        fake.memory().authorization.clients.iter().find(|(_, id)| **id == of_us).map(|(metadata, _)| metadata.clone());
    let client = serde_json::from_str(&metadata.unwrap_or_default()).unwrap_or_default();
    let (registration, page) = (format!("{honest}/oauth2/registration"), format!("{honest}/authorize"));
    redirect_to_honest_page(&registration, &client, &page, &query.unwrap_or_default()).await
}

/// `POST` to the token endpoint.
pub(super) async fn token(
    State(fake): State<Arc<Fake>>,
    headers: HeaderMap,
    params: Params,
) -> Result<Json<Value>, Fault> {
    Fault::content_type_error(&headers).map_or(Ok(()), Err)?;
    let app = fake.oauth().client(&headers, &params)?;
    let given = match params.text("grant_type").as_deref() {
        Some("authorization_code") => exchange(&fake, &app, &params),
        Some("refresh_token") => {
            let token = params.text("refresh_token").ok_or_else(|| Fault::Missing("refresh_token".to_owned()))?;
            let renewed = fake.memory().renew(&token, Some(&app.client_id), fake.clock.now());
            renewed.map_err(|_| Fault::InvalidGrant("the refresh token is unknown, used or revoked"))
        }
        _ => Err(Fault::UnknownGrantType),
    };
    let Pair { access, refresh, ends_at, .. } = given?;
    let lives = ends_at.map(|it| (it - fake.clock.now()).num_seconds());
    Ok(Json(json!({
        "access_token": access, "refresh_token": refresh, "expires_in": lives, "token_type": "Bearer", "scope": API,
    })))
}

/// Exchanges a code for a device with the requested id.
fn exchange(fake: &Fake, app: &App, params: &Params) -> Result<Pair, Fault> {
    let now = fake.clock.now();
    let code = params.text("code").unwrap_or_default();
    let redeemed = fake.oauth().spend(app, params, now);
    let redeemed = redeemed.inspect_err(|_| fake.memory().revoke_by_reused_code(&code, now))?;
    let device: Vec<_> = redeemed.scopes.iter().filter_map(|it| it.strip_prefix(DEVICE)).collect();
    let ([device], true) = (&device[..], redeemed.scopes.iter().any(|it| it == API)) else {
        return Err(Fault::WrongScope);
    };
    let session = Session { client_id: app.client_id.clone(), code, made_at: now };
    Ok(fake.memory().add_device((*device).to_owned(), Some(session), true, now))
}

/// `POST` to the revocation endpoint: an unknown token counts as revoked.
pub(super) async fn revoke(
    State(fake): State<Arc<Fake>>,
    headers: HeaderMap,
    params: Params,
) -> Result<StatusCode, Fault> {
    Fault::content_type_error(&headers).map_or(Ok(()), Err)?;
    let app = fake.oauth().client(&headers, &params)?;
    let token = params.text("token").ok_or_else(|| Fault::Missing("token".to_owned()))?;
    if fake.memory().end_session(&token, &app.client_id) { Ok(StatusCode::OK) } else { Err(Fault::UnknownClient) }
}
