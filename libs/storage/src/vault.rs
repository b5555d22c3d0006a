//! Secrets of the deployment itself, which it obtained from servers or generated.

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, Utc};
use domain::sealing::{SealContext, SecretKind};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::error::StorageError;
use crate::item::{Item, attributes, from_item, n, s, to_item, ttl};
use crate::schema::Table;
use crate::write_outcome::WriteOutcome;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VaultEntry {
    /// Increases with every change.
    pub revision: u64,
    /// `None` for permanent secrets.
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub ends_at: Option<DateTime<Utc>>,
    /// Sealed for [`VaultKey::context`].
    #[serde(skip)]
    pub sealed: Vec<u8>,
}

/// The name of a secret in the vault. The prefix of the name and the kind of the sealed value determine
/// which functions can use it: their IAM roles check both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VaultKey {
    entry: String,
    kind: SecretKind,
}

impl VaultKey {
    pub fn platform(name: &str) -> Self {
        Self { entry: format!("platform#{name}"), kind: SecretKind::Vault }
    }

    pub fn webhook(name: &str) -> Self {
        Self { entry: format!("webhook#{name}"), kind: SecretKind::Webhook }
    }

    /// `None` if the prefix is unknown.
    pub(crate) fn stored(entry: &str) -> Option<Self> {
        match entry.split_once('#')? {
            ("platform", name) => Some(Self::platform(name)),
            ("webhook", name) => Some(Self::webhook(name)),
            _ => None,
        }
    }

    pub fn entry(&self) -> &str {
        &self.entry
    }

    pub fn context(&self) -> SealContext {
        SealContext::new(self.kind, format_args!("vault:{}", self.entry))
    }
}

impl Store {
    pub async fn vault_entry(&self, key: &VaultKey) -> Result<Option<VaultEntry>, StorageError> {
        let request = self.client.get_item().table_name(self.table(Table::Vault)).set_key(Some(item_key(key)));
        let Some(mut item) = request.consistent_read(true).send().await?.item else { return Ok(None) };
        let sealed = match item.remove("sealed") {
            Some(AttributeValue::B(sealed)) => sealed.into_inner(),
            _ => Vec::new(),
        };
        let entry: VaultEntry = from_item(item)?;
        Ok(Some(VaultEntry { sealed, ..entry }))
    }

    /// Replaces the previous revision of an entry, or adds the first one. Returns `false` if another
    /// revision is stored.
    pub async fn put_vault_entry(&self, key: &VaultKey, entry: &VaultEntry) -> Result<bool, StorageError> {
        let expected_revision = entry.revision.checked_sub(1).filter(|it| *it != 0);
        self.put_replacing(key, entry, expected_revision).await
    }

    /// Extends the expiry of an entry that was read. The revision stays the same, so a concurrent
    /// replacement still succeeds.
    pub async fn extend_vault_entry(&self, key: &VaultKey, entry: &VaultEntry) -> Result<(), StorageError> {
        self.put_replacing(key, entry, Some(entry.revision)).await.map(drop)
    }

    async fn put_replacing(
        &self,
        key: &VaultKey,
        entry: &VaultEntry,
        expected_revision: Option<u64>,
    ) -> Result<bool, StorageError> {
        let mut item = to_item(entry)?;
        item.extend(item_key(key));
        item.insert("sealed".to_owned(), AttributeValue::B(Blob::new(entry.sealed.clone())));
        item.extend(entry.ends_at.map(|it| ("ttl".to_owned(), ttl(it))));
        let put = self.client.put_item().table_name(self.table(Table::Vault)).set_item(Some(item));
        let put = match expected_revision {
            None => put.condition_expression("attribute_not_exists(entry)"),
            Some(revision) => put
                .condition_expression("revision = :before")
                .set_expression_attribute_values(Some(attributes([(":before", n(revision))]))),
        };
        Ok(WriteOutcome::from_write(put.send().await)?.is_applied())
    }
}

fn item_key(key: &VaultKey) -> Item {
    attributes([("entry", s(&key.entry))])
}

#[cfg(test)]
mod tests {
    use domain::testing::noon;

    use super::*;
    use crate::testing::store;

    fn key(name: &str) -> VaultKey {
        VaultKey::platform(name)
    }

    fn entry(revision: u64, sealed: &[u8]) -> VaultEntry {
        VaultEntry { revision, ends_at: None, sealed: sealed.to_vec() }
    }

    #[tokio::test]
    async fn expiring_entry_has_a_ttl() {
        let store = store().await;
        let ending = VaultEntry { ends_at: Some(noon()), ..entry(1, b"one") };
        assert!(store.put_vault_entry(&key("app"), &ending).await.unwrap());
        assert!(store.put_vault_entry(&key("key"), &entry(1, b"one")).await.unwrap());

        assert_eq!(store.vault_entry(&key("app")).await.unwrap(), Some(ending));
        let ttl = async |name: &str| {
            let table = store.table(Table::Vault);
            let found =
                store.client.get_item().table_name(table).set_key(Some(item_key(&key(name)))).send().await.unwrap();
            found.item.unwrap().get("ttl").cloned()
        };
        assert_eq!(ttl("app").await, Some(crate::item::ttl(noon())));
        assert_eq!(ttl("key").await, None);
    }

    #[tokio::test]
    async fn entry_is_replaced_only_if_its_revision_was_read() {
        let store = store().await;
        assert_eq!(store.vault_entry(&key("key")).await.unwrap(), None);
        assert!(store.put_vault_entry(&key("key"), &entry(1, b"one")).await.unwrap());
        assert!(!store.put_vault_entry(&key("key"), &entry(1, b"other")).await.unwrap(), "another writer was faster");
        assert_eq!(store.vault_entry(&key("key")).await.unwrap(), Some(entry(1, b"one")));

        assert!(store.put_vault_entry(&key("key"), &entry(2, b"two")).await.unwrap());
        assert!(!store.put_vault_entry(&key("key"), &entry(2, b"late")).await.unwrap());
        assert_eq!(store.vault_entry(&key("key")).await.unwrap(), Some(entry(2, b"two")));
        assert_eq!(store.vault_entry(&key("another")).await.unwrap(), None);
    }
}
