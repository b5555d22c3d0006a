//! The signing key of the deployment: generated at its first use and stored in the vault.

use std::sync::Arc;

use cloud::seal::Sealer;
use domain::webhook::SigningKey;
use storage::{Store, VaultEntry, VaultKey};
use tokio::sync::OnceCell;

use crate::error::WebhooksError;

const VAULT_NAME: &str = "signing_key";

/// Reads the key once per process.
#[derive(Clone)]
pub struct SigningKeys {
    store: Store,
    sealer: Arc<dyn Sealer>,
    found: Arc<OnceCell<SigningKey>>,
}

impl SigningKeys {
    pub fn new(store: Store, sealer: Arc<dyn Sealer>) -> Self {
        Self { store, sealer, found: Arc::default() }
    }

    pub async fn key(&self) -> Result<&SigningKey, WebhooksError> {
        self.found.get_or_try_init(|| self.find_or_create()).await
    }

    async fn find_or_create(&self) -> Result<SigningKey, WebhooksError> {
        if let Some(key) = self.find().await? {
            return Ok(key);
        }
        let (name, key) = (VaultKey::webhook(VAULT_NAME), SigningKey::random());
        let sealed = self.sealer.seal(key.expose().as_bytes(), &name.context()).await?;
        let entry = VaultEntry { revision: 1, ends_at: None, sealed };
        if self.store.put_vault_entry(&name, &entry).await? {
            return Ok(key);
        }
        // Another process stored one first.
        self.find().await?.ok_or(WebhooksError::Unreadable)
    }

    async fn find(&self) -> Result<Option<SigningKey>, WebhooksError> {
        let name = VaultKey::webhook(VAULT_NAME);
        let Some(entry) = self.store.vault_entry(&name).await? else { return Ok(None) };
        let plain = self.sealer.open(&entry.sealed, &name.context()).await?;
        let text = String::from_utf8(plain).map_err(|_| WebhooksError::Unreadable)?;
        SigningKey::parse(text.into()).map(Some).ok_or(WebhooksError::Unreadable)
    }
}
