//! Authentication and authorization of calls to the data server.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use http::StatusCode;
use http::header::AUTHORIZATION;
use http::request::Parts;

use super::Fake;
use super::api_error::ApiError;
use super::dpop::ProofKey;
use crate::fake::oauth::Grant;

/// A caller that may act for the account.
pub(super) struct Caller(Grant);

impl Caller {
    /// Checks that the grant has this scope, or one that allows everything.
    pub(super) fn require(&self, scope: &str) -> Result<(), ApiError> {
        let is_covered = |it: &String| it == scope || it == "transition:generic" || it.starts_with("com.atproto.");
        if self.0.scopes.iter().any(is_covered) {
            return Ok(());
        }
        let message = format!("Missing required scope \"{scope}\"");
        Err(ApiError::xrpc(StatusCode::FORBIDDEN, "ScopeMissingError", message))
    }
}

impl FromRequestParts<Arc<Fake>> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, fake: &Arc<Fake>) -> Result<Self, ApiError> {
        let authorization = parts.headers.get(AUTHORIZATION).and_then(|it| it.to_str().ok());
        let (scheme, token) = authorization
            .and_then(|it| it.split_once(' '))
            .ok_or_else(|| ApiError::unauthorized("AuthMissing", "Authentication Required"))?;
        let key = parts.extensions.get::<ProofKey>();
        // Tokens of the authorization server are bound to a key and are not bearer tokens.
        let is_bound = scheme == "DPoP" && key.is_some_and(|it| token.starts_with(&it.0));
        let oauth = fake.oauth();
        let is_match = |it: &&Grant| it.access_token == token && (it.client_id != fake.app.client_id) == is_bound;
        match oauth.grants.iter().find(is_match) {
            Some(grant) if !grant.revoked && grant.expires_at.is_none_or(|it| fake.clock.now() < it) => {
                Ok(Self(grant.clone()))
            }
            _ if scheme == "DPoP" => {
                Err(ApiError::unauthorized("invalid_token", "Invalid token").with_challenge("invalid_token"))
            }
            Some(_) => Err(ApiError::bad("ExpiredToken", "Token has expired")),
            None => Err(ApiError::bad("InvalidToken", "Token could not be verified")),
        }
    }
}
