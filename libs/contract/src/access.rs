//! The device flow, and the owner of a token.

use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use super::exposed;
use crate::Timestamp;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct DeviceCodeRequest {
    /// The scopes to request, such as `posts:write`; `None` requests all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scopes: Option<Vec<String>>,
    /// The client's name, shown to the user who approves it: 1 to 60 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_name: Option<String>,
}

/// The codes of a device authorization (RFC 8628).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DeviceAuthorization {
    /// Secret; the client exchanges it for the token.
    #[serde(serialize_with = "exposed")]
    pub device_code: SecretString,
    /// The code that the user types.
    pub user_code: String,
    /// The page on which the user types the code.
    pub verification_uri: String,
    /// `verification_uri` with the code filled in.
    pub verification_uri_complete: String,
    /// Seconds until the codes expire.
    pub expires_in: u64,
    /// Seconds to wait between two polls.
    pub interval: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TokenRequest {
    /// From [`DeviceAuthorization`].
    #[serde(serialize_with = "exposed")]
    pub device_code: SecretString,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AccessTokenBody {
    /// The token for all other requests.
    #[serde(serialize_with = "exposed")]
    pub access_token: SecretString,
    pub token_type: String,
    pub user: TokenUser,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenUser {
    /// A number, written as a string.
    pub id: String,
    /// As the identity provider last reported it.
    pub name: String,
    /// As the identity provider last reported it.
    pub email: String,
}

/// The owner and the scopes of a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// A number, written as a string.
    pub id: String,
    /// As the identity provider last reported it.
    pub name: String,
    /// As the identity provider last reported it.
    pub email: String,
    /// Time of the first sign-in.
    pub created_at: Timestamp,
    /// The scopes of the token.
    pub scopes: Vec<String>,
}
