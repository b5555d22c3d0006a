//! The authorization server: the kit's, with pushed requests and tokens that are bound to a key. It
//! has an origin of its own.

use std::sync::Arc;

use axum::extract::{FromRequest, RawQuery, Request, State};
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Json, Router};
use chrono::TimeDelta;
use domain::clock::Clock;
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use super::api_error::{ApiError, ApiResult};
use super::dpop::{self, ProofKey};
use super::{Bluesky, Fake, jwt};
use crate::fake::oauth::{self, App, Authorizes, Client, Fault, Rules, secret};
use crate::fake::params::Params;

pub(super) const RULES: Rules = Rules {
    clients: &[Client::Public],
    scopes: &[
        "atproto",
        "transition:generic",
        "repo:app.bsky.feed.post",
        "blob:image/*",
        "blob:video/*",
        "rpc:com.atproto.repo.uploadBlob?aud=*",
        "rpc:app.bsky.video.getUploadLimits?aud=*",
    ],
    code_lives: TimeDelta::minutes(5),
    ..Rules::STANDARD
};

pub(super) fn routes(clock: Clock) -> Router<Arc<Fake>> {
    Router::new()
        .route("/.well-known/oauth-authorization-server", get(metadata))
        .route("/oauth/par", post(push))
        .route("/oauth/authorize", get(show).post(press))
        .route("/oauth/token", post(token))
        .route("/oauth/revoke", post(revoke))
        .layer(from_fn_with_state(clock, dpop::check_proof))
}

impl Authorizes for Fake {
    fn accounts(&self) -> &'static [&'static str] {
        &[Bluesky::HANDLE]
    }

    fn issuer(&self) -> Option<String> {
        Some(self.second_url())
    }
}

/// RFC 8414.
async fn metadata(State(fake): State<Arc<Fake>>) -> Json<Value> {
    let issuer = fake.second_url();
    Json(json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/oauth/authorize"),
        "pushed_authorization_request_endpoint": format!("{issuer}/oauth/par"),
        "require_pushed_authorization_requests": true,
        "token_endpoint": format!("{issuer}/oauth/token"),
        "revocation_endpoint": format!("{issuer}/oauth/revoke"),
        "authorization_response_iss_parameter_supported": true,
        "scopes_supported": ["atproto", "transition:generic"],
        "dpop_signing_alg_values_supported": ["ES256"],
    }))
}

/// A form of a client that proved possession of a key.
struct ClientRequest {
    form: String,
    params: Params,
    app: App,
    key: String,
}

impl FromRequest<Arc<Fake>> for ClientRequest {
    type Rejection = ApiError;

    async fn from_request(request: Request, fake: &Arc<Fake>) -> Result<Self, ApiError> {
        let no_proof = || ApiError::oauth("invalid_dpop_proof", "DPoP proof required");
        let ProofKey(key) = request.extensions().get::<ProofKey>().cloned().ok_or_else(no_proof)?;
        let headers = request.headers().clone();
        let form = String::from_request(request, fake).await.unwrap_or_default();
        let params = Params::read("", &headers, form.as_bytes()).unwrap_or_default();
        let app = authenticate(fake, &params)?;
        Ok(Self { form, params, app, key })
    }
}

/// The client of a request. The id of a client at loopback contains its metadata; others have a
/// document, and sign an assertion with a key of it. Only the real server checks the rest of them.
fn authenticate(fake: &Fake, params: &Params) -> Result<App, ApiError> {
    let invalid = |why: &str| ApiError::oauth("invalid_client_metadata", why);
    let id = params.text("client_id").ok_or_else(|| invalid("client_id is missing"))?;
    let memory = fake.memory();
    let document = match id.strip_prefix("http://localhost?") {
        Some(query) => {
            let query = Params::read(query, &HeaderMap::new(), &[]).unwrap_or_default();
            json!({ "redirect_uris": [query.text("redirect_uri")], "scope": query.text("scope") })
        }
        None => memory.clients.get(&id).cloned().ok_or_else(|| invalid("Unable to obtain client metadata"))?,
    };
    let scopes: Vec<_> = document["scope"].as_str().unwrap_or_default().split(' ').map(str::to_owned).collect();
    // As before August 2025, commit 1899b1fc1 of `bluesky-social/atproto`.
    let narrow = scopes.iter().find(|it| *it != "atproto" && !it.starts_with("transition:"));
    if let Some(narrow) = narrow.filter(|_| memory.settings.is_old) {
        return Err(invalid(&format!("Unsupported scope \"{narrow}\"")));
    }
    if let Some(keys) = document["jwks"]["keys"].as_array() {
        let assertion = params.text("client_assertion").unwrap_or_default();
        let claims = jwt::part(&assertion, 1);
        let key = keys.iter().find(|it| it["kid"] == jwt::part(&assertion, 0)["kid"]);
        let is_signed = key.is_some_and(|it| jwt::is_signed_by(&assertion, it));
        if !is_signed || claims["iss"] != id || claims["aud"] != fake.second_url() {
            return Err(ApiError::oauth("invalid_client", "Validation of \"client_assertion\" failed"));
        }
    }
    let redirect_uris = document["redirect_uris"].as_array().into_iter().flatten();
    let redirect_uris = redirect_uris.filter_map(|it| it.as_str().map(str::to_owned)).collect();
    Ok(App { client_id: id, client_secret: String::new(), redirect_uris, scopes, removed: false })
}

/// `POST /oauth/par` (RFC 9126)
async fn push(State(fake): State<Arc<Fake>>, request: ClientRequest) -> Result<(StatusCode, Json<Value>), ApiError> {
    let mut oauth = fake.oauth();
    oauth.apps.retain(|it| it.client_id != request.app.client_id);
    oauth.apps.push(request.app);
    oauth.asked(&request.params)?;
    let uri = format!("urn:ietf:params:oauth:request_uri:req-{}", secret());
    fake.memory().pushed.insert(uri.clone(), request.form);
    Ok((StatusCode::CREATED, Json(json!({ "request_uri": uri, "expires_in": 299 }))))
}

/// `GET /oauth/authorize`, only for pushed requests.
async fn show(fake: State<Arc<Fake>>, params: Params) -> Result<Response, ApiError> {
    let pushed = pushed(&fake, &params)?;
    let pushed = Params::read(&pushed, &HeaderMap::new(), &[]).unwrap_or_default();
    Ok(oauth::show(fake, pushed).await)
}

async fn press(fake: State<Arc<Fake>>, params: Params) -> Result<Response, ApiError> {
    let pushed = pushed(&fake, &params)?;
    Ok(oauth::press(fake, RawQuery(Some(pushed)), params).await)
}

fn pushed(fake: &Fake, params: &Params) -> Result<String, ApiError> {
    let found = params.text("request_uri").and_then(|it| fake.memory().pushed.get(&it).cloned());
    found.ok_or_else(|| ApiError::oauth("invalid_request", "Unknown request_uri"))
}

/// `POST /oauth/token`. The tokens begin with the thumbprint of the key that they are bound to.
async fn token(State(fake): State<Arc<Fake>>, ClientRequest { params, key, .. }: ClientRequest) -> ApiResult {
    if params.text("refresh_token").is_some_and(|it| !it.starts_with(&key)) {
        return Err(Fault::InvalidGrant("DPoP proof does not match the expected JKT").into());
    }
    let mut oauth = fake.oauth();
    let rules = oauth.rules;
    let issued = oauth.token(&HeaderMap::new(), &params, fake.clock.now())?.access_token.clone();
    let grant = oauth.grants.iter_mut().find(|it| it.access_token == issued).expect("it was just issued");
    grant.access_token = format!("{key}{issued}");
    grant.refresh_token = Some(format!("{key}{}", secret()));
    let mut tokens = grant.respond(&rules);
    tokens["token_type"] = "DPoP".into();
    tokens["sub"] = Bluesky::DID.into();
    Ok(Json(tokens))
}

/// `POST /oauth/revoke` (RFC 7009): an unknown token counts as revoked.
async fn revoke(State(fake): State<Arc<Fake>>, ClientRequest { params, app, .. }: ClientRequest) -> ApiResult {
    fake.oauth().revoke(&app, &params.text("token").unwrap_or_default())?;
    Ok(Json(json!({})))
}
