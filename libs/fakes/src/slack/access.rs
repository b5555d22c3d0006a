//! Installation of the app, and its tokens.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use http::HeaderMap;
use serde_json::{Value, json};

use super::api_error::ApiError;
use super::{Fake, TEAM, TEAM_ID};
use crate::fake::oauth::{Authorizes, Fault, Grant, OAuth};
use crate::fake::params::{Params, bearer, essence};

/// `POST /api/oauth.v2.access`
pub(super) async fn give(
    State(fake): State<Arc<Fake>>,
    headers: HeaderMap,
    params: Params,
) -> Result<Json<Value>, ApiError> {
    if essence(&headers) != "application/x-www-form-urlencoded" {
        return Err(ApiError::new("invalid_post_type"));
    }
    let now = fake.clock.now();
    let mut oauth = fake.oauth();
    let at = find_or_add_grant(&mut oauth, &headers, &params, now)?;
    let mut response = respond(&oauth.grants[at], now);
    let mut memory = fake.memory();
    // The user who installs the app invites its bot to the channels.
    memory.is_invited |= params.text("code").is_some();
    for (name, value) in &memory.said_of_tokens {
        response[name] = value.clone();
    }
    Ok(Json(response))
}

/// Index of the grant. Without rotation, a workspace has one bot token for each user who installs the app.
fn find_or_add_grant(
    oauth: &mut OAuth,
    headers: &HeaderMap,
    params: &Params,
    now: DateTime<Utc>,
) -> Result<usize, Fault> {
    let is_code = params.text("grant_type").is_none_or(|it| it == "authorization_code");
    if oauth.rules.access_lives.is_some() || !is_code {
        let token = oauth.token(headers, params, now)?.access_token.clone();
        return Ok(oauth.grants.iter().position(|it| it.access_token == token).unwrap_or_default());
    }
    let app = oauth.client(headers, params)?;
    let code = oauth.spend(&app, params, now)?;
    let known = oauth.grants.iter().position(|it| !it.revoked && it.client_id == app.client_id);
    Ok(known.unwrap_or_else(|| oauth.grant(&app, code.scopes, &code.account, now)))
}

fn respond(grant: &Grant, now: DateTime<Utc>) -> Value {
    let mut response = json!({
        "ok": true,
        "access_token": grant.access_token,
        "token_type": "bot",
        "scope": grant.scopes.join(","),
        "bot_user_id": "U0KEEPERBOT",
        "app_id": "A0PUBLISHING",
        "team": { "id": TEAM_ID, "name": TEAM },
        "enterprise": null,
        "is_enterprise_install": false,
        "authed_user": { "id": "U0KEEPER" },
    });
    if let (Some(refresh_token), Some(expires_at)) = (&grant.refresh_token, grant.expires_at) {
        response["refresh_token"] = refresh_token.as_str().into();
        response["expires_in"] = (expires_at - now).num_seconds().into();
    }
    response
}

/// `auth.revoke`: deactivates the bot with all its tokens, and removes it from all channels.
pub(super) fn revoke(fake: &Fake) -> Value {
    fake.oauth().revoke_all();
    fake.memory().is_invited = false;
    json!({ "ok": true, "revoked": true })
}

/// The grant of a call's token, if it has this scope.
pub(super) fn accept(fake: &Fake, headers: &HeaderMap, scope: Option<&str>) -> Result<Grant, ApiError> {
    if bearer(headers).is_none() {
        return Err(ApiError::new("not_authed"));
    }
    let oauth = fake.oauth();
    let any: Vec<&str> = scope.map_or_else(|| oauth.rules.scopes.to_vec(), |it| vec![it]);
    match oauth.accept(headers, &any, fake.clock.now()) {
        Err(Fault::BeyondScope) => {
            let provided = oauth.find_by_bearer(headers).map(|it| it.scopes.clone()).unwrap_or_default();
            Err(ApiError::scope(scope.unwrap_or_default(), &provided))
        }
        accepted => Ok(accepted?.clone()),
    }
}

impl Authorizes for Fake {
    fn accounts(&self) -> &'static [&'static str] {
        &[TEAM]
    }
}
