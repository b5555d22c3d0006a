//! Why a client gets no token. Each error has a code of OAuth (RFC 6749, RFC 8628, RFC 8707).

use api::ApiError;
use domain::device_grant::RedeemError;
use http::StatusCode;
use storage::StorageError;

#[derive(Debug, thiserror::Error)]
pub(crate) enum AuthError {
    #[error("authorization pending")]
    AuthorizationPending,
    #[error("access denied")]
    AccessDenied,
    #[error("device code expired")]
    ExpiredDeviceCode,
    /// Unknown, or already exchanged.
    #[error("device code invalid")]
    InvalidDeviceCode,
    #[error("grant type unsupported")]
    UnsupportedGrantType,
    #[error("repeated field")]
    RepeatedField,
    #[error("missing field {0}")]
    MissingField(&'static str),
    /// The authorization code is unknown, has expired, or was already exchanged.
    #[error("authorization code invalid")]
    InvalidGrant,
    #[error("authorization code of another client")]
    OtherClient,
    #[error("redirect URI of another request")]
    OtherRedirectUri,
    #[error("code verifier invalid")]
    WrongVerifier,
    #[error("resource unknown")]
    UnknownResource,
    /// The user authorized another resource.
    #[error("resource not authorized")]
    UnauthorizedResource,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl From<RedeemError> for AuthError {
    fn from(error: RedeemError) -> Self {
        match error {
            RedeemError::Pending => Self::AuthorizationPending,
            RedeemError::Denied => Self::AccessDenied,
            RedeemError::Expired => Self::ExpiredDeviceCode,
            RedeemError::Invalid => Self::InvalidDeviceCode,
        }
    }
}

impl From<AuthError> for ApiError {
    fn from(error: AuthError) -> Self {
        let (error, description) = match error {
            AuthError::AuthorizationPending => {
                ("authorization_pending", "The user has not decided yet. Try again in 5 seconds.")
            }
            AuthError::AccessDenied => ("access_denied", "The user denied the request."),
            AuthError::ExpiredDeviceCode => {
                ("expired_token", "The device code has expired. Start again with POST /auth/device/code.")
            }
            AuthError::InvalidDeviceCode => (
                "invalid_device_code",
                "The device code is unknown or was already exchanged. Start again with POST /auth/device/code.",
            ),
            AuthError::UnsupportedGrantType => ("unsupported_grant_type", "The grant_type must be authorization_code."),
            AuthError::RepeatedField => ("invalid_request", "A field occurs more than once."),
            AuthError::MissingField(name) => {
                let text = format!("Send {name}, in a body of the type application/x-www-form-urlencoded.");
                return oauth("invalid_request", text);
            }
            AuthError::InvalidGrant => (
                "invalid_grant",
                "The code is unknown, has expired, or was already exchanged. Send the user to the authorization page again.",
            ),
            AuthError::OtherClient => ("invalid_grant", "The code was given to another client_id."),
            AuthError::OtherRedirectUri => {
                ("invalid_grant", "The redirect_uri differs from the one of the authorization request.")
            }
            AuthError::WrongVerifier => ("invalid_grant", "The code_verifier does not match the code_challenge."),
            AuthError::UnknownResource => ("invalid_target", "The resource is not this service."),
            AuthError::UnauthorizedResource => {
                ("invalid_target", "The resource is not part of the resource that the user authorized.")
            }
            AuthError::Storage(error) => return error.into(),
        };
        oauth(error, description.to_owned())
    }
}

fn oauth(error: &'static str, description: String) -> ApiError {
    ApiError::OAuth { status: StatusCode::BAD_REQUEST, error, description }
}
