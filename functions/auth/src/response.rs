//! Responses of the API's routes: codes, tokens, and the user.

use serde::Serialize;
use utoipa::ToSchema;

/// The codes of a device flow.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = DeviceAuthorization)]
pub(crate) struct DeviceAuthorization {
    /// Secret: keep it in the client, and exchange it for the token.
    #[schema(example = "vB8nQ2mXw0yJ4kT7rL5pS9dF1gH3cZ6aE0uI2oP4qWs")]
    pub(crate) device_code: String,
    /// The code that the user enters.
    #[schema(example = "WDJB-MJHT")]
    pub(crate) user_code: String,
    /// The page on which the user enters the code.
    #[schema(example = "https://social.example/device")]
    pub(crate) verification_uri: String,
    /// Like `verification_uri`, with the code filled in.
    #[schema(example = "https://social.example/device?user_code=WDJB-MJHT")]
    pub(crate) verification_uri_complete: String,
    /// Seconds until the codes expire.
    #[schema(example = 900)]
    pub(crate) expires_in: u32,
    /// Seconds to wait between two polls.
    #[schema(example = 5)]
    pub(crate) interval: u32,
}

/// A token, shown once.
#[derive(Serialize, ToSchema)]
#[schema(as = AccessTokenBody)]
pub(crate) struct AccessTokenView {
    /// Send it as `Authorization: Bearer <token>`.
    #[schema(example = "sp_0aK4vTq8wXz2mN6pR1sD5fG9hJ3kL7bV0cX4zQ8wE2rT6yU1iO5pA9sD3fG7hJ0kL")]
    pub(crate) access_token: String,
    /// Always `Bearer`.
    #[schema(example = "Bearer")]
    pub(crate) token_type: &'static str,
    /// The user who approved the access.
    pub(crate) user: TokenUser,
}

/// The user whose data a token gives access to.
#[derive(Serialize, ToSchema)]
pub(crate) struct TokenUser {
    /// The id of the user: a number, as a string.
    #[schema(example = "373117280772096")]
    pub(crate) id: String,
    /// The name from the sign-in provider.
    #[schema(example = "Test User")]
    pub(crate) name: String,
    /// The e-mail address from the sign-in provider.
    #[schema(example = "user@example.com")]
    pub(crate) email: String,
}

/// A token, shown once.
#[derive(Serialize, ToSchema)]
#[schema(as = OAuthToken)]
pub(crate) struct TokenView {
    /// Send it as `Authorization: Bearer <token>`.
    #[schema(example = "sp_0aK4vTq8wXz2mN6pR1sD5fG9hJ3kL7bV0cX4zQ8wE2rT6yU1iO5pA9sD3fG7hJ0kL")]
    pub(crate) access_token: String,
    /// Always `Bearer`.
    #[schema(example = "Bearer")]
    pub(crate) token_type: &'static str,
    /// Seconds until the token expires if unused.
    #[schema(example = 7_776_000)]
    pub(crate) expires_in: i64,
    /// The scopes that the user approved, which may be fewer than requested.
    #[schema(example = "posts:read posts:draft")]
    pub(crate) scope: String,
}

/// The user and the scopes of the token.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = User)]
pub(crate) struct UserView {
    /// The id of the user: a number, as a string.
    #[schema(example = "373117280772096")]
    pub(crate) id: String,
    /// The name from the sign-in provider.
    #[schema(example = "Test User")]
    pub(crate) name: String,
    /// The e-mail address from the sign-in provider.
    #[schema(example = "user@example.com")]
    pub(crate) email: String,
    /// When the user first signed in.
    #[schema(format = DateTime, example = "2026-11-21T09:30:00.000Z")]
    pub(crate) created_at: String,
    /// The scopes of the token.
    #[schema(example = json!(["user:read", "posts:write"]))]
    pub(crate) scopes: Vec<&'static str>,
}
