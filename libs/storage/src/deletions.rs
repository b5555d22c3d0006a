//! That somebody's data was deleted because they asked their platform for it: who holds
//! its code can see that. Nothing of the person is in it.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::error::StorageError;
use crate::item::{Item, attributes, from_item, s, to_item, ttl};
use crate::schema::Table;

/// How long a deletion can be asked about.
const REMEMBERED: TimeDelta = TimeDelta::days(365);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deletion {
    /// The platform's name in the registry.
    pub provider: String,
    /// When it was asked for.
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub at: DateTime<Utc>,
    /// How many accounts were deleted.
    pub deleted: u32,
    /// How many are left until their scheduled posts are gone; nothing can be done with
    /// them any more.
    pub left: u32,
}

impl Store {
    /// Keeps a deletion under the hash of its code.
    pub async fn put_deletion(&self, hash: &str, deletion: &Deletion) -> Result<(), StorageError> {
        let mut item = to_item(deletion)?;
        item.extend(key(hash));
        item.insert("ttl".to_owned(), ttl(deletion.at + REMEMBERED));
        self.client.put_item().table_name(self.table(Table::ConnectFlows)).set_item(Some(item)).send().await?;
        Ok(())
    }

    /// The deletion with this hash of its code.
    pub async fn deletion(&self, hash: &str) -> Result<Option<Deletion>, StorageError> {
        let found = self.client.get_item().table_name(self.table(Table::ConnectFlows)).set_key(Some(key(hash)));
        found.consistent_read(true).send().await?.item.map(from_item).transpose()
    }
}

/// Beside connect flows, which are forgotten in the same way.
fn key(hash: &str) -> Item {
    attributes([("connect_flow", s(format!("deletion#{hash}")))])
}

#[cfg(test)]
mod tests {
    use domain::testing::noon;

    use super::*;
    use crate::testing::store;

    #[tokio::test]
    async fn a_deletion_is_found_by_its_code_alone() {
        let store = store().await;
        let deletion = Deletion { provider: "sandbox".to_owned(), at: noon(), deleted: 2, left: 1 };
        store.put_deletion("hash", &deletion).await.unwrap();

        assert_eq!(store.deletion("hash").await.unwrap(), Some(deletion));
        assert_eq!(store.deletion("another").await.unwrap(), None);
        assert_eq!(store.connect_flow("hash").await.unwrap(), None);
    }
}
