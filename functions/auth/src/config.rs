//! This function's environment variables, beside those of every function that
//! speaks HTTP (`api::Api::from_env`).

use cloud::settings::{SettingsError, optional, required};

use crate::{OidcSettings, SignUp};

/// This function's settings.
#[derive(Clone, Debug)]
pub struct Config {
    /// `OIDC_ISSUER`, `OIDC_DISCOVERY` when the issuer's discovery document is
    /// not under its own URL, `OIDC_CLIENT_ID`, and `OIDC_CLIENT_SECRET` unless
    /// the client is a public one.
    pub oidc: OidcSettings,
    /// `SIGN_UP_ALLOWED`: e-mail addresses and domains, separated by commas.
    /// When it is empty, everyone may sign up.
    pub sign_up: SignUp,
}

impl Config {
    /// Reads the settings. The error names a variable that is missing.
    pub fn from_env() -> Result<Self, SettingsError> {
        Ok(Self {
            oidc: OidcSettings {
                issuer: required("OIDC_ISSUER")?,
                discovery: optional("OIDC_DISCOVERY"),
                client_id: required("OIDC_CLIENT_ID")?,
                client_secret: optional("OIDC_CLIENT_SECRET").map(Into::into),
            },
            sign_up: SignUp::parse(&optional("SIGN_UP_ALLOWED").unwrap_or_default()),
        })
    }
}
