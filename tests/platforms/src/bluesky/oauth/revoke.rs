//! `POST /oauth/revoke`: a client gives a grant back.

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use super::Posted;
use crate::bluesky::refusal::Refusal;
use crate::bluesky::world::Shared;

/// Answers 200 `{}` even where there is no such token or the client cannot be
/// authenticated. Only an unusable proof is refused.
pub(super) async fn revoke(State(world): State<Shared>, posted: Posted) -> Result<Json<Value>, Refusal> {
    let token = posted.form.want("token", "invalid_request")?;
    match posted.authenticate(&world, "invalid_request") {
        Ok(known) => world.state().grants.revoke(token, (&known.client, &known.auth, &known.jkt)),
        Err(refusal) if refusal.is_about_proof() => return Err(refusal),
        Err(_) => {}
    }
    Ok(Json(json!({})))
}
