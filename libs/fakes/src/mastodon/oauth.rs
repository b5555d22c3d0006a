//! OAuth calls in which Mastodon and the other servers differ.

use axum::Json;
use axum::extract::State;
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use super::account;
use super::api_error::ApiError;
use super::instance::{Instance, InstanceState};
use crate::conformance::fake_platform::Detour;
use crate::fake::oauth::{App, Fault, Grant, OAuth, Rules};
use crate::fake::params::Params;

/// `GET /.well-known/oauth-authorization-server`
pub(crate) async fn metadata(State(instance): InstanceState) -> Result<Json<Value>, ApiError> {
    if !instance.differences.metadata {
        return Err(ApiError::not_found());
    }
    let base = instance.base_url();
    let issuer = instance.memory().issuer.clone();
    let leads_to = instance.memory().leads_to.clone();
    let mut metadata = json!({
        "issuer": issuer.clone().unwrap_or_else(|| format!("{base}/")),
        "authorization_endpoint": format!("{base}/oauth/authorize"),
        "token_endpoint": format!("{base}/oauth/token"),
        "revocation_endpoint": format!("{base}/oauth/revoke"),
        "app_registration_endpoint": format!("{base}/api/v1/apps"),
        "scopes_supported": instance.differences.scopes,
        "response_types_supported": ["code"],
        "response_modes_supported": ["query", "fragment", "form_post"],
        "grant_types_supported": ["authorization_code", "client_credentials"],
        "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
        "code_challenge_methods_supported": ["S256"],
        "service_documentation": "https://docs.joinmastodon.org/",
    });
    if issuer.is_some() {
        metadata["authorization_response_iss_parameter_supported"] = true.into();
    }
    if let Some((Detour::Named, honest)) = leads_to {
        metadata["authorization_endpoint"] = format!("{honest}/oauth/authorize").into();
    }
    Ok(Json(metadata))
}

/// `POST /oauth/token`
pub(crate) async fn token(
    State(instance): InstanceState,
    headers: HeaderMap,
    params: Params,
) -> Result<Json<Value>, ApiError> {
    let mut memory = instance.memory();
    let at = grant(&instance, &mut memory.oauth, &headers, &params);
    let at = at.map_err(|fault| with_server_message(&instance, refresh_refusal(&instance, &params, &fault)))?;
    Ok(view(&instance, &memory.oauth.rules, &memory.oauth.grants[at]))
}

/// Index of the grant that a token request is about.
fn grant(instance: &Instance, oauth: &mut OAuth, headers: &HeaderMap, params: &Params) -> Result<usize, Fault> {
    let (now, differences) = (instance.clock.now(), instance.differences);
    let missing = |name: &str| Fault::Missing(name.to_owned());
    match params.text("grant_type").ok_or_else(|| missing("grant_type"))?.as_str() {
        "authorization_code" => {
            let app = oauth.client(headers, params)?;
            let code = params.text("code").ok_or_else(|| missing("code"))?;
            if differences.takes_any_code && !oauth.knows_code(&code) {
                return Ok(oauth.grant(&app, app.scopes.clone(), account::USERNAME, now));
            }
            let code = oauth.spend(&app, params, now)?;
            let same = |it: &Grant| !it.revoked && it.client_id == app.client_id && it.scopes == code.scopes;
            let known = oauth.grants.iter().position(same).filter(|_| differences.reuses_tokens);
            Ok(known.unwrap_or_else(|| oauth.grant(&app, code.scopes, account::USERNAME, now)))
        }
        "refresh_token" if differences.token_lifetime.is_some() => {
            let app = oauth.client(headers, params)?;
            let refresh_token = params.text("refresh_token").ok_or_else(|| missing("refresh_token"))?;
            oauth.refresh(&app, &refresh_token, now)
        }
        // The app's own token, which gives access to no account.
        "client_credentials" => {
            let app = oauth.client(headers, params)?;
            Ok(oauth.grant(&app, app.scopes.clone(), "", now))
        }
        _ => Err(Fault::UnknownGrantType),
    }
}

/// `POST /oauth/revoke`
pub(crate) async fn revoke(
    State(instance): InstanceState,
    headers: HeaderMap,
    params: Params,
) -> Result<Json<Value>, ApiError> {
    let mut memory = instance.memory();
    let app = memory.oauth.authenticated(&headers, &params).ok_or_else(revocation_denied)?;
    let token = params.text("token").unwrap_or_default();
    let is_it = |it: &Grant| it.access_token == token || it.refresh_token.as_ref() == Some(&token);
    let ends = memory.oauth.grants.iter().any(is_it);
    memory.oauth.revoke(&app, &token).map_err(|_| revocation_denied())?;
    if ends && instance.differences.removes_apps {
        let is_it = |it: &&mut App| it.client_id == app.client_id;
        memory.oauth.apps.iter_mut().find(is_it).expect("it was authenticated").removed = true;
    }
    Ok(Json(json!({})))
}

/// The error of a token call, with this server's message.
pub(crate) fn with_server_message(instance: &Instance, refusal: ApiError) -> ApiError {
    if instance.differences.hides_why_tokens_fail {
        ApiError::new(StatusCode::BAD_REQUEST, "Invalid credentials")
    } else {
        refusal
    }
}

pub(crate) fn revocation_denied() -> ApiError {
    ApiError::oauth(StatusCode::FORBIDDEN, "unauthorized_client", "You are not authorized to revoke this token")
}

/// Pixelfed's error for an invalid refresh token.
fn refresh_refusal(instance: &Instance, params: &Params, error: &Fault) -> ApiError {
    let is_renewal = params.text("grant_type").as_deref() == Some("refresh_token");
    if instance.differences.calls_dead_tokens_invalid_requests && is_renewal && matches!(error, Fault::InvalidGrant(_))
    {
        return ApiError::oauth(StatusCode::UNAUTHORIZED, "invalid_request", "The refresh token is invalid.");
    }
    error.into()
}

fn view(instance: &Instance, rules: &Rules, grant: &Grant) -> Json<Value> {
    let mut view = grant.respond(rules);
    view["created_at"] = json!(grant.made_at.timestamp());
    if instance.differences.hides_scopes {
        view["scope"] = json!("");
    }
    Json(view)
}
