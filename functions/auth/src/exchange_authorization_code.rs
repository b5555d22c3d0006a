//! `POST /oauth/token`: an app exchanges its code for a token.

use std::collections::BTreeMap;

use api::openapi::{AUTHENTICATION, Limited};
use api::{Api, ApiError, ApiResult, ErrorBody, RequestBody, Visitor};
use axum::Json;
use axum::extract::State;
use cloud::audit::{self, Event};
use domain::access_token::AccessToken;
use domain::oauth::Resource;
use domain::token;
use http::StatusCode;
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use storage::{AuthorizationGrant, TokenGrant, WriteOutcome};
use url::form_urlencoded;
use utoipa::ToSchema;

/// The token request of OAuth 2.1. Unknown fields are ignored.
#[derive(Deserialize, ToSchema)]
#[expect(dead_code, reason = "describes the body, which is read field by field")]
pub(crate) struct CodeExchange {
    /// Always `authorization_code`.
    #[schema(example = "authorization_code")]
    grant_type: String,
    /// The code from the redirect.
    #[schema(example = "vB8nQ2mXw0yJ4kT7rL5pS9dF1gH3cZ6aE0uI2oP4qWs.T5yU8iO1pA4sD7fG0hJ3kL6zX9cV2bN5mQ8wE1rT4yU")]
    code: String,
    /// The `redirect_uri` of the authorization request. Required if it was sent there.
    #[schema(example = "http://127.0.0.1:33418/")]
    redirect_uri: Option<String>,
    /// The `client_id` of the authorization request.
    #[schema(example = "https://app.example/client.json")]
    client_id: String,
    /// The PKCE verifier that matches the `code_challenge` of the authorization request.
    #[schema(example = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", min_length = 43, max_length = 128)]
    code_verifier: String,
    /// Where the token is used (RFC 8707): the URL of the service, of its API, or of `/mcp`. It must
    /// be the resource of the authorization request, or a part of it.
    #[schema(example = "https://social.example/mcp")]
    resource: Option<String>,
}

/// A token, shown once.
#[derive(Serialize, ToSchema)]
#[schema(as = OAuthToken)]
pub(crate) struct TokenBody {
    /// Send it as `Authorization: Bearer <token>`.
    #[schema(example = "sp_0aK4vTq8wXz2mN6pR1sD5fG9hJ3kL7bV0cX4zQ8wE2rT6yU1iO5pA9sD3fG7hJ0kL")]
    access_token: String,
    /// Always `Bearer`.
    #[schema(example = "Bearer")]
    token_type: &'static str,
    /// Seconds until the token expires if unused.
    #[schema(example = 7_776_000)]
    expires_in: i64,
    /// The scopes that the user approved, which may be fewer than requested.
    #[schema(example = "posts:read posts:draft")]
    scope: String,
}

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
        (status = 200, description = "The token", body = TokenBody),
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
) -> ApiResult<Json<TokenBody>> {
    let form = TokenForm::read(&incoming.bytes()?)?;
    match form.get("grant_type")? {
        "authorization_code" => {}
        _ => return Err(oauth_error("unsupported_grant_type", "The grant_type must be authorization_code.")),
    }
    let (request, secret) = form.get("code")?.split_once('.').ok_or_else(invalid_grant)?;
    let (hash, code_hash) = (token::hash(request), token::hash(secret));
    let found = api.store.authorization(&hash).await?;
    let request = found.filter(|it| it.code_hash.as_ref() == Some(&code_hash)).ok_or_else(invalid_grant)?;
    if let Some(token_hash) = &request.token_hash {
        // Either sender may have stolen the code, so the token that it was exchanged for is revoked
        // (RFC 6749, section 4.1.2).
        api.store.revoke_token(request.user_id, token_hash).await?;
        audit::Entry::new(Event::CodeReplayed).user(request.user_id).token(token_hash).address(visitor.ip).write();
        return Err(invalid_grant());
    }
    form.check(&request)?;
    let resource = form.resource(&api, &request)?;
    if request.expires_at <= api.clock.now() {
        return Err(invalid_grant());
    }
    let (token, grant) = exchange(&api, &hash, &code_hash, &request, resource).await?;
    audit::Entry::new(Event::TokenIssued).user(grant.owner).token(&token.hash()).address(visitor.ip).write();
    Ok(Json(TokenBody {
        access_token: token.secret().expose_secret().to_owned(),
        token_type: "Bearer",
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
) -> ApiResult<(AccessToken, TokenGrant)> {
    let (now, owner) = (api.clock.now(), request.user_id);
    let token = AccessToken::mint(owner);
    let token_hash = token.hash();
    let expires_at = api.token_lifetime.for_client().ends(now, now);
    let grant = TokenGrant {
        client_name: Some(request.client_name.clone()),
        client_id: Some(request.client_id.clone()),
        resource,
        ..TokenGrant::made(owner, request.scopes.clone(), now, expires_at)
    };
    // Nobody has the token yet, so a mark without one opens nothing.
    api.store.mark_token(owner, &token_hash, request.created_at, expires_at).await?.ok_or_else(invalid_grant)?;
    if api.store.exchange_authorization(hash, code_hash, &token_hash, &grant).await? == WriteOutcome::Applied {
        return Ok((token, grant));
    }
    api.store.unmark_token(owner, &token_hash).await?;
    Err(invalid_grant())
}

/// The fields that were sent.
struct TokenForm(BTreeMap<String, String>);

impl TokenForm {
    /// Parses the fields. A repeated field is an error (RFC 6749, section 3.2).
    fn read(body: &[u8]) -> ApiResult<Self> {
        let mut fields = BTreeMap::new();
        for (name, value) in form_urlencoded::parse(body).into_owned() {
            if fields.insert(name, value).is_some() {
                return Err(oauth_error("invalid_request", "A field occurs more than once."));
            }
        }
        Ok(Self(fields))
    }

    /// An empty field counts as absent (RFC 6749, section 3.2).
    fn optional(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|it| !it.is_empty())
    }

    fn get(&self, name: &str) -> ApiResult<&str> {
        self.optional(name).ok_or_else(|| {
            let text = format!("Send {name}, in a body of the type application/x-www-form-urlencoded.");
            oauth_error("invalid_request", &text)
        })
    }

    /// Checks that the sender is the app that the user approved.
    fn check(&self, request: &AuthorizationGrant) -> ApiResult<()> {
        if self.get("client_id")? != request.client_id.url().as_str() {
            return Err(oauth_error("invalid_grant", "The code was given to another client_id."));
        }
        // Optional in OAuth 2.1; if sent, it must be the one of the request (draft, section 10.2).
        if self.optional("redirect_uri").is_some_and(|it| it != request.redirect_uri.as_str()) {
            return Err(oauth_error(
                "invalid_grant",
                "The redirect_uri differs from the one of the authorization request.",
            ));
        }
        if !request.challenge.is_met_by(self.get("code_verifier")?) {
            return Err(oauth_error("invalid_grant", "The code_verifier does not match the code_challenge."));
        }
        Ok(())
    }

    /// The resource of the token: the authorized one, or the named part of it.
    fn resource(&self, api: &Api, request: &AuthorizationGrant) -> ApiResult<Resource> {
        let Some(address) = self.optional("resource") else { return Ok(request.resource) };
        let named = Resource::parse(&api.origin, address)
            .ok_or_else(|| oauth_error("invalid_target", "The resource is not this service."))?;
        if request.resource.includes(named) {
            return Ok(named);
        }
        Err(oauth_error("invalid_target", "The resource is not part of the resource that the user authorized."))
    }
}

fn invalid_grant() -> ApiError {
    oauth_error(
        "invalid_grant",
        "The code is unknown, has expired, or was already exchanged. Send the user to the authorization page again.",
    )
}

fn oauth_error(error: &'static str, description: &str) -> ApiError {
    ApiError::OAuth { status: StatusCode::BAD_REQUEST, error, description: description.to_owned() }
}
