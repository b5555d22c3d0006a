//! Identity: handles, DIDs, the account's data server, profiles.

use axum::Json;
use axum::Router;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use serde::Deserialize;
use serde_json::{Value, json};

use super::account;
use super::api_error::ApiError;
use super::pds_state::Shared;

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/{did}", get(document))
        .route("/.well-known/oauth-protected-resource", get(protected_resource))
        .route("/xrpc/com.atproto.identity.resolveHandle", get(resolve_handle))
        .route("/xrpc/app.bsky.actor.getProfile", get(profile))
}

/// The PLC directory.
async fn document(State(fake): State<Shared>, Path(did): Path<String>) -> Response {
    let Some(handle) = account::find_handle(&did) else {
        let message = json!({ "message": format!("DID not registered: {did}") });
        return (StatusCode::NOT_FOUND, Json(message)).into_response();
    };
    let moved_to = fake.state().account.moved_to.clone().filter(|_| did == account::DID);
    let document = json!({
        "@context": ["https://www.w3.org/ns/did/v1", "https://w3id.org/security/multikey/v1"],
        "id": did,
        "alsoKnownAs": [format!("at://{handle}")],
        "verificationMethod": [],
        "service": [{
            "id": "#atproto_pds",
            "type": "AtprotoPersonalDataServer",
            "serviceEndpoint": moved_to.unwrap_or_else(|| fake.pds().to_owned()),
        }],
    });
    ([(CONTENT_TYPE, "application/did+ld+json; charset=utf-8")], document.to_string()).into_response()
}

/// The authorization server of the data server.
async fn protected_resource(State(fake): State<Shared>) -> Json<Value> {
    Json(json!({
        "resource": fake.pds(),
        "authorization_servers": [fake.issuer()],
        "scopes_supported": [],
        "bearer_methods_supported": ["header"],
        "resource_documentation": "https://atproto.com",
    }))
}

#[derive(Deserialize)]
struct HandleQuery {
    handle: String,
}

async fn resolve_handle(Query(HandleQuery { handle }): Query<HandleQuery>) -> Result<Json<Value>, ApiError> {
    let did = account::find_did(&handle).ok_or_else(|| ApiError::invalid("Unable to resolve handle"))?;
    Ok(Json(json!({ "did": did })))
}

#[derive(Deserialize)]
struct ActorQuery {
    actor: String,
}

/// The `AppView`.
async fn profile(
    State(fake): State<Shared>,
    Query(ActorQuery { actor }): Query<ActorQuery>,
) -> Result<Json<Value>, ApiError> {
    let state = fake.state();
    if !state.account.app_view {
        let message = format!("No service configured for {}", "app.bsky.actor.getProfile");
        return Err(ApiError::invalid(message));
    }
    if !account::is_it(&actor) {
        return Err(ApiError::invalid("Profile not found"));
    }
    let mut profile = json!({ "did": account::DID, "handle": account::HANDLE });
    if let Some(entry) = state.repo.get("app.bsky.actor.profile", "self") {
        if let Some(name) = entry.value["displayName"].as_str() {
            profile["displayName"] = name.into();
        }
        if let Some(cid) = entry.value["avatar"]["ref"]["$link"].as_str() {
            let (pds, did) = (fake.pds(), account::DID);
            profile["avatar"] = format!("{pds}/xrpc/com.atproto.sync.getBlob?did={did}&cid={cid}").into();
        }
    }
    Ok(Json(profile))
}
