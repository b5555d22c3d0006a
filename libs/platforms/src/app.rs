mod extra_secrets;

use std::sync::Arc;

use async_trait::async_trait;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

pub(crate) use self::extra_secrets::{Checked, NoExtraSecrets};
pub use self::extra_secrets::{ExtraSecrets, InvalidExtraSecrets};

use crate::dependency_error::DependencyError;
use crate::vault::{Retention, Vault, VaultSecret};

/// Client credentials that a platform issued when this service was registered. `Debug` does not
/// print the secret.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "RawAppCredentials")]
pub struct AppCredentials {
    pub client_id: String,
    /// A password, or a private key where the platform requires a signature.
    pub client_secret: SecretString,
    pub extra_secrets: ExtraSecrets,
}

impl AppCredentials {
    /// The JSON that an operator writes. Extra secrets are further fields of the object.
    pub const EXAMPLE_JSON: &str = r#"{"client_id": "…", "client_secret": "…"}"#;

    pub fn new(client_id: &str, client_secret: &str) -> Self {
        let (client_id, client_secret) = (client_id.to_owned(), client_secret.into());
        Self { client_id, client_secret, extra_secrets: ExtraSecrets::default() }
    }
}

#[derive(Deserialize)]
struct RawAppCredentials {
    client_id: String,
    client_secret: SecretString,
    /// A comment of the operator; not used.
    #[serde(default, rename = "note")]
    _note: IgnoredAny,
    #[serde(flatten)]
    extra_secrets: Map<String, Value>,
}

#[derive(Debug, thiserror::Error)]
#[error("client_id or client_secret is empty")]
struct IncompleteCredentials;

impl TryFrom<RawAppCredentials> for AppCredentials {
    type Error = IncompleteCredentials;

    fn try_from(raw: RawAppCredentials) -> Result<Self, IncompleteCredentials> {
        let RawAppCredentials { client_id, client_secret, extra_secrets, .. } = raw;
        if client_id.trim().is_empty() || client_secret.expose_secret().trim().is_empty() {
            return Err(IncompleteCredentials);
        }
        Ok(Self { client_id, client_secret, extra_secrets: ExtraSecrets(extra_secrets) })
    }
}

/// Where the client credentials of one platform come from.
///
/// They may change while the process runs, so an adapter reads them before every call that needs
/// them, and does not keep them.
#[async_trait]
pub trait AppSource: Send + Sync {
    /// Returns within 20 seconds.
    async fn credentials(&self) -> Result<Arc<AppCredentials>, DependencyError>;

    /// Reports that the platform refused these credentials. The next read loads them again.
    fn report_refused(&self, credentials: &Arc<AppCredentials>);
}

#[async_trait]
impl AppSource for AppCredentials {
    async fn credentials(&self) -> Result<Arc<AppCredentials>, DependencyError> {
        Ok(Arc::new(self.clone()))
    }

    fn report_refused(&self, _: &Arc<AppCredentials>) {
        tracing::error!(client_id = self.client_id, "the platform refused this deployment's client id or secret");
    }
}

/// For functions that may not have secrets: no client credentials where none are used, and no vault
/// where no accounts are connected.
#[derive(Clone, Copy, Debug)]
pub struct AppUnavailable;

#[async_trait]
impl AppSource for AppUnavailable {
    async fn credentials(&self) -> Result<Arc<AppCredentials>, DependencyError> {
        tracing::error!("this function has no access to the client credentials of platforms");
        Err(DependencyError)
    }

    fn report_refused(&self, _: &Arc<AppCredentials>) {}
}

#[async_trait]
impl Vault for AppUnavailable {
    async fn find(&self, name: &str) -> Result<Option<VaultSecret>, DependencyError> {
        tracing::error!(name, "this function has no access to the vault; only functions that connect accounts have it");
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
    fn operator_json_is_read_and_debug_omits_the_secret() {
        let app = read(r#"{"client_id": "us", "client_secret": "very-secret", "note": "ours since spring"}"#).unwrap();

        assert_eq!(app.client_id, "us");
        assert_eq!(app.client_secret.expose_secret(), "very-secret");
        assert!(!format!("{app:?}").contains("very-secret"), "{app:?}");
        assert!(read(AppCredentials::EXAMPLE_JSON).is_ok());
    }

    #[test]
    fn incomplete_client_credentials_are_refused() {
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
    async fn unavailable_app_returns_no_secrets() {
        assert_eq!(AppUnavailable.credentials().await.unwrap_err(), DependencyError);
        assert_eq!(AppUnavailable.find("key").await.unwrap_err(), DependencyError);
    }
}
