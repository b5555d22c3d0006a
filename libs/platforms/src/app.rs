//! This service as platforms know it: an app with an id and a secret.

mod extra_secrets;

use std::sync::Arc;

use async_trait::async_trait;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

pub(crate) use self::extra_secrets::{Checked, NoExtraSecrets};
pub use self::extra_secrets::{ExtraSecretsSpec, InvalidExtraSecrets};

use crate::dependency_error::DependencyError;
use crate::vault::{Retention, Vault, VaultSecret};

/// What a platform gave this service when it was registered there. Printing
/// it shows nothing of the secret.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Written")]
pub struct AppCredentials {
    /// Names the app; everybody may see it.
    pub client_id: String,
    /// Proves that it is us: a password, or the private key where a platform
    /// wants something signed.
    pub client_secret: SecretString,
    /// What else the platform has given, or wants to know.
    pub further: ExtraSecretsSpec,
}

impl AppCredentials {
    /// How an operator writes them down. What else there is stands beside these two.
    pub const FORM: &str = r#"{"client_id": "…", "client_secret": "…"}"#;

    /// An id and a secret, and nothing else.
    pub fn new(client_id: &str, client_secret: &str) -> Self {
        let (client_id, client_secret) = (client_id.to_owned(), client_secret.into());
        Self { client_id, client_secret, further: ExtraSecretsSpec::default() }
    }
}

#[derive(Deserialize)]
struct Written {
    client_id: String,
    client_secret: SecretString,
    /// For the operator; nobody reads it.
    #[serde(default, rename = "note")]
    _note: IgnoredAny,
    #[serde(flatten)]
    further: Map<String, Value>,
}

/// A part of them is empty.
#[derive(Debug, thiserror::Error)]
#[error("client_id or client_secret is empty")]
struct Incomplete;

impl TryFrom<Written> for AppCredentials {
    type Error = Incomplete;

    fn try_from(written: Written) -> Result<Self, Incomplete> {
        let Written { client_id, client_secret, further, .. } = written;
        if client_id.trim().is_empty() || client_secret.expose_secret().trim().is_empty() {
            return Err(Incomplete);
        }
        Ok(Self { client_id, client_secret, further: ExtraSecretsSpec(further) })
    }
}

/// Where the credentials of this service at one platform are kept.
///
/// Each platform has its own. They may change while a program runs, so an adapter
/// asks for them before every call that needs them, and keeps none.
#[async_trait]
pub trait AppSource: Send + Sync {
    /// The credentials, within 20 seconds.
    async fn credentials(&self) -> Result<Arc<AppCredentials>, DependencyError>;

    /// The platform did not accept these. The next question looks them up anew.
    fn refused(&self, credentials: &Arc<AppCredentials>);
}

/// A source that never changes, for the local stack and for tests.
#[async_trait]
impl AppSource for AppCredentials {
    async fn credentials(&self) -> Result<Arc<AppCredentials>, DependencyError> {
        Ok(Arc::new(self.clone()))
    }

    fn refused(&self, _: &Arc<AppCredentials>) {
        tracing::error!(client_id = self.client_id, "a platform does not accept this service's id or secret");
    }
}

/// Stands in for what a function must not know: our ids and secrets where none is
/// used, and the vault where no account is connected.
#[derive(Clone, Copy, Debug)]
pub struct AppUnavailable;

#[async_trait]
impl AppSource for AppUnavailable {
    async fn credentials(&self) -> Result<Arc<AppCredentials>, DependencyError> {
        tracing::error!("this function is not told our credentials at platforms");
        Err(DependencyError)
    }

    fn refused(&self, _: &Arc<AppCredentials>) {}
}

#[async_trait]
impl Vault for AppUnavailable {
    async fn find(&self, name: &str) -> Result<Option<VaultSecret>, DependencyError> {
        tracing::error!(name, "this function does not open the vault: only where accounts are connected it is open");
        Err(DependencyError)
    }

    async fn keep(
        &self,
        name: &str,
        _: SecretString,
        _: Option<&VaultSecret>,
        _: Retention,
    ) -> Result<VaultSecret, DependencyError> {
        self.find(name).await?.ok_or(DependencyError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(written: &str) -> Result<AppCredentials, serde_json::Error> {
        serde_json::from_str(written)
    }

    #[test]
    fn what_an_operator_wrote_is_read_and_never_prints() {
        let app = read(r#"{"client_id": "us", "client_secret": "very-secret", "note": "ours since spring"}"#).unwrap();

        assert_eq!(app.client_id, "us");
        assert_eq!(app.client_secret.expose_secret(), "very-secret");
        assert!(!format!("{app:?}").contains("very-secret"), "{app:?}");
        assert!(read(AppCredentials::FORM).is_ok());
    }

    #[test]
    fn half_of_them_is_as_good_as_none() {
        for written in [
            r#"{"client_id": "", "client_secret": "s"}"#,
            r#"{"client_id": "us", "client_secret": " "}"#,
            r#"{"client_id": "us"}"#,
            "very-secret",
        ] {
            assert!(read(written).is_err(), "{written}");
        }
    }

    #[tokio::test]
    async fn what_is_withheld_is_not_told() {
        assert_eq!(AppUnavailable.credentials().await.unwrap_err(), DependencyError);
        assert_eq!(AppUnavailable.find("key").await.unwrap_err(), DependencyError);
    }
}
