//! The flows that issue a token, and the owner of a token.

use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::exposed;
use crate::Timestamp;

/// The access that a client requests.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DeviceCodeRequest {
    /// The scopes of the token. Absent, null or empty: all scopes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<ScopeName>>, nullable, max_items = 8, example = json!(["posts:read", "posts:write"]))]
    pub scopes: Option<Vec<String>>,
    /// The client's name, which the user sees on the consent page: at most 60 characters, not counting white space
    /// around the name.
    // As `domain::name::ClientName` parses it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(
        nullable,
        min_length = 1,
        pattern = r"^[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*[^\x00- \x7f-\xa0\u061c\u1680\u2000-\u200a\u200e\u200f\u2028-\u202f\u205f\u2066-\u2069\u3000]([^\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]{0,58}[^\x00- \x7f-\xa0\u061c\u1680\u2000-\u200a\u200e\u200f\u2028-\u202f\u205f\u2066-\u2069\u3000])?[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*$",
        example = "Planner on my laptop"
    )]
    pub client_name: Option<String>,
}

/// One permission.
#[derive(ToSchema)]
#[schema(as = Scope)]
#[expect(dead_code, reason = "only its schema is used")]
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

/// The codes of a device flow.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DeviceAuthorization {
    /// Secret: keep it in the client, and exchange it for the token.
    #[serde(serialize_with = "exposed")]
    #[schema(value_type = String, example = "vB8nQ2mXw0yJ4kT7rL5pS9dF1gH3cZ6aE0uI2oP4qWs")]
    pub device_code: SecretString,
    /// The code that the user enters.
    #[schema(example = "WDJB-MJHT")]
    pub user_code: String,
    /// The page on which the user enters the code.
    #[schema(example = "https://social.example/device")]
    pub verification_uri: String,
    /// Like `verification_uri`, with the code filled in.
    #[schema(example = "https://social.example/device?user_code=WDJB-MJHT")]
    pub verification_uri_complete: String,
    /// Seconds until the codes expire.
    #[schema(example = 900)]
    pub expires_in: u32,
    /// Seconds to wait between two polls.
    #[schema(example = 5)]
    pub interval: u32,
}

/// The code to exchange.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenRequest {
    /// The `device_code` that `POST /auth/device/code` returned.
    #[serde(serialize_with = "exposed")]
    #[schema(value_type = String, example = "vB8nQ2mXw0yJ4kT7rL5pS9dF1gH3cZ6aE0uI2oP4qWs")]
    pub device_code: SecretString,
}

/// A token, shown once.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AccessTokenBody {
    /// Send it as `Authorization: Bearer <token>`.
    #[serde(serialize_with = "exposed")]
    #[schema(value_type = String, example = "sp_0aK4vTq8wXz2mN6pR1sD5fG9hJ3kL7bV0cX4zQ8wE2rT6yU1iO5pA9sD3fG7hJ0kL")]
    pub access_token: SecretString,
    /// Always `Bearer`.
    #[schema(example = "Bearer")]
    pub token_type: String,
    /// The user who approved the access.
    pub user: TokenUser,
}

/// The user whose data a token gives access to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenUser {
    /// The id of the user: a number, as a string.
    #[schema(example = "373117280772096")]
    pub id: String,
    /// The name from the sign-in provider.
    #[schema(example = "Test User")]
    pub name: String,
    /// The e-mail address from the sign-in provider.
    #[schema(example = "user@example.com")]
    pub email: String,
}

/// The token request of OAuth 2.1. Unknown fields are ignored.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CodeExchange {
    /// Always `authorization_code`.
    #[schema(example = "authorization_code")]
    pub grant_type: String,
    /// The code from the redirect.
    #[serde(serialize_with = "exposed")]
    #[schema(
        value_type = String,
        example = "vB8nQ2mXw0yJ4kT7rL5pS9dF1gH3cZ6aE0uI2oP4qWs.T5yU8iO1pA4sD7fG0hJ3kL6zX9cV2bN5mQ8wE1rT4yU"
    )]
    pub code: SecretString,
    /// The `redirect_uri` of the authorization request. Required if it was sent there.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "http://127.0.0.1:33418/")]
    pub redirect_uri: Option<String>,
    /// The `client_id` of the authorization request.
    #[schema(example = "https://app.example/client.json")]
    pub client_id: String,
    /// The PKCE verifier that matches the `code_challenge` of the authorization request.
    #[serde(serialize_with = "exposed")]
    #[schema(
        value_type = String,
        example = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
        min_length = 43,
        max_length = 128
    )]
    pub code_verifier: SecretString,
    /// Where the token is used (RFC 8707): the URL of the service, of its API, or of `/mcp`. It must
    /// be the resource of the authorization request, or a part of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "https://social.example/mcp")]
    pub resource: Option<String>,
}

/// A token, shown once.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct OAuthToken {
    /// Send it as `Authorization: Bearer <token>`.
    #[serde(serialize_with = "exposed")]
    #[schema(value_type = String, example = "sp_0aK4vTq8wXz2mN6pR1sD5fG9hJ3kL7bV0cX4zQ8wE2rT6yU1iO5pA9sD3fG7hJ0kL")]
    pub access_token: SecretString,
    /// Always `Bearer`.
    #[schema(example = "Bearer")]
    pub token_type: String,
    /// Seconds until the token expires if unused.
    #[schema(example = 7_776_000)]
    pub expires_in: i64,
    /// The scopes that the user approved, which may be fewer than requested.
    #[schema(example = "posts:read posts:draft")]
    pub scope: String,
}

/// The user and the scopes of the token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct User {
    /// The id of the user: a number, as a string.
    #[schema(example = "373117280772096")]
    pub id: String,
    /// The name from the sign-in provider.
    #[schema(example = "Test User")]
    pub name: String,
    /// The e-mail address from the sign-in provider.
    #[schema(example = "user@example.com")]
    pub email: String,
    /// When the user first signed in.
    #[schema(value_type = String, format = DateTime, example = "2026-11-21T09:30:00.000Z")]
    pub created_at: Timestamp,
    /// The scopes of the token.
    #[schema(example = json!(["user:read", "posts:write"]))]
    pub scopes: Vec<String>,
}
