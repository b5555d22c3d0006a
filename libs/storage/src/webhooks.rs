//! Webhook endpoints of users, with their encrypted secrets.

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{AttributeValue, Delete, Put, TransactWriteItem, Update};
use chrono::DateTime;
use domain::event::Event;
use domain::id::{UserId, WebhookId};
use domain::owner::Owner;
use domain::sealing::{SealContext, SecretKind};
use domain::webhook::{MAX_ENDPOINTS, ReplacedSecret, WebhookEndpoint, WebhookSecrets};

use crate::Store;
use crate::error::StorageError;
use crate::item::{Item, at, attributes, from_item, n, to_item};
use crate::schema::Table;
use crate::transaction::TransactionOutcome;
use crate::write_outcome::WriteOutcome;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointRecord {
    pub endpoint: WebhookEndpoint,
    /// Sealed for [`webhook_context`].
    pub secrets: WebhookSecrets,
}

impl EndpointRecord {
    pub fn is_visible_to(&self, owner: Owner) -> bool {
        owner.may_see(self.endpoint.of_profile.as_ref())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointAdded {
    Added,
    /// The user has [`MAX_ENDPOINTS`] already, or the id is in use.
    Full,
}

#[derive(Clone, Copy, Debug)]
pub enum CreatedBy<'a> {
    Token(&'a str),
    Anyone,
}

pub fn webhook_context(user: UserId, webhook: WebhookId) -> SealContext {
    SealContext::new(SecretKind::Webhook, format_args!("webhook:{user}:{webhook}"))
}

impl Store {
    /// Oldest first.
    pub async fn webhooks(&self, owner: impl Into<Owner>) -> Result<Vec<EndpointRecord>, StorageError> {
        let owner = owner.into();
        let found = self
            .client
            .query()
            .table_name(self.table(Table::Webhooks))
            .key_condition_expression("user_id = :user AND webhook_id > :count")
            .expression_attribute_values(":user", n(owner.user_id))
            .expression_attribute_values(":count", n(0))
            .consistent_read(true)
            .send()
            .await?;
        // A query returns at most a megabyte, which ten endpoints never reach.
        let found = found.items.unwrap_or_default().into_iter().map(read);
        let is_visible = |it: &Result<EndpointRecord, _>| it.as_ref().map_or(true, |it| it.is_visible_to(owner));
        found.filter(is_visible).collect()
    }

    pub async fn webhook(
        &self,
        owner: impl Into<Owner>,
        id: WebhookId,
    ) -> Result<Option<EndpointRecord>, StorageError> {
        let owner = owner.into();
        let key = key(owner.user_id, id);
        let request = self.client.get_item().table_name(self.table(Table::Webhooks)).set_key(Some(key));
        let found = request.consistent_read(true).send().await?.item.map(read).transpose()?;
        Ok(found.filter(|it| it.is_visible_to(owner)))
    }

    pub async fn add_webhook(&self, record: &EndpointRecord) -> Result<EndpointAdded, StorageError> {
        let table = self.table(Table::Webhooks);
        let user = record.endpoint.user_id;
        let count = Update::builder()
            .table_name(&table)
            .set_key(Some(count_key(user)))
            .update_expression("ADD endpoints :one")
            .condition_expression("attribute_not_exists(endpoints) OR endpoints < :most")
            .expression_attribute_values(":one", n(1))
            .expression_attribute_values(":most", n(MAX_ENDPOINTS));
        let put = Put::builder()
            .table_name(&table)
            .set_item(Some(item(record)?))
            .condition_expression("attribute_not_exists(webhook_id)");
        let count = TransactWriteItem::builder().update(count.build().map_err(StorageError::build)?).build();
        let put = TransactWriteItem::builder().put(put.build().map_err(StorageError::build)?).build();
        Ok(match self.transact(vec![count, put]).await? {
            TransactionOutcome::Done => EndpointAdded::Added,
            TransactionOutcome::Refused(_) => EndpointAdded::Full,
        })
    }

    /// Stores the event of the change with it. [`WriteOutcome::Conflict`] if the endpoint has
    /// changed since it was read.
    pub async fn replace_webhook(
        &self,
        before: &WebhookEndpoint,
        after: &EndpointRecord,
        event: Option<&Event>,
    ) -> Result<WriteOutcome, StorageError> {
        let put = Put::builder()
            .table_name(self.table(Table::Webhooks))
            .set_item(Some(item(after)?))
            .condition_expression("revision = :before")
            .expression_attribute_values(":before", n(before.revision));
        let put = TransactWriteItem::builder().put(put.build().map_err(StorageError::build)?).build();
        let mut writes = vec![put];
        if let Some(event) = event {
            writes.push(self.outbox_action(event)?);
        }
        Ok(self.transact(writes).await?.outcome())
    }

    /// Returns `false` if the owner has no such endpoint.
    pub async fn remove_webhook(&self, owner: impl Into<Owner>, id: WebhookId) -> Result<bool, StorageError> {
        let Owner { user_id: user, limited_to } = owner.into();
        let table = self.table(Table::Webhooks);
        let delete = Delete::builder().table_name(&table).set_key(Some(key(user, id)));
        let delete = match limited_to {
            Some(profile) => delete
                .condition_expression("of_profile.profile_id = :profile")
                .expression_attribute_values(":profile", n(profile)),
            None => delete.condition_expression("attribute_exists(webhook_id)"),
        };
        let count = Update::builder()
            .table_name(&table)
            .set_key(Some(count_key(user)))
            .update_expression("ADD endpoints :less")
            .expression_attribute_values(":less", n(-1));
        let delete = TransactWriteItem::builder().delete(delete.build().map_err(StorageError::build)?).build();
        let count = TransactWriteItem::builder().update(count.build().map_err(StorageError::build)?).build();
        Ok(self.transact(vec![delete, count]).await? == TransactionOutcome::Done)
    }
}

impl Store {
    /// Returns the number of removed endpoints.
    pub async fn remove_webhooks(&self, user: UserId, created_by: CreatedBy<'_>) -> Result<usize, StorageError> {
        let mut removed = 0;
        for EndpointRecord { endpoint, .. } in self.webhooks(user).await? {
            let is_selected = match created_by {
                CreatedBy::Token(hash) => endpoint.created_by.is_some_and(|it| it.token == hash),
                CreatedBy::Anyone => true,
            };
            if is_selected && self.remove_webhook(user, endpoint.webhook_id).await? {
                removed += 1;
            }
        }
        Ok(removed)
    }
}

pub(crate) fn key(user: UserId, id: WebhookId) -> Item {
    attributes([("user_id", n(user)), ("webhook_id", n(id))])
}

/// No endpoint has id 0.
fn count_key(user: UserId) -> Item {
    attributes([("user_id", n(user)), ("webhook_id", n(0))])
}

fn item(record: &EndpointRecord) -> Result<Item, StorageError> {
    let mut item = to_item(&record.endpoint)?;
    let sealed = |bytes: &[u8]| AttributeValue::B(Blob::new(bytes));
    let replaced =
        |it: &ReplacedSecret| AttributeValue::M(attributes([("secret", sealed(&it.sealed)), ("until", at(it.until))]));
    item.insert("secret".to_owned(), sealed(&record.secrets.newest));
    item.insert("replaced".to_owned(), AttributeValue::L(record.secrets.replaced.iter().map(replaced).collect()));
    Ok(item)
}

pub(crate) fn read(mut item: Item) -> Result<EndpointRecord, StorageError> {
    let newest = take_secret(&mut item)?;
    let Some(AttributeValue::L(replaced)) = item.remove("replaced") else { return Err(without_secret()) };
    let replaced = replaced.into_iter().map(read_replaced).collect::<Result<_, _>>()?;
    Ok(EndpointRecord { endpoint: from_item(item)?, secrets: WebhookSecrets { newest, replaced } })
}

fn read_replaced(stored: AttributeValue) -> Result<ReplacedSecret, StorageError> {
    let AttributeValue::M(mut stored) = stored else { return Err(without_secret()) };
    let until = stored.get("until").and_then(|it| DateTime::from_timestamp_millis(it.as_n().ok()?.parse().ok()?));
    Ok(ReplacedSecret { sealed: take_secret(&mut stored)?, until: until.ok_or_else(without_secret)? })
}

fn take_secret(item: &mut Item) -> Result<Vec<u8>, StorageError> {
    match item.remove("secret") {
        Some(AttributeValue::B(bytes)) => Ok(bytes.into_inner()),
        _ => Err(without_secret()),
    }
}

fn without_secret() -> StorageError {
    StorageError::Request("table webhooks: secrets unreadable".to_owned())
}

#[cfg(test)]
mod tests {
    use domain::testing::{a_profile, a_user, an_endpoint, ids, limited_to, noon};
    use domain::webhook::EventKind;

    use super::*;
    use crate::testing::store;

    fn record(endpoint: WebhookEndpoint) -> EndpointRecord {
        EndpointRecord { endpoint, secrets: WebhookSecrets::new(vec![1, 2]) }
    }

    #[tokio::test]
    async fn user_has_at_most_ten_webhooks_and_can_replace_a_removed_one() {
        let store = store().await;
        let first = an_endpoint();
        let ids = ids();
        let mut added = Vec::new();
        for _ in 0..MAX_ENDPOINTS {
            let endpoint = WebhookEndpoint { webhook_id: ids.fresh(), ..first.clone() };
            assert_eq!(store.add_webhook(&record(endpoint.clone())).await.unwrap(), EndpointAdded::Added);
            added.push(endpoint.webhook_id);
        }
        assert_eq!(store.add_webhook(&record(first.clone())).await.unwrap(), EndpointAdded::Full);
        let stored: Vec<_> = store.webhooks(first.user_id).await.unwrap();
        assert_eq!(stored.iter().map(|it| it.endpoint.webhook_id).collect::<Vec<_>>(), added);

        assert!(store.remove_webhook(first.user_id, added[3]).await.unwrap());
        assert!(!store.remove_webhook(first.user_id, added[3]).await.unwrap());
        assert_eq!(store.add_webhook(&record(first.clone())).await.unwrap(), EndpointAdded::Added);
        assert!(store.webhooks(an_endpoint().user_id).await.unwrap().is_empty(), "not visible to other users");
    }

    #[tokio::test]
    async fn one_of_two_changes_is_applied_with_its_event() {
        let store = store().await;
        let before = record(an_endpoint());
        store.add_webhook(&before).await.unwrap();
        let response =
            domain::webhook::EndpointResponse { status: Some(410), ..domain::webhook::EndpointResponse::none("", 0) };
        let gone = before.endpoint.record_response(EventKind::PostPublished, &response, false, noon()).unwrap();
        let event = gone.disabled_event().unwrap();
        let after = EndpointRecord { endpoint: gone, secrets: before.secrets.clone().rotated(vec![3], noon()) };

        assert_eq!(store.replace_webhook(&before.endpoint, &after, Some(&event)).await.unwrap(), WriteOutcome::Applied);
        assert_eq!(store.replace_webhook(&before.endpoint, &after, None).await.unwrap(), WriteOutcome::Conflict);

        let (user, id) = (before.endpoint.user_id, before.endpoint.webhook_id);
        assert_eq!(store.webhook(user, id).await.unwrap(), Some(after));
        let mut left = Vec::new();
        for shard in 0..store.due_shards() {
            left.extend(
                store
                    .due_outbox_events(shard, noon() + chrono::TimeDelta::hours(1), 9)
                    .await
                    .unwrap()
                    .into_iter()
                    .flatten(),
            );
        }
        assert_eq!(left, [event]);
    }

    #[tokio::test]
    async fn limited_owner_finds_and_removes_only_endpoints_of_its_profile() {
        let store = store().await;
        let user = a_user();
        let (profile, other) = (a_profile(&user), a_profile(&user));
        let mut added = Vec::new();
        for of_profile in [None, Some(other.reference()), Some(profile.reference())] {
            let endpoint =
                WebhookEndpoint { user_id: user.user_id, webhook_id: ids().fresh(), of_profile, ..an_endpoint() };
            assert_eq!(store.add_webhook(&record(endpoint.clone())).await.unwrap(), EndpointAdded::Added);
            added.push(endpoint.webhook_id);
        }
        let owner = limited_to(&profile);
        let listed = async |owner: Owner| {
            let found = store.webhooks(owner).await.unwrap();
            found.iter().map(|it| it.endpoint.webhook_id).collect::<Vec<_>>()
        };

        assert_eq!(listed(owner).await, added[2..]);
        for id in &added[..2] {
            assert_eq!(store.webhook(owner, *id).await.unwrap(), None);
            assert!(!store.remove_webhook(owner, *id).await.unwrap());
        }
        assert!(store.webhook(owner, added[2]).await.unwrap().is_some());
        assert!(store.remove_webhook(owner, added[2]).await.unwrap());
        assert_eq!(listed(user.user_id.into()).await, added[..2]);
    }
}
