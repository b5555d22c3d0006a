//! A vault that keeps secrets in our own table, sealed.

use std::sync::Arc;

use async_trait::async_trait;
use cloud::seal::Sealer;
use platforms::{Kept, NotNow, Vault};
use secrecy::{ExposeSecret, SecretString};
use storage::{Store, VaultEntry, vault_context};

use crate::failure::Failure;

/// Keeps the secrets of this deployment in its table `vault`.
pub struct StoredVault {
    store: Store,
    sealer: Arc<dyn Sealer>,
}

impl StoredVault {
    /// The vault in the tables of this store.
    pub fn new(store: Store, sealer: Arc<dyn Sealer>) -> Self {
        Self { store, sealer }
    }

    async fn open(&self, name: &str) -> Result<Option<Kept>, Failure> {
        let Some(entry) = self.store.vault_entry(name).await? else { return Ok(None) };
        let plain = self.sealer.open(&entry.sealed, &vault_context(name)).await?;
        let value = String::from_utf8(plain).map_err(|_| Failure::Memory)?;
        Ok(Some(Kept { value: value.into(), revision: entry.revision }))
    }

    async fn put(&self, name: &str, value: SecretString, revision: u64) -> Result<Option<Kept>, Failure> {
        let sealed = self.sealer.seal(value.expose_secret().as_bytes(), &vault_context(name)).await?;
        if self.store.put_vault_entry(name, &VaultEntry { revision, sealed }).await? {
            return Ok(Some(Kept { value, revision }));
        }
        self.open(name).await
    }
}

#[async_trait]
impl Vault for StoredVault {
    async fn find(&self, name: &str) -> Result<Option<Kept>, NotNow> {
        self.open(name).await.map_err(|it| not_now(&it))
    }

    async fn keep(&self, name: &str, value: SecretString, over: Option<&Kept>) -> Result<Kept, NotNow> {
        let revision = over.map_or(0, |it| it.revision) + 1;
        self.put(name, value, revision).await.map_err(|it| not_now(&it))?.ok_or(NotNow)
    }
}

fn not_now(failure: &Failure) -> NotNow {
    tracing::error!(%failure, "the vault could not be used");
    NotNow
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::World;

    #[tokio::test]
    async fn what_is_kept_is_found_by_all_and_the_first_wins() {
        let world = World::new().await;
        let vault = || StoredVault::new(world.store(), world.sealer());
        assert!(vault().find("mastodon good.example").await.unwrap().is_none());

        let one = vault().keep("mastodon good.example", "one".into(), None).await.unwrap();
        let two = vault().keep("mastodon good.example", "two".into(), None).await.unwrap();
        assert_eq!((one.value.expose_secret(), two.value.expose_secret()), ("one", "one"));

        vault().keep("mastodon good.example", "three".into(), Some(&one)).await.unwrap();
        let found = vault().find("mastodon good.example").await.unwrap().unwrap();
        assert_eq!((found.value.expose_secret(), found.revision), ("three", 2));
    }
}
