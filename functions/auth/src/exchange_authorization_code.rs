//! `POST /oauth/token`: an app exchanges its code for a token.

use api::openapi::{AUTHENTICATION, Limited};
use api::{Api, ApiResult, ErrorBody, RequestBody, Visitor};
use axum::Json;
use axum::extract::State;
use cloud::audit::{self, Event};
use contract::{CodeExchange, OAuthToken};
use domain::access_token::AccessToken;
use domain::oauth::Resource;
use domain::token;
use storage::{AuthorizationGrant, TokenGrant, WriteOutcome};

use crate::error::AuthError;
use crate::request::TokenForm;

/// Exchange an authorization code for an access token
///
/// The last step of the OAuth 2.1 authorization code flow, with PKCE, for public clients whose
/// `client_id` is the URL of their metadata document. The authorization endpoint is in
/// /.well-known/oauth-authorization-server.
#[utoipa::path(
    post,
    path = "/api/v1/oauth/token",
    tag = AUTHENTICATION,
    operation_id = "oauth.token",
    request_body(content = CodeExchange, content_type = "application/x-www-form-urlencoded"),
    responses(
        Limited,
        (status = 200, description = "The token", body = OAuthToken),
        (status = 400, description = "The request is invalid, or the code cannot be exchanged", body = ErrorBody, example = json!({
            "error": "invalid_grant",
            "error_description": "The code is unknown, has expired, or was already exchanged. Send the user to the authorization page again."
        })),
        (status = 413, description = "The body is too large", body = ErrorBody, example = json!({
            "message": "The body may have at most 256 KiB. Send less; upload files with POST /media"
        })),
    ),
)]
pub(crate) async fn exchange_authorization_code(
    State(api): State<Api>,
    visitor: Visitor,
    incoming: RequestBody,
) -> ApiResult<Json<OAuthToken>> {
    let form = TokenForm::read(&incoming.bytes()?)?;
    match form.get("grant_type")? {
        "authorization_code" => {}
        _ => return Err(AuthError::UnsupportedGrantType.into()),
    }
    let (request, secret) = form.get("code")?.split_once('.').ok_or(AuthError::InvalidGrant)?;
    let (hash, code_hash) = (token::hash(request), token::hash(secret));
    let found = api.store.authorization(&hash).await?;
    let request = found.filter(|it| it.code_hash.as_ref() == Some(&code_hash)).ok_or(AuthError::InvalidGrant)?;
    if let Some(token_hash) = &request.token_hash {
        // Either sender may have stolen the code, so the token that it was exchanged for is revoked
        // (RFC 6749, section 4.1.2).
        api.store.revoke_token(request.user_id, token_hash).await?;
        audit::Entry::new(Event::CodeReplayed).user(request.user_id).token(token_hash).address(visitor.ip).write();
        return Err(AuthError::InvalidGrant.into());
    }
    form.check(&request)?;
    let resource = form.resource(&api, &request)?;
    if request.expires_at <= api.clock.now() {
        return Err(AuthError::InvalidGrant.into());
    }
    let (token, grant) = exchange(&api, &hash, &code_hash, &request, resource).await?;
    audit::Entry::new(Event::TokenIssued).user(grant.owner).token(&token.hash()).address(visitor.ip).write();
    Ok(Json(OAuthToken {
        access_token: token.secret().clone(),
        token_type: "Bearer".to_owned(),
        expires_in: (grant.expires_at - grant.created_at).num_seconds(),
        scope: grant.scopes.names().join(" "),
    }))
}

async fn exchange(
    api: &Api,
    hash: &str,
    code_hash: &str,
    request: &AuthorizationGrant,
    resource: Resource,
) -> Result<(AccessToken, TokenGrant), AuthError> {
    let (now, owner) = (api.clock.now(), request.user_id);
    let token = AccessToken::mint(owner);
    let token_hash = token.hash();
    let expires_at = api.token_lifetime.for_client().ends(now, now);
    let grant = TokenGrant {
        client_name: Some(request.client_name.clone()),
        client_id: Some(request.client_id.clone()),
        resource,
        profile_id: request.profile_id,
        ..TokenGrant::made(owner, request.scopes.clone(), now, expires_at)
    };
    // The client does not have the token yet, so a mark without one opens nothing.
    api.store.mark_token(owner, &token_hash, request.created_at, expires_at).await?.ok_or(AuthError::InvalidGrant)?;
    if api.store.exchange_authorization(hash, code_hash, &token_hash, &grant).await? == WriteOutcome::Applied {
        return Ok((token, grant));
    }
    api.store.unmark_token(owner, &token_hash).await?;
    Err(AuthError::InvalidGrant)
}
