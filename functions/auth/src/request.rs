//! Request bodies of the API's routes, and the parsing of their fields.

use std::collections::BTreeMap;

use api::{Api, ApiResult, FieldValue, Fields};
use domain::name::ClientName;
use domain::oauth::Resource;
use domain::scope::{Scope, Scopes};
use serde::Deserialize;
use serde_json::Value;
use storage::AuthorizationGrant;
use url::form_urlencoded;
use utoipa::ToSchema;

use crate::error::AuthError;

/// The access that a client requests.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes the body, which is read field by field")]
pub(crate) struct DeviceCodeRequest {
    /// The scopes of the token. Absent, null or empty: all scopes.
    #[schema(nullable, max_items = 8, example = json!(["posts:read", "posts:write"]))]
    scopes: Option<Vec<ScopeName>>,
    /// The client's name, which the user sees on the consent page: at most 60 characters, not counting white space
    /// around the name.
    // As `domain::name::ClientName` reads it.
    #[schema(
        nullable,
        min_length = 1,
        pattern = r"^[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*[^\x00- \x7f-\xa0\u061c\u1680\u2000-\u200a\u200e\u200f\u2028-\u202f\u205f\u2066-\u2069\u3000]([^\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]{0,58}[^\x00- \x7f-\xa0\u061c\u1680\u2000-\u200a\u200e\u200f\u2028-\u202f\u205f\u2066-\u2069\u3000])?[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*$",
        example = "Planner on my laptop"
    )]
    client_name: Option<String>,
}

/// One permission.
// The values are read by `domain::scope`; this describes them.
#[derive(Deserialize, ToSchema)]
#[schema(as = Scope)]
enum ScopeName {
    #[schema(rename = "user:read")]
    UserRead,
    #[schema(rename = "connections:read")]
    ConnectionsRead,
    #[schema(rename = "connections:write")]
    ConnectionsWrite,
    #[schema(rename = "posts:read")]
    PostsRead,
    #[schema(rename = "posts:write")]
    PostsWrite,
    #[schema(rename = "posts:draft")]
    PostsDraft,
    #[schema(rename = "media:write")]
    MediaWrite,
    #[schema(rename = "webhooks:write")]
    WebhooksWrite,
}

/// The scopes and the client name of a [`DeviceCodeRequest`].
pub(crate) fn parse_device_code_request(mut fields: Fields) -> ApiResult<(Scopes, Option<ClientName>)> {
    let mut requested = Vec::new();
    if let FieldValue::Value(values) = fields.bounded_list("scopes", Scope::ALL.len()) {
        for (index, value) in values.into_iter().enumerate() {
            let field = format!("scopes.{index}");
            match value {
                Value::String(raw) => match Scope::parse(&raw) {
                    Some(scope) => requested.push(scope),
                    None => fields.add(&field, format!("must be one of {}", Scope::ALL.map(Scope::as_str).join(", "))),
                },
                _ => fields.add(&field, "must be a string"),
            }
        }
    }
    let client_name = fields
        .text("client_name")
        .value()
        .and_then(|raw| ClientName::parse(&raw).inspect_err(|error| fields.add("client_name", error)).ok());
    fields.finish((Scopes::from_requested(&requested), client_name))
}

/// The code to exchange.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes the body, which is read field by field")]
pub(crate) struct TokenRequest {
    /// The `device_code` that `POST /auth/device/code` returned.
    #[schema(example = "vB8nQ2mXw0yJ4kT7rL5pS9dF1gH3cZ6aE0uI2oP4qWs")]
    device_code: String,
}

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

/// The fields of a [`CodeExchange`] that were sent.
pub(crate) struct TokenForm(BTreeMap<String, String>);

impl TokenForm {
    /// Parses the fields. A repeated field is an error (RFC 6749, section 3.2).
    pub(crate) fn read(body: &[u8]) -> Result<Self, AuthError> {
        let mut fields = BTreeMap::new();
        for (name, value) in form_urlencoded::parse(body).into_owned() {
            if fields.insert(name, value).is_some() {
                return Err(AuthError::RepeatedField);
            }
        }
        Ok(Self(fields))
    }

    /// An empty field counts as absent (RFC 6749, section 3.2).
    fn optional(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|it| !it.is_empty())
    }

    pub(crate) fn get(&self, name: &'static str) -> Result<&str, AuthError> {
        self.optional(name).ok_or(AuthError::MissingField(name))
    }

    /// Checks that the sender is the app that the user approved.
    pub(crate) fn check(&self, request: &AuthorizationGrant) -> Result<(), AuthError> {
        if self.get("client_id")? != request.client_id.url().as_str() {
            return Err(AuthError::OtherClient);
        }
        // Optional in OAuth 2.1; if sent, it must be the one of the request (draft, section 10.2).
        if self.optional("redirect_uri").is_some_and(|it| it != request.redirect_uri.as_str()) {
            return Err(AuthError::OtherRedirectUri);
        }
        if !request.challenge.is_met_by(self.get("code_verifier")?) {
            return Err(AuthError::WrongVerifier);
        }
        Ok(())
    }

    /// The resource of the token: the authorized one, or the named part of it.
    pub(crate) fn resource(&self, api: &Api, request: &AuthorizationGrant) -> Result<Resource, AuthError> {
        let Some(address) = self.optional("resource") else { return Ok(request.resource) };
        let named = Resource::parse(&api.origin, address).ok_or(AuthError::UnknownResource)?;
        if request.resource.includes(named) {
            return Ok(named);
        }
        Err(AuthError::UnauthorizedResource)
    }
}
