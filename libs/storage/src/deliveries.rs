//! Deliveries, and the index of those that somebody must look at.

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure;
use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::Delivery;
use domain::id::{ConnectionId, PostId, TargetId, UserId};
use domain::post::Post;

use crate::Store;
use crate::conflict::RetryPolicy;
use crate::connections::ConnectionRecord;
use crate::error::StorageError;
use crate::in_flight_calls::{InFlightCalls, LimitSubject, in_flight_calls_key};
use crate::item::{Item, at, attributes, from_item, n, s, to_item};
use crate::posts::post_key;
use crate::schema::Table;
use crate::write_outcome::WriteOutcome;

/// The condition that a delivery is as it was read.
///
/// Two write_ids could be equal by chance. With the revision, the delivery of a
/// changed post never passes for the one that was read all the same.
pub(crate) const AS_READ: &str = "write_id = :write_id AND revision = :revision";

/// Everything that taking a step with a delivery has to know.
#[derive(Debug)]
pub struct LoadedDelivery {
    pub delivery: Delivery,
    /// Its post; `None` when it was deleted.
    pub post: Option<Post>,
    /// Its account; `None` when it was disconnected.
    pub connection: Option<ConnectionRecord>,
    /// What is being called for its user.
    pub in_flight_calls: InFlightCalls,
}

/// An entry of the due index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueEntry {
    pub user_id: UserId,
    pub post_id: PostId,
    pub target_id: TargetId,
    /// By which account.
    pub connection_id: ConnectionId,
    pub revision: u64,
    /// When its next step is to be taken.
    pub next_step_at: DateTime<Utc>,
    /// Where it stands in the index.
    pub due_at: DateTime<Utc>,
}

/// A piece of the due index, in order of time.
#[derive(Debug, Default)]
pub struct DuePage {
    /// What stands there.
    pub entries: Vec<DueEntry>,
    /// Where the next piece begins; `None` at the end.
    pub next: Option<DueKey>,
}

/// A place in the due index.
#[derive(Clone, Debug)]
pub struct DueKey(Item);

impl Store {
    /// A delivery with its post, its account and what is being called for its user, in one call; `None` when
    /// there is no such delivery.
    pub async fn load_delivery(
        &self,
        user: UserId,
        post: PostId,
        target: TargetId,
        connection: ConnectionId,
    ) -> Result<Option<LoadedDelivery>, StorageError> {
        let connection = attributes([("user_id", n(user)), ("connection_id", n(connection))]);
        let keys = vec![
            (Table::Deliveries, delivery_key(user, post, target)),
            (Table::Posts, post_key(user, post)),
            (Table::Connections, connection),
            (Table::Limits, in_flight_calls_key(&LimitSubject::user(user))),
        ];
        let mut found = self.batch_get(keys).await?;
        let mut take = |table| found.remove(&table).and_then(|mut it| it.pop());
        let Some(delivery) = take(Table::Deliveries) else { return Ok(None) };
        Ok(Some(LoadedDelivery {
            delivery: from_item(delivery)?,
            post: take(Table::Posts).map(from_item).transpose()?,
            connection: take(Table::Connections).map(crate::connections::read).transpose()?,
            in_flight_calls: take(Table::Limits).as_ref().map(crate::in_flight_calls::read).unwrap_or_default(),
        }))
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
        // A query is cut at a megabyte, which the thirty deliveries that a post
        // can have never reach.
        found.items.unwrap_or_default().into_iter().map(from_item).collect()
    }

    /// Writes a delivery over the one that was read. Of any number of callers
    /// with the same reading, at most one gets [`WriteOutcome::Applied`].
    ///
    /// The SDK sends a write again when it hears no answer. If the first attempt
    /// was written all the same, the condition of the second does not hold. The
    /// item in its way then has the write_id of `after`, and the race is won.
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
        let mut patience = RetryPolicy::default();
        loop {
            return match put.clone().send().await {
                Err(error) if is_our_own(&error, after) => Ok(WriteOutcome::Applied),
                Err(error) if meets_a_transaction(&error) && patience.wait().await => continue,
                written => WriteOutcome::from_write(written),
            };
        }
    }

    /// Removes a delivery whose post does not know it any more.
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

    /// What stands in one shard of the due index after `after` and no later
    /// than `until`, the oldest first; from the beginning or from `page` on, at
    /// most `limit`.
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
            // BETWEEN includes both ends, and `after` is not asked for: instants
            // are whole milliseconds, so the next one is a millisecond later.
            .expression_attribute_values(":from", at(after + TimeDelta::milliseconds(1)))
            .expression_attribute_values(":until", at(until))
            .set_exclusive_start_key(page.map(|it| it.0))
            .limit(limit)
            .send()
            .await?;
        let entries = found.items.unwrap_or_default().iter().filter_map(due).collect();
        Ok(DuePage { entries, next: found.last_evaluated_key.map(DueKey) })
    }

    /// Until when everything was put on the queue; `None` before the first tick.
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

    /// Notes that everything until then is on the queue. When a later time was
    /// noted before, nothing changes.
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

    /// Moves an entry of the due index, unless it has moved or its delivery
    /// was replaced since it was read.
    pub async fn move_due(&self, due: &DueEntry, to: DateTime<Utc>) -> Result<WriteOutcome, StorageError> {
        let moved = self
            .client
            .update_item()
            .table_name(self.table(Table::Deliveries))
            .set_key(Some(delivery_key(due.user_id, due.post_id, due.target_id)))
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

pub(crate) fn delivery_key(user: UserId, post: PostId, target: TargetId) -> Item {
    attributes([("user_id", n(user)), ("delivery", s(sort_key(post, target)))])
}

/// A delivery with its key and the attributes of the due index.
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

/// Where it is kept how far planning got: beside the deliveries, under the user
/// 0, which nobody is.
fn plan_key() -> Item {
    attributes([("user_id", n(0)), ("delivery", s("plan"))])
}

fn number(item: &Item, name: &str) -> Option<u64> {
    item.get(name)?.as_n().ok()?.parse().ok()
}

fn instant(item: &Item, name: &str) -> Option<DateTime<Utc>> {
    DateTime::from_timestamp_millis(i64::try_from(number(item, name)?).ok()?)
}

fn due(entry: &Item) -> Option<DueEntry> {
    let number = |name: &str| number(entry, name);
    let (post, target) = entry.get("delivery")?.as_s().ok()?.split_once('#')?;
    Some(DueEntry {
        user_id: UserId::new(number("user_id")?)?,
        post_id: PostId::new(post.parse().ok()?)?,
        target_id: TargetId::new(target.parse().ok()?)?,
        connection_id: ConnectionId::new(number("connection_id")?)?,
        revision: number("revision")?,
        next_step_at: instant(entry, "next_step_at")?,
        due_at: instant(entry, "due_at")?,
    })
}

/// Whether a write failed because an earlier attempt of the same write is there.
fn is_our_own<R>(error: &SdkError<PutItemError, R>, after: &Delivery) -> bool {
    let Some(PutItemError::ConditionalCheckFailedException(failed)) = error.as_service_error() else { return false };
    let there = |name: &str| failed.item().and_then(|it| it.get(name));
    there("write_id") == Some(&n(after.write_id)) && there("revision") == Some(&n(after.revision))
}

fn meets_a_transaction<R>(error: &SdkError<PutItemError, R>) -> bool {
    error.as_service_error().is_some_and(PutItemError::is_transaction_conflict_exception)
}

#[cfg(test)]
mod tests;
