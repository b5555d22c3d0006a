//! `POST /oauth/par`: pushed authorization requests (RFC 9126).

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde_json::{Value, json};

use super::Posted;
use crate::bluesky::api_error::ApiError;
use crate::bluesky::pds_state::Shared;
use crate::bluesky::pds_state::client::Client;
use crate::bluesky::pds_state::requests::ConsentRequest;
use crate::bluesky::scope::Scopes;

pub(super) async fn push(State(fake): State<Shared>, request: Posted) -> Result<(StatusCode, Json<Value>), ApiError> {
    let known = request.authenticate(&fake, "invalid_client")?;
    let (form, client) = (&request.form, &known.client);
    let invalid = |why: &str| ApiError::oauth("invalid_request", why);

    // As before August 2025, commit 1899b1fc1 of `bluesky-social/atproto`.
    if let Some(unknown) = client.narrow_scope().filter(|_| fake.state().knows_no_narrow_scopes) {
        return Err(ApiError::oauth("invalid_client_metadata", format!("Unsupported scope \"{unknown}\"")));
    }
    for unsupported in ["claims", "id_token_hint", "nonce", "request", "request_uri"] {
        if form.get(unsupported).is_some() {
            return Err(invalid(&format!("Unsupported \"{unsupported}\" parameter")));
        }
    }
    if form.want("response_type", "invalid_request")? != "code" {
        return Err(ApiError::oauth("unsupported_response_type", "only \"code\" is supported"));
    }
    let redirect_uri = form.want("redirect_uri", "invalid_request")?;
    if !client.has_redirect_uri(redirect_uri) {
        return Err(invalid(&format!("Invalid redirect_uri {redirect_uri}")));
    }
    let state = form.want("state", "invalid_request")?;
    let challenge = form.get("code_challenge").ok_or_else(|| invalid("Use of PKCE is required"))?;
    if form.get("code_challenge_method") != Some("S256") || challenge.len() != 43 {
        return Err(invalid("atproto requires use of \"S256\" code_challenge_method"));
    }
    let login_hint = form.get("login_hint").map(str::to_ascii_lowercase);
    if let Some(hint) = login_hint.as_deref().filter(|it| !is_did(it) && !is_handle(it)) {
        return Err(invalid(&format!("Invalid login_hint \"{hint}\"")));
    }

    let asked = ConsentRequest {
        scope: scope(form.want("scope", "invalid_scope")?, client)?,
        client_id: client.id.clone(),
        redirect_uri: redirect_uri.to_owned(),
        state: state.to_owned(),
        challenge: challenge.to_owned(),
        auth: known.auth,
        jkt: known.jkt,
        login_hint,
    };
    let request_uri = fake.state().requests.push(asked, fake.clock.now());
    // Five minutes, less a second for the time until the response is written.
    Ok((StatusCode::CREATED, Json(json!({ "request_uri": request_uri, "expires_in": 299 }))))
}

/// The requested scope. Like real servers, the fake silently drops scopes that it does
/// not understand.
fn scope(asked: &str, client: &Client) -> Result<String, ApiError> {
    if let Some(foreign) = asked.split(' ').find(|it| !client.declares(it)) {
        let why = format!("Scope \"{foreign}\" is not declared in the client metadata");
        return Err(ApiError::oauth("invalid_scope", why));
    }
    let scopes = Scopes::read(asked);
    if !scopes.has("atproto") {
        return Err(ApiError::oauth("invalid_scope", "The \"atproto\" scope is required"));
    }
    Ok(scopes.to_string())
}

fn is_did(hint: &str) -> bool {
    hint.starts_with("did:plc:") || hint.starts_with("did:web:")
}

fn is_handle(hint: &str) -> bool {
    let label = |it: &str| {
        (1..=63).contains(&it.len())
            && !it.starts_with('-')
            && !it.ends_with('-')
            && it.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    hint.len() <= 253 && hint.contains('.') && hint.split('.').all(label)
}
