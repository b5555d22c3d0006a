//! Google's authorization server.
//!
//! Source: "Using OAuth 2.0 for Web Server Applications". Not simulated: scopes that the user
//! unticks, incremental authorization, the seven days of apps in testing.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use chrono::TimeDelta;
use http::{HeaderMap, StatusCode};
use serde_json::json;

use crate::fake::oauth::{Authorizes, Client, Fault, Grant, Pkce, Refresh, Rules, page_at};
use crate::fake::params::Params;

pub const fn rules(scopes: &'static [&'static str]) -> Rules {
    Rules {
        clients: &[Client::Body],
        pkce: Pkce::Possible,
        scopes,
        access_lives: Some(TimeDelta::seconds(3_599)),
        refresh: Refresh::Reusable,
        ..Rules::STANDARD
    }
}

/// The consent page, the token endpoint and revocation, which are on two hosts of Google.
pub fn routes<P: Authorizes>() -> Router<Arc<P>> {
    page_at::<P>("/o/oauth2/v2/auth")
        .layer(from_fn(require_offline))
        .route("/token", post(issue_token::<P>))
        .route("/revoke", post(revoke_token::<P>))
}

/// Google issues a refresh token only with `access_type=offline`, and a second one only with
/// `prompt=consent`. Refuses other requests, because their tokens could not be refreshed.
async fn require_offline(request: Request, next: Next) -> Response {
    let query = request.uri().query().unwrap_or_default();
    let params = Params::read(query, &HeaderMap::new(), &[]).unwrap_or_default();
    let has = |name: &str, value: &str| params.text(name).is_some_and(|it| it.split(' ').any(|it| it == value));
    if has("access_type", "offline") && has("prompt", "consent") {
        return next.run(request).await;
    }
    (StatusCode::BAD_REQUEST, "Error 400: access_type=offline and prompt=consent are required").into_response()
}

/// The response to a refresh has no refresh token: the old one stays valid.
async fn issue_token<P: Authorizes>(State(platform): State<Arc<P>>, headers: HeaderMap, params: Params) -> Response {
    if let Some(error) = Fault::content_type_error(&headers) {
        return token_error(&error);
    }
    let mut oauth = platform.oauth();
    let rules = oauth.rules;
    let is_refresh = params.text("grant_type").as_deref() == Some("refresh_token");
    match oauth.token(&headers, &params, platform.now()) {
        Ok(grant) => {
            let mut tokens = grant.respond(&rules);
            if is_refresh {
                tokens.as_object_mut().expect("tokens are an object").remove("refresh_token");
            }
            Json(tokens).into_response()
        }
        Err(error) => token_error(&error),
    }
}

/// Needs no secret of the app. Ends everything that the user granted to the app, and not only the
/// grant of this token.
async fn revoke_token<P: Authorizes>(State(platform): State<Arc<P>>, params: Params) -> Response {
    let Some(token) = params.text("token") else { return token_error(&Fault::Missing("token".to_owned())) };
    let (mut oauth, now) = (platform.oauth(), platform.now());
    let is_match = |it: &&Grant| {
        let is_access_token = it.access_token == token && it.expires_at.is_some_and(|it| now < it);
        !it.revoked && (is_access_token || it.refresh_token.as_ref() == Some(&token))
    };
    let Some(grant) = oauth.grants.iter().find(is_match).cloned() else {
        let error = json!({ "error": "invalid_token", "error_description": "Token expired or revoked" });
        return (StatusCode::BAD_REQUEST, Json(error)).into_response();
    };
    let is_same = |it: &&mut Grant| (&it.client_id, &it.account) == (&grant.client_id, &grant.account);
    for grant in oauth.grants.iter_mut().filter(is_same) {
        grant.revoked = true;
    }
    Json(json!({})).into_response()
}

/// The error of a call to the token endpoint.
pub fn token_error(fault: &Fault) -> Response {
    let missing = |name: &str| format!("Missing required parameter: {name}");
    let (error, description) = match fault {
        Fault::InvalidGrant(why) if why.contains("redirect_uri") => ("redirect_uri_mismatch", "Bad Request".to_owned()),
        Fault::InvalidGrant(why) if why.contains("refresh token") => {
            ("invalid_grant", "Token has been expired or revoked.".to_owned())
        }
        Fault::InvalidGrant(_) => ("invalid_grant", "Malformed auth code.".to_owned()),
        Fault::UnknownClient => ("invalid_client", "The OAuth client was not found.".to_owned()),
        Fault::Missing(name) => ("invalid_request", missing(name)),
        other => (other.code(), "Bad Request".to_owned()),
    };
    (fault.status(), Json(json!({ "error": error, "error_description": description }))).into_response()
}
