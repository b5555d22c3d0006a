//! The outbox: events, stored in one transaction with the change that they describe, until they are on
//! the bus.
//!
//! The worker that wrote an event puts it on the bus, and the function webhooks removes it when it has
//! arrived from there. If one of them dies, the tick finds the event in the index `due`.

use aws_sdk_dynamodb::types::{Put, TransactWriteItem};
use chrono::{DateTime, TimeDelta, Utc};
use domain::event::Event;
use domain::id::UserId;
use domain::webhook::EventKind;

use crate::Store;
use crate::error::StorageError;
use crate::item::{Item, at, attributes, n, s};
use crate::schema::Table;

/// Time for an event to reach the bus and to arrive from there, before the tick puts it.
const GRACE: TimeDelta = TimeDelta::seconds(30);

impl Store {
    pub(crate) fn outbox_action(&self, event: &Event) -> Result<TransactWriteItem, StorageError> {
        let (user, id) = (owner(event)?, event.id());
        let occurred_at =
            event.occurred_at().ok_or_else(|| StorageError::Request("event without a time".to_owned()))?;
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

    /// Removing an event twice has no effect.
    pub async fn remove_from_outbox(&self, event: &Event) -> Result<(), StorageError> {
        let key = key(owner(event)?, event.id());
        self.client.delete_item().table_name(self.table(Table::Outbox)).set_key(Some(key)).send().await?;
        Ok(())
    }

    /// Events of one shard that their writers left behind, oldest first, at most `limit`. Single
    /// events may be unreadable.
    pub async fn due_outbox_events(
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
    event.user().ok_or_else(|| StorageError::Request("event without a user".to_owned()))
}

fn key(user: UserId, event: &str) -> Item {
    attributes([("user_id", n(user)), ("event", s(event))])
}

fn read(item: &Item) -> Result<Event, StorageError> {
    let unreadable = || StorageError::Request("table outbox: event unreadable".to_owned());
    let text = |name: &str| item.get(name).and_then(|it| it.as_s().ok()).ok_or_else(unreadable);
    let kind = EventKind::parse(text("kind")?).ok_or_else(unreadable)?;
    Ok(Event { detail_type: kind.as_str(), detail: serde_json::from_str(text("detail")?)? })
}

/// A hash that distributes names over shards; not for any other purpose.
pub(crate) fn spread(name: &str) -> u32 {
    name.bytes().fold(0_u32, |all, it| all.wrapping_mul(31).wrapping_add(it.into()))
}

#[cfg(test)]
mod tests {
    use domain::testing::{a_connection, a_user, noon};

    use super::*;
    use crate::testing::store;

    #[tokio::test]
    async fn event_left_behind_is_found_after_the_grace_period_until_removed() {
        let store = store().await;
        let event = Event::for_connection("connection.created", &a_connection(&a_user()), noon());
        let put = store.outbox_action(&event).unwrap();
        store.client.transact_write_items().transact_items(put).send().await.unwrap();
        let due = async |until| {
            let mut all = Vec::new();
            for shard in 0..store.due_shards() {
                all.extend(store.due_outbox_events(shard, until, 10).await.unwrap().into_iter().map(Result::unwrap));
            }
            all
        };

        assert_eq!(due(noon()).await, [], "its writer may still put it on the bus");
        assert_eq!(due(noon() + GRACE).await, std::slice::from_ref(&event));
        store.remove_from_outbox(&event).await.unwrap();
        assert_eq!(due(noon() + GRACE).await, []);
    }
}
