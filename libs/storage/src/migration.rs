//! Whole tables, for a move to another deployment.

use std::collections::HashMap;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use chrono::{DateTime, Utc};
use domain::id::{ConnectionId, UserId, WebhookId};
use domain::sealing::SealContext;

use crate::Store;
use crate::connect_flows::connect_flow_context;
use crate::credentials::{grant_context, own_secret_context};
use crate::error::StorageError;
use crate::item::{Item, number};
use crate::schema::{Table, TableSchema};
use crate::vault::VaultKey;
use crate::webhooks::webhook_context;
use crate::write_retries::WriteRetries;

/// DynamoDB's limit for one call.
const MAX_PUTS: usize = 25;

#[derive(Debug)]
pub struct ItemPage {
    pub items: Vec<Item>,
    /// The start of the next page; `None` at the end of the table.
    pub next: Option<Item>,
}

impl Store {
    /// A page of at most 1 MB, strongly consistent.
    pub async fn item_page(&self, table: Table, start: Option<Item>) -> Result<ItemPage, StorageError> {
        let scan = self.client.scan().table_name(self.table(table)).consistent_read(true);
        let page = scan.set_exclusive_start_key(start).send().await?;
        Ok(ItemPage { items: page.items.unwrap_or_default(), next: page.last_evaluated_key })
    }

    /// A table with data of users; `None` for a deployment that was never used. Rate limits of guests do not count.
    pub async fn table_in_use(&self) -> Result<Option<Table>, StorageError> {
        for schema in Table::ALL.iter().filter(|it| it.table != Table::Limits) {
            let page = self.item_page(schema.table, None).await?;
            if page.items.iter().any(|it| schema.is_data(it)) || page.next.is_some() {
                return Ok(Some(schema.table));
            }
        }
        Ok(None)
    }

    /// Replaces existing items.
    pub async fn put_items(&self, table: Table, items: &[Item]) -> Result<(), StorageError> {
        for chunk in items.chunks(MAX_PUTS) {
            let puts = chunk.iter().map(|item| {
                let put = PutRequest::builder().set_item(Some(item.clone())).build().map_err(StorageError::build)?;
                Ok(WriteRequest::builder().put_request(put).build())
            });
            let puts = puts.collect::<Result<Vec<_>, StorageError>>()?;
            let mut retries = WriteRetries::with_backoff(&self.random);
            let mut unwritten = HashMap::from([(self.table(table), puts)]);
            loop {
                let written = self.client.batch_write_item().set_request_items(Some(unwritten)).send().await?;
                unwritten = written.unprocessed_items.unwrap_or_default();
                if unwritten.is_empty() {
                    break;
                }
                retries.next_attempt().await?;
            }
        }
        Ok(())
    }
}

impl TableSchema {
    pub fn key_of(&self, item: &Item) -> String {
        let keys = [Some(self.hash), self.range].into_iter().flatten();
        let text = |it: &AttributeValue| match it {
            AttributeValue::S(text) | AttributeValue::N(text) => text.clone(),
            other => format!("{other:?}"),
        };
        keys.filter_map(|it| item.get(it.name)).map(text).collect::<Vec<_>>().join("/")
    }

    /// The planner's checkpoint belongs to neither a user nor the deployment.
    pub fn is_data(&self, item: &Item) -> bool {
        self.table != Table::Deliveries || item.contains_key("post_id")
    }

    pub fn has_expired(&self, item: &Item, now: DateTime<Utc>) -> bool {
        let end = self.ttl.and_then(|it| number(item, it)).and_then(|it| i64::try_from(it).ok());
        end.is_some_and(|it| it <= now.timestamp())
    }

    /// All binary values of an item. Their context is `None` if it is unknown, which is an error
    /// unless there are none.
    pub fn sealed_values<'a>(&self, item: &'a mut Item) -> (Option<SealContext>, Vec<&'a mut Blob>) {
        let context = context(self.table, item);
        let mut found = Vec::new();
        for value in item.values_mut() {
            find_binaries(value, &mut found);
        }
        (context, found)
    }
}

fn find_binaries<'a>(value: &'a mut AttributeValue, found: &mut Vec<&'a mut Blob>) {
    match value {
        AttributeValue::B(blob) => found.push(blob),
        AttributeValue::L(values) => values.iter_mut().for_each(|it| find_binaries(it, found)),
        AttributeValue::M(values) => values.values_mut().for_each(|it| find_binaries(it, found)),
        _ => {}
    }
}

/// `None` if the items of the table have no sealed values.
fn context(table: Table, item: &Item) -> Option<SealContext> {
    let text = |name: &str| item.get(name)?.as_s().ok();
    let user = || number(item, "user_id").and_then(UserId::new);
    match table {
        Table::Connections => {
            let connection = number(item, "connection_id").and_then(ConnectionId::new)?;
            Some(own_secret_context(user()?, connection, text("provider")?))
        }
        Table::Credentials => Some(grant_context(user()?, text("grant_name")?)),
        Table::ConnectFlows => Some(connect_flow_context(text("connect_flow")?.strip_prefix("state#")?)),
        Table::Vault => Some(VaultKey::stored(text("entry")?)?.context()),
        Table::Webhooks => Some(webhook_context(user()?, number(item, "webhook_id").and_then(WebhookId::new)?)),
        _ => None,
    }
}
