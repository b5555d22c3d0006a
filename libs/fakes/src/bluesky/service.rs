//! The data server's description and its service tokens.

use axum::extract::{Query, State};
use axum::routing::get;
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};

use super::api_error::ApiError;
use super::caller::Caller;
use super::pds_state::{PdsState, Shared};
use super::{account, jose};

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/xrpc/com.atproto.server.describeServer", get(describe))
        .route("/xrpc/com.atproto.server.getServiceAuth", get(service_auth))
}

async fn describe(State(fake): State<Shared>) -> Json<Value> {
    let mut server = json!({
        "did": fake.pds_did(),
        "availableUserDomains": [".test"],
        "inviteCodeRequired": false,
        "links": {},
        "contact": {},
    });
    let state = fake.state();
    // `@atproto/pds` returns this field since 0.5.22 of July 2026, two months after galleries.
    if !state.knows_no_galleries {
        server["blobUploadLimit"] = state.blobs.limit.into();
    }
    Json(server)
}

#[derive(Deserialize)]
struct ServiceAuthQuery {
    aud: String,
    lxm: Option<String>,
    exp: Option<i64>,
}

/// Issues a token with which the account calls one method of another service.
async fn service_auth(
    State(fake): State<Shared>,
    caller: Caller,
    Query(wanted): Query<ServiceAuthQuery>,
) -> Result<Json<Value>, ApiError> {
    let ServiceAuthQuery { aud, lxm, exp } = wanted;
    caller.rpc(lxm.as_deref().unwrap_or("*"), &aud)?;
    if !aud.starts_with("did:") {
        return Err(ApiError::invalid("aud must be a valid atproto DID or did#serviceId reference"));
    }
    let now = fake.seconds();
    let lives = exp.map_or(60, |exp| exp - now);
    let longest = if lxm.is_some() { 3600 } else { 60 };
    if lives < 0 {
        return Err(ApiError::bad("BadExpiration", "expiration is in past"));
    }
    if longest < lives {
        let message = "cannot request a token with an expiration that far in the future";
        return Err(ApiError::bad("BadExpiration", message));
    }
    let claims = json!({
        "iss": account::DID,
        "aud": aud,
        "lxm": lxm,
        "iat": now,
        "exp": now + lives,
        "jti": jose::random(""),
    });
    Ok(Json(json!({ "token": fake.key.sign("JWT", &claims) })))
}

/// Checks that a token of [`service_auth`] is for this method of this service.
pub(super) fn verify(fake: &PdsState, token: &str, audience: &str, method: &str) -> Result<(), ApiError> {
    let refuse = |error: &str, message: &str| Err(ApiError::unauthorized(error, message));
    let Some(token) = fake.key.verify("JWT", token) else {
        return refuse("BadJwtSignature", "jwt signature does not match jwt issuer");
    };
    if token.time("exp").is_none_or(|exp| exp <= fake.seconds()) {
        return refuse("JwtExpired", "jwt expired");
    }
    if token.text("aud") != Some(audience) {
        return refuse("BadJwtAudience", "jwt audience does not match service did");
    }
    if token.text("lxm") != Some(method) {
        return refuse("BadJwtLexiconMethod", &format!("bad jwt lexicon method: must match: {method}"));
    }
    Ok(())
}
