//! The outbox: events that were written together with what they tell of, until
//! they are on the bus.
//!
//! Whoever wrote one puts it on the bus and takes it out. Whoever dies in between
//! leaves it to the tick, which finds it by the index `due`.

use aws_sdk_dynamodb::types::{Put, TransactWriteItem};
use chrono::{DateTime, TimeDelta, Utc};
use domain::event::Event;
use domain::id::UserId;
use domain::webhook::EventKind;

use crate::Store;
use crate::error::StorageError;
use crate::item::{Item, at, attributes, n, s};
use crate::schema::Table;

/// How long the writer of an event has to put it on the bus.
const GRACE: TimeDelta = TimeDelta::seconds(30);

impl Store {
    /// The part of a transaction that keeps an event.
    pub(crate) fn outbox_put(&self, event: &Event) -> Result<TransactWriteItem, StorageError> {
        let (user, id) = (owner(event)?, event.id());
        let occurred_at = event.occurred_at().ok_or_else(|| StorageError::Request("an event of no time".to_owned()))?;
        let shard = spread(id) % self.due_shards;
        let mut item = key(user, id);
        item.extend(attributes([
            ("kind", s(event.detail_type)),
            ("detail", s(event.detail.to_string())),
            ("due_shard", s(format!("due#{shard}"))),
            ("due_at", at(occurred_at + GRACE)),
        ]));
        let put = Put::builder().table_name(self.table(Table::Outbox)).set_item(Some(item));
        Ok(TransactWriteItem::builder().put(put.build().map_err(StorageError::build)?).build())
    }

    /// Takes out an event that is on the bus.
    pub async fn outbox_done(&self, event: &Event) -> Result<(), StorageError> {
        let key = key(owner(event)?, event.id());
        self.client.delete_item().table_name(self.table(Table::Outbox)).set_key(Some(key)).send().await?;
        Ok(())
    }

    /// Events of one shard that their writers have left behind by then, the oldest
    /// first, at most `limit`; each alone may be unreadable.
    pub async fn outbox_due(
        &self,
        shard: u32,
        until: DateTime<Utc>,
        limit: i32,
    ) -> Result<Vec<Result<Event, StorageError>>, StorageError> {
        let found = self
            .client
            .query()
            .table_name(self.table(Table::Outbox))
            .index_name("due")
            .key_condition_expression("due_shard = :shard AND due_at <= :until")
            .expression_attribute_values(":shard", s(format!("due#{shard}")))
            .expression_attribute_values(":until", at(until))
            .limit(limit)
            .send()
            .await?;
        Ok(found.items.unwrap_or_default().iter().map(read).collect())
    }
}

fn owner(event: &Event) -> Result<UserId, StorageError> {
    event.user().ok_or_else(|| StorageError::Request("an event of nobody".to_owned()))
}

fn key(user: UserId, event: &str) -> Item {
    attributes([("user_id", n(user)), ("event", s(event))])
}

fn read(item: &Item) -> Result<Event, StorageError> {
    let unreadable = || StorageError::Request("an event in the outbox is unreadable".to_owned());
    let text = |name: &str| item.get(name).and_then(|it| it.as_s().ok()).ok_or_else(unreadable);
    let kind = EventKind::parse(text("kind")?).ok_or_else(unreadable)?;
    Ok(Event { detail_type: kind.as_str(), detail: serde_json::from_str(text("detail")?)? })
}

/// Spreads names over shards; nothing more is asked of it.
pub(crate) fn spread(name: &str) -> u32 {
    name.bytes().fold(0_u32, |all, it| all.wrapping_mul(31).wrapping_add(it.into()))
}

#[cfg(test)]
mod tests {
    use domain::testing::{a_connection, a_user, noon};

    use super::*;
    use crate::testing::store;

    #[tokio::test]
    async fn what_is_left_behind_is_found_after_a_while_and_until_it_is_taken_out() {
        let store = store().await;
        let event = Event::of_connection("connection.created", &a_connection(&a_user()), noon());
        let put = store.outbox_put(&event).unwrap();
        store.client.transact_write_items().transact_items(put).send().await.unwrap();
        let due = async |until| {
            let mut all = Vec::new();
            for shard in 0..store.due_shards() {
                all.extend(store.outbox_due(shard, until, 10).await.unwrap().into_iter().map(Result::unwrap));
            }
            all
        };

        assert_eq!(due(noon()).await, [], "its writer is about to put it on the bus");
        assert_eq!(due(noon() + GRACE).await, std::slice::from_ref(&event));
        store.outbox_done(&event).await.unwrap();
        assert_eq!(due(noon() + GRACE).await, []);
    }
}
