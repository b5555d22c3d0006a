//! The device flow, and whose a token is.

use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use super::exposed;
use crate::Timestamp;

/// What a client asks for.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct DeviceCodeRequest {
    /// What the token is to permit, like `posts:write`; `None` is everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scopes: Option<Vec<String>>,
    /// What the client calls itself, for the person who approves it: 1 to 60 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_name: Option<String>,
}

/// The codes of a device that asks for access.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DeviceAuthorization {
    /// For the client alone: it is exchanged for the token.
    #[serde(serialize_with = "exposed")]
    pub device_code: SecretString,
    /// For the user to type.
    pub user_code: String,
    /// Where the user types it.
    pub verification_uri: String,
    /// The same with the code filled in.
    pub verification_uri_complete: String,
    /// Seconds until the codes end.
    pub expires_in: u64,
    /// Seconds to wait between two polls.
    pub interval: u64,
}

/// The code to exchange.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TokenRequest {
    /// Of the [`DeviceAuthorization`].
    #[serde(serialize_with = "exposed")]
    pub device_code: SecretString,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AccessTokenBody {
    /// What every other request carries.
    #[serde(serialize_with = "exposed")]
    pub access_token: SecretString,
    /// Always `Bearer`.
    pub token_type: String,
    pub user: TokenUser,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenUser {
    /// A number, written as a string.
    pub id: String,
    /// As the sign-in told it.
    pub name: String,
    /// As the sign-in told it.
    pub email: String,
}

/// Whose a token is, and what it permits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// A number, written as a string.
    pub id: String,
    /// As the sign-in told it.
    pub name: String,
    /// As the sign-in told it.
    pub email: String,
    /// The first sign-in.
    pub created_at: Timestamp,
    /// What the token permits.
    pub scopes: Vec<String>,
}
