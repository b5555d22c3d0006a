//! `POST /oauth/token`: a code or a refresh token for new tokens.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::{Known, Posted};
use crate::bluesky::refusal::Refusal;
use crate::bluesky::world::grants::{ACCESS_LIVES, Grant};
use crate::bluesky::world::{NetworkState, Shared};
use crate::bluesky::{account, jose};

pub(super) async fn token(State(world): State<Shared>, posted: Posted) -> Result<Json<Value>, Refusal> {
    let known = posted.authenticate(&world, "invalid_grant")?;
    let grant_type = posted.form.want("grant_type", "invalid_grant")?;
    if !known.client.may(grant_type) {
        let why = format!("\"{grant_type}\" grant type is not allowed for this client");
        return Err(Refusal::oauth("invalid_grant", why));
    }
    match grant_type {
        "authorization_code" => exchange(&world, &posted, &known),
        _ => refresh(&world, &posted, &known),
    }
}

fn exchange(world: &NetworkState, posted: &Posted, known: &Known) -> Result<Json<Value>, Refusal> {
    let invalid = |why: &str| Refusal::oauth("invalid_grant", why);
    let form = &posted.form;
    let code = form.want("code", "invalid_grant")?;
    let now = world.clock.now();
    let mut state = world.state();

    let asked = state.requests.take_code(code, now);
    if asked.is_err() {
        state.grants.end_code(code);
    }
    let asked = asked?;
    if asked.client_id != known.client.id {
        return Err(invalid("Token was not issued to this client"));
    }
    if asked.jkt != known.jkt {
        return Err(invalid("DPoP proof does not match the expected JKT"));
    }
    if asked.auth != known.auth {
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
    if !state.first_time("challenge", &asked.challenge) {
        return Err(invalid("Code challenge already used"));
    }
    let access = access_token(world, &known.jkt, &asked.client_id, now);
    Ok(answer(state.grants.add(asked, known.auth.clone(), code, access, now)))
}

fn refresh(world: &NetworkState, posted: &Posted, known: &Known) -> Result<Json<Value>, Refusal> {
    let token = posted.form.want("refresh_token", "invalid_grant")?;
    let now = world.clock.now();
    let access = access_token(world, &known.jkt, &known.client.id, now);
    let by = (&known.client, &known.auth, known.jkt.as_str());
    let mut state = world.state();
    state.grants.rotate(token, by, access, now).map(answer)
}

fn access_token(world: &NetworkState, jkt: &str, client_id: &str, now: DateTime<Utc>) -> String {
    let claims = json!({
        "iss": world.issuer(),
        "aud": world.pds_did(),
        "sub": account::DID,
        "jti": jose::random("tok-"),
        "iat": now.timestamp(),
        "exp": (now + ACCESS_LIVES).timestamp(),
        "cnf": { "jkt": jkt },
        "client_id": client_id,
    });
    world.key.sign("at+jwt", &claims)
}

fn answer(grant: &Grant) -> Json<Value> {
    Json(json!({
        "access_token": grant.access,
        "token_type": "DPoP",
        "refresh_token": grant.refresh,
        "scope": grant.scope,
        // An hour, less a second for the time until the answer is written.
        "expires_in": ACCESS_LIVES.num_seconds() - 1,
        "sub": account::DID,
    }))
}
