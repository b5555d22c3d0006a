//! Identity: handles, DIDs, the account's data server, profiles.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use http::StatusCode;
use serde_json::{Value, json};

use super::api_error::{ApiError, ApiResult};
use super::{Bluesky, Fake};

pub(super) fn routes() -> Router<Arc<Fake>> {
    Router::new()
        .route("/{did}", get(document))
        .route("/.well-known/oauth-protected-resource", get(protected_resource))
        .route("/xrpc/com.atproto.identity.resolveHandle", get(resolve_handle))
        .route("/xrpc/com.atproto.server.describeServer", get(describe))
        .route("/xrpc/app.bsky.actor.getProfile", get(profile))
}

/// The users that the directory lists.
const USERS: [(&str, &str); 2] = [(Bluesky::HANDLE, Bluesky::DID), (Bluesky::OTHER_HANDLE, Bluesky::OTHER_DID)];

/// The PLC directory.
async fn document(State(fake): State<Arc<Fake>>, Path(did): Path<String>) -> Response {
    let Some((handle, _)) = USERS.iter().find(|it| it.1 == did) else {
        let message = json!({ "message": format!("DID not registered: {did}") });
        return (StatusCode::NOT_FOUND, Json(message)).into_response();
    };
    let moved_to = fake.memory().settings.moved_to.clone().filter(|_| did == Bluesky::DID);
    Json(json!({
        "@context": ["https://www.w3.org/ns/did/v1"],
        "id": did,
        "alsoKnownAs": [format!("at://{handle}")],
        "verificationMethod": [],
        "service": [{
            "id": "#atproto_pds",
            "type": "AtprotoPersonalDataServer",
            "serviceEndpoint": moved_to.unwrap_or_else(|| fake.base_url()),
        }],
    }))
    .into_response()
}

/// The authorization server of the data server.
async fn protected_resource(State(fake): State<Arc<Fake>>) -> Json<Value> {
    Json(json!({ "resource": fake.base_url(), "authorization_servers": [fake.second_url()] }))
}

async fn resolve_handle(Query(query): Query<BTreeMap<String, String>>) -> ApiResult {
    let found = USERS.iter().find(|it| query.get("handle").is_some_and(|handle| handle.eq_ignore_ascii_case(it.0)));
    let (_, did) = found.ok_or_else(|| ApiError::invalid("Unable to resolve handle"))?;
    Ok(Json(json!({ "did": did })))
}

/// `@atproto/pds` states the upload limit since 0.5.22 of July 2026, two months after galleries.
async fn describe(State(fake): State<Arc<Fake>>) -> Json<Value> {
    let mut server = json!({
        "did": super::PDS_DID, "availableUserDomains": [".test"], "inviteCodeRequired": false, "links": {}, "contact": {},
    });
    let memory = fake.memory();
    if memory.settings.knows_galleries() {
        server["blobUploadLimit"] = memory.settings.blob_limit.into();
    }
    Json(server)
}

/// The `AppView`.
async fn profile(State(fake): State<Arc<Fake>>, Query(query): Query<BTreeMap<String, String>>) -> ApiResult {
    if !fake.memory().settings.has_app_view {
        return Err(ApiError::invalid("No service configured for app.bsky.actor.getProfile"));
    }
    if query.get("actor").is_none_or(|it| it != Bluesky::DID) {
        return Err(ApiError::invalid("Profile not found"));
    }
    Ok(Json(json!({ "did": Bluesky::DID, "handle": Bluesky::HANDLE, "displayName": super::NAME })))
}
