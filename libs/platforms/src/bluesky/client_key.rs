//! The keys by which authorization servers identify this deployment.
//!
//! Facts: a session ends when its key leaves our document, so no key is ever removed; the newest
//! one signs.

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::signing_key::SigningKey;
use crate::dependency_error::DependencyError;
use crate::vault::{Retention, Vault, VaultSecret};

const NAME: &str = "bluesky client key";

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct NamedKey {
    pub(super) kid: String,
    pub(super) key: SigningKey,
}

/// Oldest first, at least one.
#[derive(Serialize, Deserialize)]
struct Keys {
    keys: Vec<NamedKey>,
}

impl NamedKey {
    fn generate() -> Result<Self, DependencyError> {
        let kid = format!("{:016x}", u64::from_le_bytes(domain::token::random_bytes()));
        Ok(Self { kid, key: SigningKey::generate()? })
    }

    pub(super) fn public(&self) -> Value {
        let mut shown = json!(self.key.public());
        shown["kid"] = self.kid.as_str().into();
        shown["alg"] = "ES256".into();
        shown["use"] = "sig".into();
        shown
    }
}

/// All keys of this deployment, oldest first. The first one is created on the first call.
pub(super) async fn all(vault: &dyn Vault) -> Result<Vec<NamedKey>, DependencyError> {
    if let Some(stored) = vault.find(NAME).await? {
        return parse_keys(&stored);
    }
    let secret = serde_json::to_string(&Keys { keys: vec![NamedKey::generate()?] }).map_err(|_| DependencyError)?;
    // If two processes create a key at the same time, the vault keeps one, and both use it.
    parse_keys(&vault.keep(NAME, SecretString::from(secret), None, Retention::Always).await?)
}

pub(super) async fn newest(vault: &dyn Vault) -> Result<NamedKey, DependencyError> {
    all(vault).await?.pop().ok_or(DependencyError)
}

fn parse_keys(stored: &VaultSecret) -> Result<Vec<NamedKey>, DependencyError> {
    let keys: Keys = serde_json::from_str(stored.value.expose_secret()).map_err(|_| {
        tracing::error!(name = NAME, "the vault's secret of this name cannot be read");
        DependencyError
    })?;
    Ok(keys.keys)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vault::MemoryVault;

    #[tokio::test]
    async fn newest_key_signs_and_is_created_once() {
        let vault = MemoryVault::default();
        let first = newest(&vault).await.unwrap();
        assert_eq!(newest(&vault).await.unwrap().kid, first.kid);

        let stored = vault.find(NAME).await.unwrap().unwrap();
        let second = NamedKey::generate().unwrap();
        let kid = second.kid.clone();
        let both = serde_json::to_string(&Keys { keys: vec![first, second] }).unwrap();
        vault.keep(NAME, both.into(), Some(&stored), Retention::Always).await.unwrap();

        assert_eq!(newest(&vault).await.unwrap().kid, kid);
        assert_eq!(all(&vault).await.unwrap().len(), 2);
    }

    #[tokio::test]
    async fn unreadable_key_is_not_replaced() {
        let vault = MemoryVault::default();
        vault.keep(NAME, "rubbish".into(), None, Retention::Always).await.unwrap();
        assert_eq!(newest(&vault).await.unwrap_err(), DependencyError);
        assert_eq!(vault.find(NAME).await.unwrap().unwrap().revision, 1);
    }
}
