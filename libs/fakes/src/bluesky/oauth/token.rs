//! `POST /oauth/token`: exchanges a code or a refresh token for new tokens.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::{Posted, VerifiedClient};
use crate::bluesky::api_error::ApiError;
use crate::bluesky::pds_state::grants::{ACCESS_LIVES, Grant};
use crate::bluesky::pds_state::{PdsState, Shared};
use crate::bluesky::{account, jose};

pub(super) async fn token(State(fake): State<Shared>, request: Posted) -> Result<Json<Value>, ApiError> {
    let known = request.authenticate(&fake, "invalid_grant")?;
    let grant_type = request.form.want("grant_type", "invalid_grant")?;
    if !known.client.may(grant_type) {
        let why = format!("\"{grant_type}\" grant type is not allowed for this client");
        return Err(ApiError::oauth("invalid_grant", why));
    }
    match grant_type {
        "authorization_code" => exchange(&fake, &request, &known),
        _ => refresh(&fake, &request, &known),
    }
}

fn exchange(fake: &PdsState, request: &Posted, client: &VerifiedClient) -> Result<Json<Value>, ApiError> {
    let invalid = |why: &str| ApiError::oauth("invalid_grant", why);
    let form = &request.form;
    let code = form.want("code", "invalid_grant")?;
    let now = fake.clock.now();
    let mut state = fake.state();

    let asked = state.requests.take_code(code, now);
    if asked.is_err() {
        state.grants.revoke_by_code(code);
    }
    let asked = asked?;
    if asked.client_id != client.client.id {
        return Err(invalid("Token was not issued to this client"));
    }
    if asked.jkt != client.jkt {
        return Err(invalid("DPoP proof does not match the expected JKT"));
    }
    if asked.auth != client.auth {
        return Err(invalid("The session was initiated with a different key than the client assertion currently used"));
    }
    if form.get("redirect_uri") != Some(&asked.redirect_uri) {
        return Err(invalid("The redirect_uri parameter must match the one used in the authorization request"));
    }
    let verifier = form.want("code_verifier", "invalid_grant")?;
    if verifier.len() < 43 {
        return Err(invalid("code_verifier too short"));
    }
    if jose::digest(verifier) != asked.challenge {
        return Err(invalid("Invalid code_verifier"));
    }
    if !state.is_first_use("challenge", &asked.challenge) {
        return Err(invalid("Code challenge already used"));
    }
    let access = access_token(fake, &client.jkt, &asked.client_id, now);
    Ok(token_response(state.grants.add(asked, client.auth.clone(), code, access, now)))
}

fn refresh(fake: &PdsState, request: &Posted, client: &VerifiedClient) -> Result<Json<Value>, ApiError> {
    let token = request.form.want("refresh_token", "invalid_grant")?;
    let now = fake.clock.now();
    let access = access_token(fake, &client.jkt, &client.client.id, now);
    let by = (&client.client, &client.auth, client.jkt.as_str());
    let mut state = fake.state();
    state.grants.rotate(token, by, access, now).map(token_response)
}

fn access_token(fake: &PdsState, jkt: &str, client_id: &str, now: DateTime<Utc>) -> String {
    let claims = json!({
        "iss": fake.issuer(),
        "aud": fake.pds_did(),
        "sub": account::DID,
        "jti": jose::random("tok-"),
        "iat": now.timestamp(),
        "exp": (now + ACCESS_LIVES).timestamp(),
        "cnf": { "jkt": jkt },
        "client_id": client_id,
    });
    fake.key.sign("at+jwt", &claims)
}

fn token_response(grant: &Grant) -> Json<Value> {
    Json(json!({
        "access_token": grant.access,
        "token_type": "DPoP",
        "refresh_token": grant.refresh,
        "scope": grant.scope,
        // An hour, less a second for the time until the response is written.
        "expires_in": ACCESS_LIVES.num_seconds() - 1,
        "sub": account::DID,
    }))
}
