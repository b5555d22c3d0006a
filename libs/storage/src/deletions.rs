//! Confirmations of data deletions that a person requested at their platform. Anyone with the code
//! can read the confirmation; it contains no personal data.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::error::StorageError;
use crate::item::{Item, attributes, from_item, s, to_item, ttl};
use crate::schema::Table;

const REMEMBERED: TimeDelta = TimeDelta::days(365);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deletion {
    pub provider: String,
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub at: DateTime<Utc>,
    pub deleted: u32,
    /// Number of accounts that remain until their scheduled posts are gone. They are unusable.
    pub left: u32,
}

impl Store {
    pub async fn put_deletion(&self, hash: &str, deletion: &Deletion) -> Result<(), StorageError> {
        let mut item = to_item(deletion)?;
        item.extend(key(hash));
        item.insert("ttl".to_owned(), ttl(deletion.at + REMEMBERED));
        self.client.put_item().table_name(self.table(Table::ConnectFlows)).set_item(Some(item)).send().await?;
        Ok(())
    }

    pub async fn deletion(&self, hash: &str) -> Result<Option<Deletion>, StorageError> {
        let found = self.client.get_item().table_name(self.table(Table::ConnectFlows)).set_key(Some(key(hash)));
        found.consistent_read(true).send().await?.item.map(from_item).transpose()
    }
}

/// In the table of connect flows, which expire in the same way.
fn key(hash: &str) -> Item {
    attributes([("connect_flow", s(format!("deletion#{hash}")))])
}

#[cfg(test)]
mod tests {
    use domain::testing::noon;

    use super::*;
    use crate::testing::store;

    #[tokio::test]
    async fn deletion_is_found_by_its_code_only() {
        let store = store().await;
        let deletion = Deletion { provider: "sandbox".to_owned(), at: noon(), deleted: 2, left: 1 };
        store.put_deletion("hash", &deletion).await.unwrap();

        assert_eq!(store.deletion("hash").await.unwrap(), Some(deletion));
        assert_eq!(store.deletion("another").await.unwrap(), None);
        assert_eq!(store.connect_flow("hash").await.unwrap(), None);
    }
}
