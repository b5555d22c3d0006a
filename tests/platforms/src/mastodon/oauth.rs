//! OAuth between servers: tokens for codes, renewal and revocation.

use axum::Json;
use axum::extract::State;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::TimeDelta;
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::apps::authenticated;
use super::instance::apps::App;
use super::instance::grants::Grant;
use super::instance::{Here, Instance, Memory};
use super::params::Params;
use super::refusal::Refusal;

/// How long a code can be exchanged.
const CODE_LIFETIME: TimeDelta = TimeDelta::minutes(10);

/// `GET /.well-known/oauth-authorization-server`
pub(crate) async fn metadata(State(here): Here) -> Result<Json<Value>, Refusal> {
    if !here.differences.metadata {
        return Err(Refusal::not_found());
    }
    let base = here.base_url();
    let issuer = here.memory().issuer.clone();
    Ok(Json(json!({
        "issuer": issuer.clone().unwrap_or_else(|| format!("{base}/")),
        "authorization_response_iss_parameter_supported": issuer.is_some(),
        "authorization_endpoint": format!("{base}/oauth/authorize"),
        "token_endpoint": format!("{base}/oauth/token"),
        "revocation_endpoint": format!("{base}/oauth/revoke"),
        "app_registration_endpoint": format!("{base}/api/v1/apps"),
        "scopes_supported": here.differences.scopes,
        "response_types_supported": ["code"],
        "response_modes_supported": ["query", "fragment", "form_post"],
        "grant_types_supported": ["authorization_code", "client_credentials"],
        "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
        "code_challenge_methods_supported": ["S256"],
        "service_documentation": "https://docs.joinmastodon.org/",
    })))
}

/// `POST /oauth/token`
pub(crate) async fn token(State(here): Here, headers: HeaderMap, params: Params) -> Result<Json<Value>, Refusal> {
    tokens(&here, &headers, &params).map_err(|refusal| worded(&here, refusal))
}

/// The refusal of a call for tokens, in the words of this server.
pub(crate) fn worded(here: &Instance, refusal: Refusal) -> Refusal {
    if here.differences.hides_why_tokens_fail {
        Refusal::new(StatusCode::BAD_REQUEST, "Invalid credentials")
    } else {
        refusal
    }
}

fn tokens(here: &Instance, headers: &HeaderMap, params: &Params) -> Result<Json<Value>, Refusal> {
    let mut memory = here.memory();
    let grant_type = required(params, "grant_type")?;
    let lifetime = here.differences.token_lifetime;
    match (grant_type.as_str(), lifetime) {
        ("authorization_code", _) => {
            let code = required(params, "code")?;
            let redirect_uri = required(params, "redirect_uri")?;
            let app = client(&memory, headers, params)?;
            let at = exchange(here, &mut memory, &app, &code, &redirect_uri, params)?;
            Ok(view(here, &memory.grants[at]))
        }
        ("refresh_token", Some(_)) => {
            let refresh_token = required(params, "refresh_token")?;
            let app = client(&memory, headers, params)?;
            let at = refresh(here, &mut memory, &app, &refresh_token)?;
            Ok(view(here, &memory.grants[at]))
        }
        // The app's own token, which gives access to no account.
        ("client_credentials", _) => {
            let app = client(&memory, headers, params)?;
            let grant = new_grant(here, &mut memory, app.client_id, app.scopes);
            let shown = view(here, &grant);
            memory.grants.push(grant);
            Ok(shown)
        }
        _ => Err(Refusal::oauth(
            StatusCode::BAD_REQUEST,
            "unsupported_grant_type",
            "The authorization grant type is not supported by the authorization server.",
        )),
    }
}

/// `POST /oauth/revoke`
pub(crate) async fn revoke(State(here): Here, headers: HeaderMap, params: Params) -> Result<Json<Value>, Refusal> {
    let unauthorized =
        || Refusal::oauth(StatusCode::FORBIDDEN, "unauthorized_client", "You are not authorized to revoke this token");
    let mut memory = here.memory();
    let app = authenticated(&memory, &headers, &params).ok_or_else(unauthorized)?;
    let token = params.text("token").unwrap_or_default();
    let grant =
        memory.grants.iter_mut().find(|it| it.access_token == token || it.refresh_token.as_ref() == Some(&token));
    match grant {
        Some(grant) if grant.client_id != app.client_id => Err(unauthorized()),
        Some(grant) => {
            grant.revoked = true;
            if here.differences.removes_apps {
                let app = memory.apps.iter_mut().find(|it| it.client_id == app.client_id);
                app.expect("it was authenticated").removed = true;
            }
            Ok(Json(json!({})))
        }
        // A token that the server does not know is as good as revoked.
        None => Ok(Json(json!({}))),
    }
}

/// Makes a grant for a code. Returns its index.
fn exchange(
    here: &Instance,
    memory: &mut Memory,
    app: &App,
    code: &str,
    redirect_uri: &str,
    params: &Params,
) -> Result<usize, Refusal> {
    let now = here.clock.now();
    if here.differences.takes_any_code && !memory.codes.iter().any(|it| it.value == code) {
        let grant = new_grant(here, memory, app.client_id.clone(), app.scopes.clone());
        memory.grants.push(grant);
        return Ok(memory.grants.len() - 1);
    }
    let code = memory
        .codes
        .iter_mut()
        .find(|it| it.value == code && it.client_id == app.client_id)
        .filter(|it| !it.used && now < it.made_at + CODE_LIFETIME && it.redirect_uri == redirect_uri)
        .ok_or_else(invalid_grant)?;
    if here.differences.pkce && code.challenge != params.text("code_verifier").map(|it| challenge(&it)) {
        return Err(invalid_grant());
    }
    code.used = true;
    let scopes = code.scopes.clone();

    let same = |it: &Grant| !it.revoked && it.client_id == app.client_id && it.scopes == scopes;
    if here.differences.reuses_tokens
        && let Some(at) = memory.grants.iter().position(same)
    {
        return Ok(at);
    }
    let grant = new_grant(here, memory, app.client_id.clone(), scopes);
    memory.grants.push(grant);
    Ok(memory.grants.len() - 1)
}

/// Renews the tokens of a grant; the old ones end. Returns its index.
fn refresh(here: &Instance, memory: &mut Memory, app: &App, refresh_token: &str) -> Result<usize, Refusal> {
    let same = |it: &Grant| it.refresh_token.as_deref() == Some(refresh_token) && it.client_id == app.client_id;
    let at = memory.grants.iter().position(|it| same(it) && !it.revoked).ok_or_else(|| dead_token(here))?;
    let scopes = memory.grants[at].scopes.clone();
    memory.grants[at] = new_grant(here, memory, app.client_id.clone(), scopes);
    Ok(at)
}

/// The refusal of an invalid refresh token, which Pixelfed words differently.
fn dead_token(here: &Instance) -> Refusal {
    if here.differences.calls_dead_tokens_invalid_requests {
        Refusal::oauth(StatusCode::UNAUTHORIZED, "invalid_request", "The refresh token is invalid.")
    } else {
        invalid_grant()
    }
}

fn new_grant(here: &Instance, memory: &mut Memory, client_id: String, scopes: Vec<String>) -> Grant {
    let now = here.clock.now();
    let lifetime = here.differences.token_lifetime;
    Grant {
        client_id,
        scopes,
        access_token: here.secret(memory),
        refresh_token: lifetime.map(|_| here.secret(memory)),
        made_at: now,
        expires_at: lifetime.map(|it| now + it),
        revoked: false,
    }
}

fn view(here: &Instance, grant: &Grant) -> Json<Value> {
    let mut view = json!({
        "access_token": grant.access_token,
        "token_type": "Bearer",
        "scope": if here.differences.hides_scopes { String::new() } else { grant.scopes.join(" ") },
        "created_at": grant.made_at.timestamp(),
    });
    if let Some(lifetime) = here.differences.token_lifetime {
        view["refresh_token"] = json!(grant.refresh_token);
        view["expires_in"] = json!(lifetime.num_seconds());
    }
    Json(view)
}

fn client(memory: &Memory, headers: &HeaderMap, params: &Params) -> Result<App, Refusal> {
    authenticated(memory, headers, params).filter(|it| !it.removed).ok_or_else(|| {
        Refusal::oauth(
            StatusCode::UNAUTHORIZED,
            "invalid_client",
            "Client authentication failed due to unknown client, no client authentication included, or unsupported \
             authentication method.",
        )
    })
}

fn required(params: &Params, name: &str) -> Result<String, Refusal> {
    params.text(name).ok_or_else(|| {
        Refusal::oauth(StatusCode::BAD_REQUEST, "invalid_request", &format!("Missing required parameter: {name}."))
    })
}

/// The refusal of an invalid code or refresh token.
pub(crate) fn invalid_grant() -> Refusal {
    Refusal::oauth(
        StatusCode::BAD_REQUEST,
        "invalid_grant",
        "The provided authorization grant is invalid, expired, revoked, does not match the redirection URI used in the \
         authorization request, or was issued to another client.",
    )
}

/// The S256 challenge of a verifier.
fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier))
}
