//! `POST /oauth/revoke`: token revocation (RFC 7009).

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use super::Posted;
use crate::bluesky::api_error::ApiError;
use crate::bluesky::pds_state::Shared;

/// Returns 200 `{}` even for an unknown token or an unauthenticated client. Only an
/// invalid proof is refused.
pub(super) async fn revoke(State(fake): State<Shared>, request: Posted) -> Result<Json<Value>, ApiError> {
    let token = request.form.want("token", "invalid_request")?;
    match request.authenticate(&fake, "invalid_request") {
        Ok(known) => fake.state().grants.revoke(token, (&known.client, &known.auth, &known.jkt)),
        Err(refusal) if refusal.needs_new_proof() => return Err(refusal),
        Err(_) => {}
    }
    Ok(Json(json!({})))
}
