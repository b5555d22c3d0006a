//! Our client secret at the issuer.

use std::fmt;
use std::sync::Arc;

use aws_config::SdkConfig;
use cloud::secrets::{Secret, SecretError};
use domain::clock::Clock;
use secrecy::SecretString;
use serde::Deserialize;

#[derive(Clone)]
pub enum ClientSecret {
    Given(SecretString),
    /// A secret of AWS Secrets Manager with the value `{"client_secret": "..."}`.
    Kept(Arc<Secret<StoredClientSecret>>),
}

#[derive(Deserialize)]
pub struct StoredClientSecret {
    client_secret: SecretString,
}

impl ClientSecret {
    /// The secret with this name or ARN. It is read at the first sign-in.
    pub fn kept(aws: &SdkConfig, id: String) -> Self {
        let form = r#"{"client_secret": "..."}"#;
        Self::Kept(Arc::new(Secret::new(aws, id, form, Clock::System)))
    }

    pub(crate) async fn get(&self) -> Result<SecretString, SecretError> {
        match self {
            Self::Given(secret) => Ok(secret.clone()),
            Self::Kept(secret) => Ok(secret.get().await?.client_secret.clone()),
        }
    }

    /// Discards the secret that the issuer refused, so that it is read again.
    pub(crate) async fn refused(&self) {
        if let Self::Kept(secret) = self
            && let Ok(value) = secret.get().await
        {
            secret.refused(&value);
        }
    }
}

impl fmt::Debug for ClientSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Given(_) => "ClientSecret::Given",
            Self::Kept(_) => "ClientSecret::Kept",
        })
    }
}
