//! Webhook deliveries: events on their way to endpoints, and the `due` index of those whose next attempt
//! a worker must make.

use aws_sdk_dynamodb::types::Select;
use chrono::{DateTime, Utc};
use domain::id::{UserId, WebhookId};
use domain::webhook::{KEPT_FOR, MessageId, WebhookDelivery, WebhookDeliveryId, WebhookDeliveryStatus};

use crate::Store;
use crate::error::StorageError;
use crate::in_flight_calls::{self, InFlightCalls, LimitSubject, in_flight_calls_key};
use crate::item::{Item, at, attributes, from_item, n, s, to_item, ttl};
use crate::outbox::spread;
use crate::schema::Table;
use crate::webhooks::{self, EndpointRecord};
use crate::write_outcome::WriteOutcome;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueWebhookDelivery {
    pub name: WebhookDeliveryId,
    pub next_step_at: DateTime<Utc>,
    due_at: DateTime<Utc>,
}

#[derive(Debug)]
pub struct WebhookTickWork {
    /// `None` if the delivery was removed.
    pub delivery: Option<WebhookDelivery>,
    /// `None` if the endpoint was deleted.
    pub endpoint: Option<EndpointRecord>,
    pub in_flight_for_user: InFlightCalls,
    /// The in-flight call to its endpoint, if calls to it timed out, and the number of consecutive
    /// timeouts.
    pub in_flight_to_endpoint: InFlightCalls,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookDeliveryCursor {
    pub created_at: DateTime<Utc>,
    pub message_id: MessageId,
}

impl Store {
    /// [`WriteOutcome::Conflict`] if the endpoint has a delivery of this event already.
    pub async fn add_webhook_delivery(&self, delivery: &WebhookDelivery) -> Result<WriteOutcome, StorageError> {
        let put = self
            .client
            .put_item()
            .table_name(self.table(Table::WebhookDeliveries))
            .set_item(Some(self.webhook_delivery_item(delivery)?))
            .condition_expression("attribute_not_exists(notice)")
            .send()
            .await;
        WriteOutcome::from_write(put)
    }

    pub async fn webhook_delivery_and_endpoint(
        &self,
        name: &WebhookDeliveryId,
    ) -> Result<(Option<WebhookDelivery>, Option<EndpointRecord>), StorageError> {
        let endpoint = webhooks::key(name.user_id, name.webhook_id);
        let mut found =
            self.batch_get(vec![(Table::WebhookDeliveries, key(name)), (Table::Webhooks, endpoint)]).await?;
        let mut take = |table| found.remove(&table).and_then(|mut it| it.pop());
        let delivery = take(Table::WebhookDeliveries).map(from_item).transpose()?;
        Ok((delivery, take(Table::Webhooks).map(webhooks::read).transpose()?))
    }

    pub async fn load_webhook_delivery(&self, name: &WebhookDeliveryId) -> Result<WebhookTickWork, StorageError> {
        let (user, webhook) = (name.user_id, name.webhook_id);
        let of_user = in_flight_calls_key(&LimitSubject::user_endpoints(user));
        let of_endpoint = in_flight_calls_key(&LimitSubject::endpoint(user, webhook));
        let keys = vec![
            (Table::WebhookDeliveries, key(name)),
            (Table::Webhooks, webhooks::key(user, webhook)),
            (Table::Limits, of_user.clone()),
            (Table::Limits, of_endpoint.clone()),
        ];
        let mut found = self.batch_get(keys).await?;
        let limits = found.remove(&Table::Limits).unwrap_or_default();
        let in_flight = |key: &Item| {
            let item = limits.iter().find(|it| it.get("subject") == key.get("subject"));
            item.map(in_flight_calls::read).unwrap_or_default()
        };
        let mut take = |table| found.remove(&table).and_then(|mut it| it.pop());
        Ok(WebhookTickWork {
            delivery: take(Table::WebhookDeliveries).map(from_item).transpose()?,
            endpoint: take(Table::Webhooks).map(webhooks::read).transpose()?,
            in_flight_for_user: in_flight(&of_user),
            in_flight_to_endpoint: in_flight(&of_endpoint),
        })
    }

    /// The waiting deliveries of an endpoint beyond the newest `most`, newest first, at most
    /// `limit`, from an index that may lag behind.
    pub async fn surplus_webhook_deliveries(
        &self,
        user: UserId,
        webhook: WebhookId,
        max_waiting: u32,
        limit: u32,
    ) -> Result<Vec<WebhookDeliveryId>, StorageError> {
        let waiting = || {
            self.client
                .query()
                .table_name(self.table(Table::WebhookDeliveries))
                .index_name("waiting")
                .key_condition_expression("waits_for = :endpoint")
                .expression_attribute_values(":endpoint", s(endpoint_name(user, webhook)))
                .scan_index_forward(false)
        };
        let (mut start, mut left) = (None, max_waiting);
        // A page has at most a megabyte.
        while 0 < left {
            let page = waiting().select(Select::Count).set_exclusive_start_key(start);
            let page = page.limit(i32::try_from(left).unwrap_or(i32::MAX)).send().await?;
            left = left.saturating_sub(u32::try_from(page.count).unwrap_or(0));
            start = page.last_evaluated_key;
            if start.is_none() {
                return Ok(Vec::new());
            }
        }
        let limit = i32::try_from(limit).unwrap_or(i32::MAX);
        let surplus = waiting().set_exclusive_start_key(start).limit(limit).send().await?;
        Ok(surplus.items.unwrap_or_default().iter().filter_map(parse_id).collect())
    }

    /// [`WriteOutcome::Conflict`] if the delivery has changed since it was read.
    pub async fn replace_webhook_delivery(
        &self,
        before: &WebhookDelivery,
        after: &WebhookDelivery,
    ) -> Result<WriteOutcome, StorageError> {
        let put = self
            .client
            .put_item()
            .table_name(self.table(Table::WebhookDeliveries))
            .set_item(Some(self.webhook_delivery_item(after)?))
            .condition_expression("write_id = :write_id")
            .expression_attribute_values(":write_id", n(before.write_id))
            .send()
            .await;
        WriteOutcome::from_write(put)
    }

    /// Removes a delivery whose endpoint was deleted.
    pub async fn remove_webhook_delivery(&self, name: &WebhookDeliveryId) -> Result<(), StorageError> {
        self.client
            .delete_item()
            .table_name(self.table(Table::WebhookDeliveries))
            .set_key(Some(key(name)))
            .send()
            .await?;
        Ok(())
    }

    /// The deliveries of an endpoint after the cursor `from`, newest first, at most `limit`; and the
    /// cursor of the next page.
    pub async fn webhook_deliveries(
        &self,
        user: UserId,
        webhook: WebhookId,
        from: Option<&WebhookDeliveryCursor>,
        limit: u32,
    ) -> Result<(Vec<WebhookDelivery>, Option<WebhookDeliveryCursor>), StorageError> {
        let endpoint = endpoint_name(user, webhook);
        let start = from.map(|it| {
            let name = WebhookDeliveryId { user_id: user, webhook_id: webhook, message_id: it.message_id.clone() };
            let mut start = key(&name);
            start.extend(attributes([("endpoint", s(&endpoint)), ("created_at", at(it.created_at))]));
            start
        });
        let found = self
            .client
            .query()
            .table_name(self.table(Table::WebhookDeliveries))
            .index_name("by_endpoint")
            .key_condition_expression("#endpoint = :endpoint")
            .expression_attribute_names("#endpoint", "endpoint")
            .expression_attribute_values(":endpoint", s(endpoint))
            .scan_index_forward(false)
            .set_exclusive_start_key(start)
            .limit(i32::try_from(limit).unwrap_or(i32::MAX))
            .send()
            .await?;
        let next = found.last_evaluated_key.as_ref().and_then(parse_cursor);
        let names = found.items.unwrap_or_default();
        let keys = names.iter().filter_map(|it| Some((Table::WebhookDeliveries, key(&parse_id(it)?)))).collect();
        let found = self.batch_get(keys).await?.remove(&Table::WebhookDeliveries).unwrap_or_default();
        let mut deliveries: Vec<WebhookDelivery> = found.into_iter().map(from_item).collect::<Result<_, _>>()?;
        deliveries.sort_by(|one, other| (other.created_at, &other.message.id).cmp(&(one.created_at, &one.message.id)));
        Ok((deliveries, next))
    }

    /// Up to and including `until`, oldest first, at most `limit`.
    pub async fn due_webhook_deliveries(
        &self,
        shard: u32,
        until: DateTime<Utc>,
        limit: i32,
    ) -> Result<Vec<DueWebhookDelivery>, StorageError> {
        let found = self
            .client
            .query()
            .table_name(self.table(Table::WebhookDeliveries))
            .index_name("due")
            .key_condition_expression("due_shard = :shard AND due_at <= :until")
            .expression_attribute_values(":shard", s(format!("due#{shard}")))
            .expression_attribute_values(":until", at(until))
            .limit(limit)
            .send()
            .await?;
        Ok(found.items.unwrap_or_default().iter().filter_map(due).collect())
    }

    /// Moves an entry of the due index, unless it was moved since it was read.
    pub async fn move_due_webhook_delivery(
        &self,
        due: &DueWebhookDelivery,
        to: DateTime<Utc>,
    ) -> Result<WriteOutcome, StorageError> {
        let moved = self
            .client
            .update_item()
            .table_name(self.table(Table::WebhookDeliveries))
            .set_key(Some(key(&due.name)))
            .update_expression("SET due_at = :to")
            .condition_expression("due_at = :from")
            .expression_attribute_values(":to", at(to))
            .expression_attribute_values(":from", at(due.due_at))
            .send()
            .await;
        WriteOutcome::from_write(moved)
    }

    fn webhook_delivery_item(&self, delivery: &WebhookDelivery) -> Result<Item, StorageError> {
        let name = delivery.name();
        let mut item = to_item(delivery)?;
        item.extend(key(&name));
        item.insert("endpoint".to_owned(), s(endpoint_name(name.user_id, name.webhook_id)));
        item.insert("ttl".to_owned(), ttl(delivery.created_at + KEPT_FOR));
        if delivery.state == WebhookDeliveryStatus::Waiting {
            item.insert("waits_for".to_owned(), s(endpoint_name(name.user_id, name.webhook_id)));
        }
        if delivery.due_at.is_some() {
            let shard = spread(delivery.message.id.as_str()) % self.due_shards;
            item.insert("due_shard".to_owned(), s(format!("due#{shard}")));
        }
        Ok(item)
    }
}

fn key(name: &WebhookDeliveryId) -> Item {
    let sort = format!("{:016}#{}", name.webhook_id.get(), name.message_id);
    attributes([("user_id", n(name.user_id)), ("notice", s(sort))])
}

fn endpoint_name(user: UserId, webhook: WebhookId) -> String {
    format!("{user}#{webhook}")
}

fn parse_id(entry: &Item) -> Option<WebhookDeliveryId> {
    let user_id = entry.get("user_id")?.as_n().ok()?.parse().ok()?;
    let (webhook, message) = entry.get("notice")?.as_s().ok()?.split_once('#')?;
    Some(WebhookDeliveryId {
        user_id: UserId::new(user_id)?,
        webhook_id: WebhookId::new(webhook.parse().ok()?)?,
        message_id: MessageId::parse(message)?,
    })
}

fn instant(entry: &Item, name: &str) -> Option<DateTime<Utc>> {
    DateTime::from_timestamp_millis(entry.get(name)?.as_n().ok()?.parse().ok()?)
}

fn parse_cursor(entry: &Item) -> Option<WebhookDeliveryCursor> {
    Some(WebhookDeliveryCursor { created_at: instant(entry, "created_at")?, message_id: parse_id(entry)?.message_id })
}

fn due(entry: &Item) -> Option<DueWebhookDelivery> {
    Some(DueWebhookDelivery {
        name: parse_id(entry)?,
        next_step_at: instant(entry, "next_step_at")?,
        due_at: instant(entry, "due_at")?,
    })
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use domain::schedule::show;
    use domain::testing::{a_webhook_delivery, noon};
    use domain::webhook::{EndpointResponse, WebhookMessage};
    use serde_json::json;

    use super::*;
    use crate::testing::store;

    fn another(delivery: &WebhookDelivery, number: i64) -> WebhookDelivery {
        let detail = json!({ "id": format!("post.published:{number}:1"), "occurred_at": show(noon()) });
        let message = WebhookMessage::from_event(delivery.message.kind, delivery.webhook_id, &detail).unwrap();
        WebhookDelivery::new(delivery.user_id, delivery.webhook_id, message, noon() + TimeDelta::seconds(number / 2))
    }

    async fn due(store: &Store, until: DateTime<Utc>) -> Vec<DueWebhookDelivery> {
        let mut all = Vec::new();
        for shard in 0..store.due_shards() {
            all.extend(store.due_webhook_deliveries(shard, until, 100).await.unwrap());
        }
        all
    }

    #[tokio::test]
    async fn endpoint_has_one_delivery_per_event() {
        let store = store().await;
        let delivery = a_webhook_delivery();
        assert_eq!(store.add_webhook_delivery(&delivery).await.unwrap(), WriteOutcome::Applied);
        assert_eq!(store.add_webhook_delivery(&delivery).await.unwrap(), WriteOutcome::Conflict);
        let name = delivery.name();
        assert_eq!(store.webhook_delivery_and_endpoint(&name).await.unwrap(), (Some(delivery), None));
        store.remove_webhook_delivery(&name).await.unwrap();
        assert_eq!(store.webhook_delivery_and_endpoint(&name).await.unwrap(), (None, None));
    }

    #[tokio::test]
    async fn one_of_two_workers_gets_the_lease_and_ended_is_not_due() {
        let store = store().await;
        let delivery = a_webhook_delivery();
        store.add_webhook_delivery(&delivery).await.unwrap();
        assert_eq!(due(&store, noon()).await, []);
        let found = due(&store, noon() + TimeDelta::hours(1)).await;
        assert_eq!(found.iter().map(|it| it.name.clone()).collect::<Vec<_>>(), [delivery.name()]);

        let leased = delivery.lease(noon() + TimeDelta::seconds(1));
        assert_eq!(store.replace_webhook_delivery(&delivery, &leased).await.unwrap(), WriteOutcome::Applied);
        assert_eq!(store.replace_webhook_delivery(&delivery, &leased).await.unwrap(), WriteOutcome::Conflict);
        assert_eq!(
            store.move_due_webhook_delivery(&found[0], noon()).await.unwrap(),
            WriteOutcome::Conflict,
            "the entry has moved"
        );
        let response = EndpointResponse { status: Some(204), ..EndpointResponse::none("", 0) };
        let ended = leased.record_response(&response, noon(), noon(), 0);
        assert_eq!(store.replace_webhook_delivery(&leased, &ended).await.unwrap(), WriteOutcome::Applied);
        assert_eq!(due(&store, noon() + TimeDelta::days(9)).await, []);
    }

    #[tokio::test]
    async fn waiting_deliveries_beyond_the_newest_are_surplus() {
        let store = store().await;
        let first = a_webhook_delivery();
        // Ties of time are among the newest.
        for number in 0..9 {
            store.add_webhook_delivery(&another(&first, number)).await.unwrap();
        }
        store.add_webhook_delivery(&a_webhook_delivery()).await.unwrap();
        let (user, webhook) = (first.user_id, first.webhook_id);
        let surplus = async |most, limit| store.surplus_webhook_deliveries(user, webhook, most, limit).await.unwrap();
        assert_eq!((surplus(9, 50).await, surplus(10, 50).await), (vec![], vec![]));

        let oldest = another(&first, 0);
        assert_eq!(surplus(7, 50).await.len(), 2);
        assert_eq!(surplus(7, 1).await.len(), 1);
        store.replace_webhook_delivery(&oldest, &oldest.fail()).await.unwrap();
        let left = surplus(7, 50).await;
        assert_eq!(left, [another(&first, 1).name()], "ended deliveries are not counted");
    }

    #[tokio::test]
    async fn attempt_reads_in_flight_calls_of_user_and_endpoint() {
        let store = store().await;
        let delivery = a_webhook_delivery();
        store.add_webhook_delivery(&delivery).await.unwrap();
        let (of_user, name) = (LimitSubject::user_endpoints(delivery.user_id), delivery.name());
        store.record_permit(&of_user, "one", noon(), 1).await.unwrap();
        store.record_slow_call(&LimitSubject::endpoint(delivery.user_id, delivery.webhook_id), noon()).await.unwrap();

        let loaded = store.load_webhook_delivery(&name).await.unwrap();

        assert_eq!((loaded.delivery, loaded.endpoint), (Some(delivery), None));
        assert_eq!((loaded.in_flight_for_user.others("me", noon()), loaded.in_flight_for_user.slow_calls), (1, 0));
        assert_eq!(
            (loaded.in_flight_to_endpoint.others("me", noon()), loaded.in_flight_to_endpoint.slow_calls),
            (0, 1)
        );
    }

    #[tokio::test]
    async fn deliveries_are_listed_newest_first_in_consecutive_pages() {
        let store = store().await;
        let first = a_webhook_delivery();
        let all: Vec<_> = (0..7).map(|it| another(&first, it)).collect();
        for delivery in all.iter().chain([&a_webhook_delivery()]) {
            store.add_webhook_delivery(delivery).await.unwrap();
        }
        let (mut listed, mut from) = (Vec::new(), None);
        loop {
            let (page, next) =
                store.webhook_deliveries(first.user_id, first.webhook_id, from.as_ref(), 3).await.unwrap();
            assert!(page.windows(2).all(|it| it[1].created_at <= it[0].created_at));
            listed.extend(page);
            from = next;
            if from.is_none() {
                break;
            }
        }
        listed.sort_by_key(|it| (it.created_at, it.message.id.clone()));
        let mut expected = all;
        expected.sort_by_key(|it| (it.created_at, it.message.id.clone()));
        assert_eq!(listed, expected);
    }
}
