//! This service as platforms know it: an app with an id and a secret.

mod further;

use std::sync::Arc;

use async_trait::async_trait;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

pub use self::further::{BadFurther, Further};
pub(crate) use self::further::{Checked, NoFurther};

use crate::not_now::NotNow;
use crate::vault::{Keeping, Kept, Vault};

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
    pub further: Further,
}

impl AppCredentials {
    /// How an operator writes them down. What else there is stands beside these two.
    pub const FORM: &str = r#"{"client_id": "…", "client_secret": "…"}"#;

    /// An id and a secret, and nothing else.
    pub fn new(client_id: &str, client_secret: &str) -> Self {
        let (client_id, client_secret) = (client_id.to_owned(), client_secret.into());
        Self { client_id, client_secret, further: Further::default() }
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
        Ok(Self { client_id, client_secret, further: Further(further) })
    }
}

/// Where the credentials of this service at one platform are kept.
///
/// Each platform has its own. They may change while a program runs, so an adapter
/// asks for them before every call that needs them, and keeps none.
#[async_trait]
pub trait AppSource: Send + Sync {
    /// The credentials, within 20 seconds.
    async fn credentials(&self) -> Result<Arc<AppCredentials>, NotNow>;

    /// The platform did not accept these. The next question looks them up anew.
    fn refused(&self, credentials: &Arc<AppCredentials>);
}

/// A source that never changes, for the local stack and for tests.
#[async_trait]
impl AppSource for AppCredentials {
    async fn credentials(&self) -> Result<Arc<AppCredentials>, NotNow> {
        Ok(Arc::new(self.clone()))
    }

    fn refused(&self, _: &Arc<AppCredentials>) {
        tracing::error!(client_id = self.client_id, "a platform does not accept this service's id or secret");
    }
}

/// Stands in for what a function must not know: our ids and secrets where none is
/// used, and the vault where no account is connected.
#[derive(Clone, Copy, Debug)]
pub struct Withheld;

#[async_trait]
impl AppSource for Withheld {
    async fn credentials(&self) -> Result<Arc<AppCredentials>, NotNow> {
        tracing::error!("this function is not told our credentials at platforms");
        Err(NotNow)
    }

    fn refused(&self, _: &Arc<AppCredentials>) {}
}

#[async_trait]
impl Vault for Withheld {
    async fn find(&self, name: &str) -> Result<Option<Kept>, NotNow> {
        tracing::error!(name, "this function does not open the vault: only where accounts are connected it is open");
        Err(NotNow)
    }

    async fn keep(&self, name: &str, _: SecretString, _: Option<&Kept>, _: Keeping) -> Result<Kept, NotNow> {
        self.find(name).await?.ok_or(NotNow)
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
        assert_eq!(Withheld.credentials().await.unwrap_err(), NotNow);
        assert_eq!(Withheld.find("key").await.unwrap_err(), NotNow);
    }
}
