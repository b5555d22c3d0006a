//! Deliveries, and the `due` index of those whose next step a worker must take.

mod restored;

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure;
use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::{Delivery, DeliveryIds};
use domain::id::{ConnectionId, PostId, ProfileId, TargetId, UserId};
use domain::post::Post;

use crate::Store;
use crate::connections::ConnectionRecord;
use crate::error::StorageError;
use crate::in_flight_calls::{InFlightCalls, LimitSubject, in_flight_calls_key};
use crate::item::{Item, at, attributes, from_item, n, number, s, to_item};
use crate::posts::post_key;
use crate::schema::Table;
use crate::write_outcome::WriteOutcome;
use crate::write_retries::WriteRetries;

/// Condition: the delivery is unchanged since it was read.
///
/// Two random values of `write_id` could be equal. The revision ensures that the delivery of a
/// changed post still fails the condition.
pub(crate) const AS_READ: &str = "write_id = :write_id AND revision = :revision";

#[derive(Debug)]
pub struct LoadedDelivery {
    pub delivery: Delivery,
    /// `None` if the post was deleted.
    pub post: Option<Post>,
    /// `None` if the account was disconnected.
    pub connection: Option<ConnectionRecord>,
    pub in_flight_calls: DeliveryCalls,
}

#[derive(Clone, Debug, Default)]
pub struct DeliveryCalls {
    pub of_user: InFlightCalls,
    /// Empty for a delivery without a profile.
    pub of_profile: InFlightCalls,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueEntry {
    pub ids: DeliveryIds,
    pub revision: u64,
    pub next_step_at: DateTime<Utc>,
    pub due_at: DateTime<Utc>,
}

/// A page of the due index, ordered by `due_at`.
#[derive(Debug, Default)]
pub struct DuePage {
    pub entries: Vec<DueEntry>,
    /// `None` on the last page.
    pub next: Option<DueKey>,
}

#[derive(Clone, Debug)]
pub struct DueKey(Item);

impl Store {
    /// Reads everything in one call; `None` if the delivery does not exist.
    pub async fn load_delivery(&self, ids: DeliveryIds) -> Result<Option<LoadedDelivery>, StorageError> {
        let DeliveryIds { user_id: user, post_id, target_id, connection_id, .. } = ids;
        let connection = attributes([("user_id", n(user)), ("connection_id", n(connection_id))]);
        let mut keys = vec![
            (Table::Deliveries, delivery_key(user, post_id, target_id)),
            (Table::Posts, post_key(user, post_id)),
            (Table::Connections, connection),
        ];
        let calls = CallsKeys::new(ids);
        keys.extend(calls.all());
        let mut found = self.batch_get(keys).await?;
        let in_flight_calls = calls.read(&found.remove(&Table::Limits).unwrap_or_default());
        let mut take = |table| found.remove(&table).and_then(|mut it| it.pop());
        let Some(delivery) = take(Table::Deliveries) else { return Ok(None) };
        Ok(Some(LoadedDelivery {
            delivery: from_item(delivery)?,
            post: take(Table::Posts).map(from_item).transpose()?,
            connection: take(Table::Connections).map(crate::connections::read).transpose()?,
            in_flight_calls,
        }))
    }

    pub async fn delivery_calls(&self, ids: DeliveryIds) -> Result<DeliveryCalls, StorageError> {
        let calls = CallsKeys::new(ids);
        let mut found = self.batch_get(calls.all().collect()).await?;
        Ok(calls.read(&found.remove(&Table::Limits).unwrap_or_default()))
    }

    pub async fn deliveries(&self, user: UserId, post: PostId) -> Result<Vec<Delivery>, StorageError> {
        let found = self
            .client
            .query()
            .table_name(self.table(Table::Deliveries))
            .key_condition_expression("user_id = :user AND begins_with(delivery, :post)")
            .expression_attribute_values(":user", n(user))
            .expression_attribute_values(":post", s(format!("{:016}#", post.get())))
            .consistent_read(true)
            .send()
            .await?;
        // A query returns at most a megabyte, which the thirty deliveries that a post can have
        // never reach.
        found.items.unwrap_or_default().into_iter().map(from_item).collect()
    }

    /// Replaces `before` by `after`. Of concurrent writers that read `before`, at most one gets
    /// [`WriteOutcome::Applied`].
    ///
    /// When a response is lost, the SDK repeats the write. If the first attempt was applied, the
    /// condition of the second fails, but the stored item has the `write_id` of `after`, which
    /// counts as applied.
    pub async fn replace_delivery(&self, before: &Delivery, after: &Delivery) -> Result<WriteOutcome, StorageError> {
        let put = self
            .client
            .put_item()
            .table_name(self.table(Table::Deliveries))
            .set_item(Some(delivery_item(after, self.due_shards)?))
            .condition_expression(AS_READ)
            .expression_attribute_values(":write_id", n(before.write_id))
            .expression_attribute_values(":revision", n(before.revision))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        let mut retries = WriteRetries::with_backoff(&self.random);
        loop {
            return match put.clone().send().await {
                Err(error) if was_already_applied(&error, after) => Ok(WriteOutcome::Applied),
                Err(error) if is_transaction_conflict(&error) && retries.next_attempt().await.is_ok() => continue,
                written => WriteOutcome::from_write(written),
            };
        }
    }

    pub async fn remove_delivery(&self, delivery: &Delivery) -> Result<WriteOutcome, StorageError> {
        let removed = self
            .client
            .delete_item()
            .table_name(self.table(Table::Deliveries))
            .set_key(Some(delivery_key(delivery.user_id, delivery.post_id, delivery.target_id)))
            .condition_expression(AS_READ)
            .expression_attribute_values(":write_id", n(delivery.write_id))
            .expression_attribute_values(":revision", n(delivery.revision))
            .send()
            .await;
        WriteOutcome::from_write(removed)
    }

    /// Entries of one shard of the due index, after `after` up to and including `until`, oldest
    /// first, at most `limit`, starting at `page` or at the beginning.
    pub async fn due_deliveries(
        &self,
        shard: u32,
        (after, until): (DateTime<Utc>, DateTime<Utc>),
        page: Option<DueKey>,
        limit: i32,
    ) -> Result<DuePage, StorageError> {
        let found = self
            .client
            .query()
            .table_name(self.table(Table::Deliveries))
            .index_name("due")
            .key_condition_expression("due_shard = :shard AND due_at BETWEEN :from AND :until")
            .expression_attribute_values(":shard", s(shard_name(shard)))
            // BETWEEN includes both ends, but `after` is excluded. Instants are whole
            // milliseconds.
            .expression_attribute_values(":from", at(after + TimeDelta::milliseconds(1)))
            .expression_attribute_values(":until", at(until))
            .set_exclusive_start_key(page.map(|it| it.0))
            .limit(limit)
            .send()
            .await?;
        let entries = found.items.unwrap_or_default().iter().filter_map(due).collect();
        Ok(DuePage { entries, next: found.last_evaluated_key.map(DueKey) })
    }

    /// `None` before the first tick.
    pub async fn planned_until(&self) -> Result<Option<DateTime<Utc>>, StorageError> {
        let found = self
            .client
            .get_item()
            .table_name(self.table(Table::Deliveries))
            .set_key(Some(plan_key()))
            .consistent_read(true)
            .send()
            .await?;
        Ok(found.item.as_ref().and_then(|it| instant(it, "planned_until")))
    }

    /// Never decreases the stored time.
    pub async fn set_planned_until(&self, until: DateTime<Utc>) -> Result<(), StorageError> {
        let set = self
            .client
            .update_item()
            .table_name(self.table(Table::Deliveries))
            .set_key(Some(plan_key()))
            .update_expression("SET planned_until = :until")
            .condition_expression("attribute_not_exists(planned_until) OR planned_until < :until")
            .expression_attribute_values(":until", at(until))
            .send()
            .await;
        WriteOutcome::from_write(set).map(drop)
    }

    /// Moves an entry of the due index, unless it was moved or its delivery was replaced since it
    /// was read.
    pub async fn move_due(&self, due: &DueEntry, to: DateTime<Utc>) -> Result<WriteOutcome, StorageError> {
        let moved = self
            .client
            .update_item()
            .table_name(self.table(Table::Deliveries))
            .set_key(Some(delivery_key(due.ids.user_id, due.ids.post_id, due.ids.target_id)))
            .update_expression("SET due_at = :to")
            .condition_expression("due_at = :from AND revision = :revision")
            .expression_attribute_values(":to", at(to))
            .expression_attribute_values(":from", at(due.due_at))
            .expression_attribute_values(":revision", n(due.revision))
            .send()
            .await;
        WriteOutcome::from_write(moved)
    }
}

struct CallsKeys {
    of_user: Item,
    of_profile: Option<Item>,
}

impl CallsKeys {
    fn new(DeliveryIds { user_id, profile_id, .. }: DeliveryIds) -> Self {
        let of_profile = profile_id.map(|it| in_flight_calls_key(&LimitSubject::profile(user_id, it)));
        Self { of_user: in_flight_calls_key(&LimitSubject::user(user_id)), of_profile }
    }

    fn all(&self) -> impl Iterator<Item = (Table, Item)> {
        [Some(&self.of_user), self.of_profile.as_ref()].into_iter().flatten().map(|it| (Table::Limits, it.clone()))
    }

    fn read(&self, found: &[Item]) -> DeliveryCalls {
        let read = |key: &Item| {
            let item = found.iter().find(|it| it.get("subject") == key.get("subject"));
            item.map(crate::in_flight_calls::read).unwrap_or_default()
        };
        DeliveryCalls {
            of_user: read(&self.of_user),
            of_profile: self.of_profile.as_ref().map(read).unwrap_or_default(),
        }
    }
}

pub(crate) fn delivery_key(user: UserId, post: PostId, target: TargetId) -> Item {
    attributes([("user_id", n(user)), ("delivery", s(sort_key(post, target)))])
}

pub(crate) fn delivery_item(delivery: &Delivery, due_shards: u32) -> Result<Item, StorageError> {
    let mut item = to_item(delivery)?;
    item.insert("delivery".to_owned(), s(sort_key(delivery.post_id, delivery.target_id)));
    if delivery.due_at.is_some() {
        let shard = delivery.target_id.get() % u64::from(due_shards);
        item.insert("due_shard".to_owned(), s(shard_name(u32::try_from(shard).unwrap_or(0))));
    }
    Ok(item)
}

fn sort_key(post: PostId, target: TargetId) -> String {
    format!("{:016}#{:016}", post.get(), target.get())
}

fn shard_name(shard: u32) -> String {
    format!("due#{shard}")
}

/// User id 0 is never assigned.
fn plan_key() -> Item {
    attributes([("user_id", n(0)), ("delivery", s("plan"))])
}

fn instant(item: &Item, name: &str) -> Option<DateTime<Utc>> {
    DateTime::from_timestamp_millis(i64::try_from(number(item, name)?).ok()?)
}

fn due(entry: &Item) -> Option<DueEntry> {
    let number = |name: &str| number(entry, name);
    let (post, target) = entry.get("delivery")?.as_s().ok()?.split_once('#')?;
    Some(DueEntry {
        ids: DeliveryIds {
            user_id: UserId::new(number("user_id")?)?,
            post_id: PostId::new(post.parse().ok()?)?,
            target_id: TargetId::new(target.parse().ok()?)?,
            connection_id: ConnectionId::new(number("connection_id")?)?,
            profile_id: number("profile_id").and_then(ProfileId::new),
        },
        revision: number("revision")?,
        next_step_at: instant(entry, "next_step_at")?,
        due_at: instant(entry, "due_at")?,
    })
}

fn was_already_applied<R>(error: &SdkError<PutItemError, R>, after: &Delivery) -> bool {
    let Some(PutItemError::ConditionalCheckFailedException(failed)) = error.as_service_error() else { return false };
    let stored = |name: &str| failed.item().and_then(|it| it.get(name));
    stored("write_id") == Some(&n(after.write_id)) && stored("revision") == Some(&n(after.revision))
}

fn is_transaction_conflict<R>(error: &SdkError<PutItemError, R>) -> bool {
    error.as_service_error().is_some_and(PutItemError::is_transaction_conflict_exception)
}

#[cfg(test)]
mod tests;
