//! The transaction that writes a post with everything that must change together with it: its
//! deliveries, the counts, the pending marks of its accounts, the charges to budgets, its event, and
//! the response stored under an idempotency key.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::{Delete, Put, TransactWriteItem, Update};
use domain::delivery::Delivery;
use domain::event::Event;
use domain::id::{ConnectionId, ProfileId, TargetId, UserId};
use domain::post::{Post, PostStatus, changes};

use crate::Store;
use crate::deliveries::{AS_READ, delivery_item, delivery_key};
use crate::error::StorageError;
use crate::idempotency::{IdempotentRequest, KEY_IS_FREE, stored_response_item};
use crate::item::{at, attributes, n, s};
use crate::posts::{counts_key, post_item, post_key};
use crate::schema::Table;
use crate::transaction::TransactionOutcome;

/// DynamoDB's limit for one transaction.
const MAX_ACTIONS: usize = 100;

const NOTHING_PUBLISHED: &str = "attribute_not_exists(published)";

#[derive(Debug, Default)]
pub struct PostWrite<'a> {
    /// The post as it was read; `None` for a new post.
    pub before: Option<&'a Post>,
    /// The post to store; `None` to delete it.
    pub after: Option<&'a Post>,
    pub deliveries: Vec<DeliveryWrite<'a>>,
    pub kept: Option<(&'a IdempotentRequest, String)>,
    /// Put into the outbox in the same transaction.
    pub event: Option<&'a Event>,
}

#[derive(Debug)]
pub enum DeliveryWrite<'a> {
    /// Put, unless the stored delivery has an open intent, is published, or has published other
    /// segments than this one knows.
    Put(&'a Delivery),
    /// Remove, unless the delivery has an open intent or has published something.
    Remove(TargetId),
    /// Remove, also if the delivery has published something, unless it was changed since it was read.
    Erase(&'a Delivery),
    /// Remove from the due index: the delivery has ended, and its roll-up is part of this write.
    RolledUp(&'a Delivery),
}

/// All variants except `Done` mean that nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostWritten {
    Done,
    PostChanged,
    /// A delivery has an open intent, has published something, or was changed since it was read.
    DeliveryBusy,
    AccountGone(ConnectionId),
    KeyTaken,
    /// A target costs more than is left of the user's budget.
    OverBudget,
    /// More items would change than one transaction allows.
    TooMany,
}

impl Store {
    pub async fn write_post(
        &self,
        write: &PostWrite<'_>,
        now: chrono::DateTime<chrono::Utc>,
    ) -> Result<PostWritten, StorageError> {
        let actions = self.actions(write, now)?;
        if MAX_ACTIONS < actions.len() {
            return Ok(PostWritten::TooMany);
        }
        let (results, items): (Vec<_>, Vec<_>) = actions.into_iter().unzip();
        Ok(match self.transact(items).await? {
            TransactionOutcome::Done => PostWritten::Done,
            TransactionOutcome::Refused(index) => results[index],
        })
    }

    /// Each write has the result if its condition fails.
    fn actions(
        &self,
        write: &PostWrite<'_>,
        now: chrono::DateTime<chrono::Utc>,
    ) -> Result<Vec<(PostWritten, TransactWriteItem)>, StorageError> {
        let Some(post) = write.after.or(write.before) else { return Ok(Vec::new()) };
        let mut actions = Vec::new();
        actions.push((PostWritten::PostChanged, self.post_action(write.before, write.after)?));
        for (profile, changes) in count_changes(write) {
            actions.push((PostWritten::PostChanged, self.count_action(post.user_id, profile, changes)?));
        }
        for (connection, change) in pending_changes(write) {
            let action = self.pending_action(post.user_id, connection, change)?;
            actions.push((PostWritten::AccountGone(connection), action));
        }
        for (budget, change) in changes(write.before, write.after) {
            actions.push((PostWritten::OverBudget, self.charge_action(post.user_id, &budget, change)?));
        }
        for delivery in &write.deliveries {
            actions.push((PostWritten::DeliveryBusy, self.delivery_action(post, delivery)?));
        }
        if let Some((key, response)) = &write.kept {
            let put = Put::builder()
                .table_name(self.table(Table::Idempotency))
                .set_item(Some(stored_response_item(key.owner, key.route, &key.key, &key.body_hash, response, now)?))
                .condition_expression(KEY_IS_FREE)
                .expression_attribute_names("#key", "key")
                .expression_attribute_values(":now", at(now));
            let put = put.build().map_err(StorageError::build)?;
            actions.push((PostWritten::KeyTaken, TransactWriteItem::builder().put(put).build()));
        }
        if let Some(event) = write.event {
            // This write has no condition, so the result never occurs.
            actions.push((PostWritten::PostChanged, self.outbox_action(event)?));
        }
        Ok(actions)
    }

    fn post_action(&self, before: Option<&Post>, after: Option<&Post>) -> Result<TransactWriteItem, StorageError> {
        let table = self.table(Table::Posts);
        let action = TransactWriteItem::builder();
        Ok(match (before, after) {
            (None, Some(after)) => {
                let put = Put::builder()
                    .table_name(table)
                    .set_item(Some(post_item(after)?))
                    .condition_expression("attribute_not_exists(post_id)");
                action.put(put.build().map_err(StorageError::build)?)
            }
            (Some(before), Some(after)) => {
                let mut item = post_item(after)?;
                item.insert("write_id".to_owned(), n(before.write_id + 1));
                let put = Put::builder()
                    .table_name(table)
                    .set_item(Some(item))
                    .condition_expression("write_id = :write_id")
                    .expression_attribute_values(":write_id", n(before.write_id));
                action.put(put.build().map_err(StorageError::build)?)
            }
            (Some(before), None) => {
                let delete = Delete::builder()
                    .table_name(table)
                    .set_key(Some(post_key(before.user_id, before.post_id)))
                    .condition_expression("write_id = :write_id")
                    .expression_attribute_values(":write_id", n(before.write_id));
                action.delete(delete.build().map_err(StorageError::build)?)
            }
            (None, None) => return Err(StorageError::Request("write without a post".to_owned())),
        }
        .build())
    }

    fn count_action(
        &self,
        user: UserId,
        profile: Option<ProfileId>,
        changes: CountChanges,
    ) -> Result<TransactWriteItem, StorageError> {
        let additions: Vec<_> = changes.keys().map(|it| format!("#{0} :{0}", it.as_str())).collect();
        let mut update = Update::builder()
            .table_name(self.table(Table::Posts))
            .set_key(Some(counts_key(user, profile)))
            .update_expression(format!("ADD #version :one, {}", additions.join(", ")))
            .expression_attribute_names("#version", "version")
            .expression_attribute_values(":one", n(1));
        for (status, change) in changes {
            let name = status.as_str();
            update = update
                .expression_attribute_names(format!("#{name}"), name)
                .expression_attribute_values(format!(":{name}"), n(change));
        }
        let update = update.build().map_err(StorageError::build)?;
        Ok(TransactWriteItem::builder().update(update).build())
    }

    fn pending_action(
        &self,
        user: UserId,
        connection: ConnectionId,
        change: i32,
    ) -> Result<TransactWriteItem, StorageError> {
        let update = Update::builder()
            .table_name(self.table(Table::Connections))
            .set_key(Some(attributes([("user_id", n(user)), ("connection_id", n(connection))])))
            .update_expression("ADD pending :change")
            .condition_expression("attribute_exists(connection_id)")
            .expression_attribute_values(":change", n(change));
        let update = update.build().map_err(StorageError::build)?;
        Ok(TransactWriteItem::builder().update(update).build())
    }

    fn delivery_action(&self, post: &Post, write: &DeliveryWrite<'_>) -> Result<TransactWriteItem, StorageError> {
        let table = self.table(Table::Deliveries);
        let action = TransactWriteItem::builder();
        Ok(match write {
            DeliveryWrite::Put(delivery) => {
                let known = delivery.published.len();
                let no_intent = "attribute_not_exists(intent)";
                let same_segments = if known == 0 { NOTHING_PUBLISHED } else { "size(published) = :known" };
                let put = Put::builder()
                    .table_name(table)
                    .set_item(Some(delivery_item(delivery, self.due_shards)?))
                    .condition_expression(format!(
                        "attribute_not_exists(delivery) OR \
                         ({no_intent} AND #state.#is <> :published AND {same_segments})",
                    ))
                    .expression_attribute_names("#state", "state")
                    .expression_attribute_names("#is", "is")
                    .set_expression_attribute_values(Some(
                        [(":published", s("published")), (":known", n(known))]
                            .into_iter()
                            .filter(|(name, _)| known != 0 || *name != ":known")
                            .map(|(name, value)| (name.to_owned(), value))
                            .collect(),
                    ));
                action.put(put.build().map_err(StorageError::build)?)
            }
            DeliveryWrite::Remove(target) => {
                let delete = Delete::builder()
                    .table_name(table)
                    .set_key(Some(delivery_key(post.user_id, post.post_id, *target)))
                    .condition_expression(format!("attribute_not_exists(intent) AND {NOTHING_PUBLISHED}"));
                action.delete(delete.build().map_err(StorageError::build)?)
            }
            DeliveryWrite::Erase(delivery) => {
                let delete = Delete::builder()
                    .table_name(table)
                    .set_key(Some(delivery_key(delivery.user_id, delivery.post_id, delivery.target_id)))
                    .condition_expression(AS_READ)
                    .expression_attribute_values(":write_id", n(delivery.write_id))
                    .expression_attribute_values(":revision", n(delivery.revision));
                action.delete(delete.build().map_err(StorageError::build)?)
            }
            DeliveryWrite::RolledUp(delivery) => {
                let update = Update::builder()
                    .table_name(table)
                    .set_key(Some(delivery_key(delivery.user_id, delivery.post_id, delivery.target_id)))
                    .update_expression("REMOVE due_at, due_shard")
                    .condition_expression(AS_READ)
                    .expression_attribute_values(":write_id", n(delivery.write_id))
                    .expression_attribute_values(":revision", n(delivery.revision));
                action.update(update.build().map_err(StorageError::build)?)
            }
        }
        .build())
    }
}

type CountChanges = BTreeMap<PostStatus, i64>;

/// The changes of the counts of the user (`None`) and of each profile.
fn count_changes(write: &PostWrite<'_>) -> BTreeMap<Option<ProfileId>, CountChanges> {
    let mut changes: BTreeMap<_, CountChanges> = BTreeMap::new();
    for (post, change) in [(write.before, -1), (write.after, 1)] {
        let Some(post) = post else { continue };
        let profile = post.of_profile.as_ref().map(|it| Some(it.profile_id));
        for holder in [Some(None), profile].into_iter().flatten() {
            *changes.entry(holder).or_default().entry(post.status).or_default() += change;
        }
    }
    for by_status in changes.values_mut() {
        by_status.retain(|_, change| *change != 0);
    }
    changes.retain(|_, by_status| !by_status.is_empty());
    changes
}

fn pending_changes(write: &PostWrite<'_>) -> BTreeMap<ConnectionId, i32> {
    let mut changes = BTreeMap::new();
    for connection in write.before.map(Post::marked).unwrap_or_default() {
        *changes.entry(connection).or_default() -= 1;
    }
    for connection in write.after.map(Post::marked).unwrap_or_default() {
        *changes.entry(connection).or_default() += 1;
    }
    changes.retain(|_, change| *change != 0);
    changes
}

#[cfg(test)]
mod tests;
