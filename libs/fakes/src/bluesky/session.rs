//! Signing in with the main password or an app password. A session is a grant of the kit, whose
//! tokens have no key.

use std::sync::Arc;

use axum::extract::State;
use axum::routing::{get, post};
use axum::{Json, Router};
use chrono::TimeDelta;
use http::HeaderMap;
use serde_json::{Value, json};

use super::api_error::{ApiError, ApiResult};
use super::caller::Caller;
use super::{Bluesky, Fake, jwt};
use crate::fake::oauth::secret;
use crate::fake::params::bearer;

const ACCESS_LIVES: TimeDelta = TimeDelta::hours(2);

pub(super) fn routes() -> Router<Arc<Fake>> {
    Router::new()
        .route("/xrpc/com.atproto.server.createSession", post(create))
        .route("/xrpc/com.atproto.server.refreshSession", post(refresh))
        .route("/xrpc/com.atproto.server.deleteSession", post(delete))
        .route("/xrpc/com.atproto.server.getSession", get(get_session))
}

async fn create(State(fake): State<Arc<Fake>>, Json(input): Json<Value>) -> ApiResult {
    let memory = fake.memory();
    let is_app_password = input["password"] == memory.app_password;
    let is_known = is_app_password || input["password"] == Bluesky::MAIN_PASSWORD;
    if !is_known || (input["identifier"] != Bluesky::DID && input["identifier"] != Bluesky::HANDLE) {
        return Err(ApiError::unauthorized("AuthenticationRequired", "Invalid identifier or password"));
    }
    if !is_app_password && memory.settings.needs_second_factor {
        let message = "A sign in code has been sent to your email address";
        return Err(ApiError::unauthorized("AuthFactorTokenRequired", message));
    }
    drop(memory);
    let scope = if is_app_password { "com.atproto.appPass" } else { "com.atproto.access" };
    let grant = fake.oauth().grant(&fake.app, vec![scope.to_owned()], Bluesky::HANDLE, fake.clock.now());
    Ok(respond(&fake, grant))
}

async fn refresh(State(fake): State<Arc<Fake>>, headers: HeaderMap) -> ApiResult {
    let token = bearer(&headers).unwrap_or_default();
    let grant = fake.oauth().refresh(&fake.app, token, fake.clock.now());
    let grant = grant.map_err(|_| ApiError::bad("ExpiredToken", "Token has been revoked"))?;
    Ok(respond(&fake, grant))
}

async fn delete(State(fake): State<Arc<Fake>>, headers: HeaderMap) {
    fake.oauth().revoke(&fake.app, bearer(&headers).unwrap_or_default()).ok();
}

async fn get_session(State(fake): State<Arc<Fake>>, _: Caller) -> Json<Value> {
    Json(session(&fake))
}

/// The tokens of a grant with the account. The claims of the access token state its end.
fn respond(fake: &Fake, grant: usize) -> Json<Value> {
    let mut response = session(fake);
    let grant = &mut fake.oauth().grants[grant];
    let ends_at = fake.clock.now() + ACCESS_LIVES;
    let claims = json!({ "scope": grant.scopes[0], "sub": Bluesky::DID, "exp": ends_at.timestamp() });
    grant.access_token = jwt::unsigned(&claims, &secret());
    grant.expires_at = Some(ends_at);
    response["email"] = "alice@alice.test".into();
    response["emailConfirmed"] = true.into();
    response["accessJwt"] = grant.access_token.as_str().into();
    response["refreshJwt"] = grant.refresh_token.as_deref().into();
    Json(response)
}

fn session(fake: &Fake) -> Value {
    let status = fake.memory().settings.status;
    let mut session = json!({ "did": Bluesky::DID, "handle": Bluesky::HANDLE, "active": status.is_none() });
    if let Some(status) = status {
        session["status"] = status.into();
    }
    session
}
