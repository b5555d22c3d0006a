//! OAuth 2.0, as in Matrix Authentication Service 1.20. The page, tokens and revocation are the kit's.

use std::sync::Arc;

use axum::Json;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use chrono::TimeDelta;
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use super::api_error::ApiError;
use super::{API, Fake, USER, access};
use crate::conformance::fake_platform::Detour;
use crate::fake::oauth::{App, Authorizes, Client, Rules, redirect_to_honest_page, secret};
use crate::fake::params::Params;

pub(super) const RULES: Rules = Rules {
    clients: &[Client::Public],
    scopes: &[API, "urn:matrix:client:device:{id}"],
    page: &[("response_mode", "query")],
    access_lives: Some(TimeDelta::minutes(5)),
    ..Rules::STANDARD
};

impl Authorizes for Fake {
    fn accounts(&self) -> &'static [&'static str] {
        &[USER]
    }

    fn issuer(&self) -> Option<String> {
        self.memory().names_itself.then(|| format!("{}/", self.base_url()))
    }
}

/// `GET /_matrix/client/v1/auth_metadata`
pub(super) async fn metadata(State(fake): State<Arc<Fake>>) -> Result<Json<Value>, ApiError> {
    if !fake.kind.has_oauth {
        return Err(ApiError::unrecognized());
    }
    let memory = fake.memory();
    let (base_url, page) = match &memory.leads_to {
        Some((Detour::Named, honest)) => (honest.clone(), "authorize"),
        Some((Detour::Redirected, _)) => (fake.base_url(), "detour"),
        None => (fake.base_url(), "authorize"),
    };
    Ok(Json(json!({
        "issuer": format!("{base_url}/"),
        "authorization_endpoint": format!("{base_url}/{page}"),
        "token_endpoint": format!("{base_url}/oauth2/token"),
        "registration_endpoint": format!("{base_url}/oauth2/registration"),
        "revocation_endpoint": format!("{base_url}/oauth2/revoke"),
        "authorization_response_iss_parameter_supported": memory.names_itself,
    })))
}

/// `POST` to the registration endpoint (RFC 7591). Equal metadata gets the same id.
pub(super) async fn register(State(fake): State<Arc<Fake>>, headers: HeaderMap, body: Bytes) -> Response {
    const KNOWN: [&str; 7] = [
        "client_name",
        "client_uri",
        "redirect_uris",
        "token_endpoint_auth_method",
        "response_types",
        "grant_types",
        "application_type",
    ];
    let Ok(client) = access::object(&headers, &body, &KNOWN) else {
        return (StatusCode::BAD_REQUEST, Json(json!({ "error": "invalid_client_metadata" }))).into_response();
    };
    let metadata = Value::from(client);
    let mut memory = fake.memory();
    let known = memory.clients.iter().find(|(it, _)| *it == metadata).map(|(_, id)| id.clone());
    let client_id = known.unwrap_or_else(|| {
        let redirect_uris = metadata["redirect_uris"].as_array().into_iter().flatten();
        let app = App {
            client_id: secret(),
            client_secret: String::new(),
            redirect_uris: redirect_uris.filter_map(|it| it.as_str().map(str::to_owned)).collect(),
            scopes: RULES.scopes.iter().map(|it| (*it).to_owned()).collect(),
            removed: false,
        };
        memory.clients.push((metadata, app.client_id.clone()));
        fake.oauth().apps.push(app.clone());
        app.client_id
    });
    (StatusCode::CREATED, Json(json!({ "client_id": client_id }))).into_response()
}

/// The page of a hostile authorization server, which registers as our service at the honest one.
pub(super) async fn detour(State(fake): State<Arc<Fake>>, RawQuery(query): RawQuery, params: Params) -> Response {
    let client_id = params.text("client_id").unwrap_or_default();
    let (honest, client) = {
        let memory = fake.memory();
        let client = memory.clients.iter().find(|(_, id)| *id == client_id).map(|(metadata, _)| metadata.clone());
        (memory.leads_to.clone().map(|(_, honest)| honest).unwrap_or_default(), client.unwrap_or_default())
    };
    let (registration, page) = (format!("{honest}/oauth2/registration"), format!("{honest}/authorize"));
    redirect_to_honest_page(&registration, &client, &page, &query.unwrap_or_default()).await
}
