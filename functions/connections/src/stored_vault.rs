//! A vault that stores sealed secrets in our own table.

use std::sync::Arc;

use async_trait::async_trait;
use chrono::TimeDelta;
use cloud::seal::Sealer;
use domain::clock::Clock;
use platforms::{DependencyError, Retention, Vault, VaultSecret};
use secrecy::{ExposeSecret, SecretString};
use storage::{Store, VaultEntry, VaultKey};

use crate::error::ConnectionsError;

pub struct StoredVault {
    store: Store,
    sealer: Arc<dyn Sealer>,
    clock: Clock,
}

/// An entry that is not read for this long is deleted.
const UNUSED_FOR: TimeDelta = TimeDelta::days(180);

/// A read extends an entry at most once in this time, which saves writes.
const NOTED_AFTER: TimeDelta = TimeDelta::days(7);

impl StoredVault {
    pub fn new(store: Store, sealer: Arc<dyn Sealer>, clock: Clock) -> Self {
        Self { store, sealer, clock }
    }

    async fn open(&self, key: &VaultKey) -> Result<Option<VaultSecret>, ConnectionsError> {
        let Some(entry) = self.store.vault_entry(key).await? else { return Ok(None) };
        let plain = self.sealer.open(&entry.sealed, &key.context()).await?;
        let value = String::from_utf8(plain).map_err(|_| ConnectionsError::UnreadableSecret)?;
        let revision = entry.revision;
        self.extend(key, entry).await?;
        Ok(Some(VaultSecret { value: value.into(), revision }))
    }

    async fn extend(&self, key: &VaultKey, entry: VaultEntry) -> Result<(), ConnectionsError> {
        let ends_at = self.clock.now() + UNUSED_FOR;
        if entry.ends_at.is_some_and(|it| it + NOTED_AFTER <= ends_at) {
            let extended = VaultEntry { ends_at: Some(ends_at), ..entry };
            self.store.extend_vault_entry(key, &extended).await?;
        }
        Ok(())
    }

    async fn put(
        &self,
        key: &VaultKey,
        value: SecretString,
        revision: u64,
        retention: Retention,
    ) -> Result<Option<VaultSecret>, ConnectionsError> {
        let sealed = self.sealer.seal(value.expose_secret().as_bytes(), &key.context()).await?;
        let ends_at = (retention == Retention::WhileUsed).then(|| self.clock.now() + UNUSED_FOR);
        if self.store.put_vault_entry(key, &VaultEntry { revision, ends_at, sealed }).await? {
            return Ok(Some(VaultSecret { value, revision }));
        }
        self.open(key).await
    }
}

#[async_trait]
impl Vault for StoredVault {
    async fn find(&self, name: &str) -> Result<Option<VaultSecret>, DependencyError> {
        Ok(self.open(&VaultKey::platform(name)).await?)
    }

    async fn keep(
        &self,
        name: &str,
        value: SecretString,
        replaced: Option<&VaultSecret>,
        retention: Retention,
    ) -> Result<VaultSecret, DependencyError> {
        let revision = replaced.map_or(0, |it| it.revision) + 1;
        self.put(&VaultKey::platform(name), value, revision, retention).await?.ok_or(DependencyError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Harness;

    #[tokio::test]
    async fn first_stored_secret_wins_and_every_reader_finds_it() {
        let harness = Harness::new().await;
        let vault = || StoredVault::new(harness.store(), harness.sealer(), harness.clock.clone());
        assert!(vault().find("mastodon good.example").await.unwrap().is_none());

        let one = vault().keep("mastodon good.example", "one".into(), None, Retention::Always).await.unwrap();
        let two = vault().keep("mastodon good.example", "two".into(), None, Retention::Always).await.unwrap();
        assert_eq!((one.value.expose_secret(), two.value.expose_secret()), ("one", "one"));

        vault().keep("mastodon good.example", "three".into(), Some(&one), Retention::Always).await.unwrap();
        let found = vault().find("mastodon good.example").await.unwrap().unwrap();
        assert_eq!((found.value.expose_secret(), found.revision), ("three", 2));
    }

    #[tokio::test]
    async fn read_entry_is_extended_and_unread_entry_expires() {
        let harness = Harness::new().await;
        let vault = StoredVault::new(harness.store(), harness.sealer(), harness.clock.clone());
        vault.keep("app", "one".into(), None, Retention::WhileUsed).await.unwrap();
        vault.keep("key", "one".into(), None, Retention::Always).await.unwrap();
        let ends_at =
            async |name| harness.store().vault_entry(&VaultKey::platform(name)).await.unwrap().unwrap().ends_at;
        let began = harness.clock.now();
        assert_eq!((ends_at("app").await, ends_at("key").await), (Some(began + UNUSED_FOR), None));

        harness.clock.advance(TimeDelta::days(6));
        vault.find("app").await.unwrap();
        assert_eq!(ends_at("app").await, Some(began + UNUSED_FOR), "not every use is a write");
        harness.clock.advance(TimeDelta::days(2));
        let (found, other) = tokio::join!(vault.find("app"), vault.find("app"));
        let (found, other) = (found.unwrap().unwrap(), other.unwrap().unwrap());
        assert_eq!(ends_at("app").await, Some(harness.clock.now() + UNUSED_FOR));
        assert_eq!(found.revision, other.revision, "either can be replaced");

        let new = vault.keep("app", "two".into(), Some(&found), Retention::WhileUsed).await.unwrap();
        assert_eq!(new.value.expose_secret(), "two");
        vault.find("key").await.unwrap();
        assert_eq!(ends_at("key").await, None);
    }
}
