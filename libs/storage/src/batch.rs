//! Reading many items of several tables in one call.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::KeysAndAttributes;

use crate::Store;
use crate::error::StorageError;
use crate::item::Item;
use crate::schema::Table;

/// DynamoDB's limit for one call.
const MAX_KEYS: usize = 100;

/// DynamoDB may leave keys unread in each call.
const MAX_ROUNDS: usize = 8;

pub(crate) type ItemsByTable = HashMap<Table, Vec<Item>>;

impl Store {
    /// Strongly consistent. Missing items are omitted. No key may occur twice.
    pub(crate) async fn batch_get(&self, keys: Vec<(Table, Item)>) -> Result<ItemsByTable, StorageError> {
        let calls: Vec<_> = keys.chunks(MAX_KEYS).map(|it| self.batch_get_some(it)).collect();
        let mut found = ItemsByTable::new();
        for some in futures::future::try_join_all(calls).await? {
            for (table, items) in some {
                found.entry(table).or_default().extend(items);
            }
        }
        Ok(found)
    }

    async fn batch_get_some(&self, keys: &[(Table, Item)]) -> Result<ItemsByTable, StorageError> {
        let mut by_table: HashMap<Table, Vec<Item>> = HashMap::new();
        for (table, key) in keys {
            by_table.entry(*table).or_default().push(key.clone());
        }
        let names: HashMap<String, Table> = by_table.keys().map(|it| (self.table(*it), *it)).collect();
        let mut wanted = HashMap::new();
        for (table, keys) in by_table {
            let keys = KeysAndAttributes::builder().set_keys(Some(keys)).consistent_read(true);
            wanted.insert(self.table(table), keys.build().map_err(StorageError::build)?);
        }

        let mut found = ItemsByTable::new();
        for _ in 0..MAX_ROUNDS {
            let response = self.client.batch_get_item().set_request_items(Some(wanted)).send().await?;
            for (name, items) in response.responses.unwrap_or_default() {
                if let Some(table) = names.get(&name) {
                    found.entry(*table).or_default().extend(items);
                }
            }
            wanted = response.unprocessed_keys.unwrap_or_default();
            if wanted.is_empty() {
                return Ok(found);
            }
        }
        Err(StorageError::Unavailable("items left unread after several calls".to_owned()))
    }
}
