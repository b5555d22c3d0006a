//! Connected accounts, with their sealed credentials beside them.
//!
//! That an account is connected once per user is kept by a marker in the
//! hand-offs table (`account#user#platform#account id`), written and deleted in
//! the same transaction as the connection.

mod change;
mod refresh;
#[cfg(test)]
mod tests;

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{AttributeValue, Delete, Put, TransactWriteItem, Update};
use chrono::{DateTime, Utc};
use domain::connection::Connection;
use domain::id::{ConnectionId, UserId};

use crate::Store;
use crate::conflict::Patience;
use crate::error::StorageError;
use crate::handoffs;
use crate::item::{Item, at, attributes, from_item, n, s, to_item};
use crate::schema::Table;
pub use change::REFRESH_SHARDS;
use change::{Change, shard};
pub use refresh::{RefreshClaim, RefreshKey, RefreshPage, Refreshed};

/// A connection and what it takes to act for it.
#[derive(Clone, Debug)]
pub struct ConnectionRecord {
    /// The account.
    pub connection: Connection,
    /// Sealed for [`credentials_context`].
    pub credentials: Vec<u8>,
}

/// How a hand-off's account was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connected {
    /// A connection that was not there.
    New,
    /// The connection of this account was given new credentials.
    Renewed,
    /// The account was connected or disconnected in between: nothing was
    /// written, look for its connection again.
    Overtaken,
    /// The hand-off had ended or expired: nothing was written.
    Closed,
}

/// How a disconnection ended.
#[derive(Clone, Debug)]
pub enum Disconnected {
    /// It is gone; this is what it was.
    Deleted(Box<ConnectionRecord>),
    /// So many targets of scheduled and publishing posts name it.
    Pending(u32),
    /// There is none.
    NotThere,
}

/// What a connection's credentials are sealed for: opened under any other
/// name they are unreadable.
pub fn credentials_context(user: UserId, connection: ConnectionId, provider: &str) -> String {
    format!("user:{user}/connection:{connection}/{provider}")
}

impl Store {
    /// A user's connection.
    pub async fn connection(&self, user: UserId, id: ConnectionId) -> Result<Option<ConnectionRecord>, StorageError> {
        self.connection_item(user, id).await?.map(read).transpose()
    }

    async fn connection_item(&self, user: UserId, id: ConnectionId) -> Result<Option<Item>, StorageError> {
        let found = self
            .client
            .get_item()
            .table_name(self.table(Table::Connections))
            .set_key(Some(connection_key(user, id)))
            .consistent_read(true)
            .send()
            .await?;
        Ok(found.item)
    }

    /// A user's connections, oldest first.
    pub async fn connections(&self, user: UserId) -> Result<Vec<Connection>, StorageError> {
        let mut pages = self
            .client
            .query()
            .table_name(self.table(Table::Connections))
            .key_condition_expression("user_id = :user")
            .expression_attribute_values(":user", n(user))
            .consistent_read(true)
            .into_paginator()
            .items()
            .send();
        let mut found = Vec::new();
        while let Some(item) = pages.next().await {
            found.push(from_item(item?)?);
        }
        Ok(found)
    }

    /// The connection of a platform's account, if this user has connected it.
    pub async fn connection_of_account(
        &self,
        user: UserId,
        provider: &str,
        account_id: &str,
    ) -> Result<Option<ConnectionId>, StorageError> {
        let found = self
            .client
            .get_item()
            .table_name(self.table(Table::Handoffs))
            .set_key(Some(marker(user, provider, account_id)))
            .consistent_read(true)
            .send()
            .await?;
        let number = found.item.and_then(|it| it.get("connection_id")?.as_n().ok()?.parse().ok());
        Ok(number.and_then(ConnectionId::new))
    }

    /// The other connections of an account, of any user, as they are now. The
    /// index that they are found by may be a moment behind.
    pub async fn other_connections_of(&self, connection: &Connection) -> Result<Vec<ConnectionRecord>, StorageError> {
        let mut entries = self
            .client
            .query()
            .table_name(self.table(Table::Connections))
            .index_name("by_account")
            .key_condition_expression("#account = :account")
            .expression_attribute_names("#account", "account")
            .expression_attribute_values(":account", s(connection.account()))
            .into_paginator()
            .items()
            .send();
        let this = connection_key(connection.user_id, connection.connection_id);
        let mut keys = Vec::new();
        while let Some(mut entry) = entries.next().await.transpose()? {
            entry.remove("account");
            if entry != this {
                keys.push((Table::Connections, entry));
            }
        }
        let found = self.batch_get(keys).await?.remove(&Table::Connections).unwrap_or_default();
        found.into_iter().map(read).collect()
    }

    /// Ends a hand-off with an account: a new connection, or new credentials
    /// for the one that [`Store::connection_of_account`] found, which keeps its
    /// id, its age and its pending posts.
    ///
    /// The hand-off, the connection and the marker change together or not at
    /// all, so a hand-off connects at most once.
    pub async fn connect(
        &self,
        hand_off: &str,
        record: &ConnectionRecord,
        refresh_at: Option<DateTime<Utc>>,
        found: Option<ConnectionId>,
        now: DateTime<Utc>,
    ) -> Result<Connected, StorageError> {
        let connection = &record.connection;
        let completed = handoffs::completed(self.table(Table::Handoffs), hand_off, connection.connection_id, now)?;
        let writes = match found {
            None => self.new_connection(record, refresh_at)?.to_vec(),
            Some(_) => vec![self.renewed_connection(record, refresh_at)?],
        };
        let mut request = self.client.transact_write_items().transact_items(completed);
        for write in writes {
            request = request.transact_items(write);
        }
        match request.send().await {
            Ok(_) if found.is_some() => Ok(Connected::Renewed),
            Ok(_) => Ok(Connected::New),
            Err(error) => match lost(&error) {
                // The hand-off is the first of the items.
                Some(items) if items.first() == Some(&Lost::Condition) => Ok(Connected::Closed),
                Some(_) => Ok(Connected::Overtaken),
                None => Err(error.into()),
            },
        }
    }

    /// Disconnects an account that no scheduled or publishing post names.
    ///
    /// A post that is being scheduled at the same moment counts itself in
    /// `pending` in its own transaction. Whichever of the two is second meets a
    /// condition that no longer holds.
    pub async fn delete_connection(&self, user: UserId, id: ConnectionId) -> Result<Disconnected, StorageError> {
        let mut patience = Patience::default();
        loop {
            let Some(record) = self.connection(user, id).await? else { return Ok(Disconnected::NotThere) };
            if record.connection.pending != 0 {
                return Ok(Disconnected::Pending(record.connection.pending));
            }
            let connection = &record.connection;
            let delete = Delete::builder()
                .table_name(self.table(Table::Connections))
                .set_key(Some(connection_key(user, id)))
                // The caller revokes the credentials that were read, so they have
                // to be those that are deleted: each renewal has its own generation.
                .condition_expression("pending = :none AND generation = :generation")
                .expression_attribute_values(":none", n(0))
                .expression_attribute_values(":generation", n(connection.generation));
            let unmark = Delete::builder().table_name(self.table(Table::Handoffs)).set_key(Some(marker(
                user,
                &connection.provider,
                &connection.profile.account_id,
            )));
            let deleted = self
                .client
                .transact_write_items()
                .transact_items(item_delete(delete)?)
                .transact_items(item_delete(unmark)?)
                .send()
                .await;
            match deleted {
                Ok(_) => return Ok(Disconnected::Deleted(Box::new(record))),
                // Something changed since it was read: look again.
                Err(error) if lost(&error).is_some() => {
                    if !patience.wait().await {
                        return Err(StorageError::Contended);
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn update_connection(&self, user: UserId, id: ConnectionId) -> UpdateItemFluentBuilder {
        self.client.update_item().table_name(self.table(Table::Connections)).set_key(Some(connection_key(user, id)))
    }

    fn new_connection(
        &self,
        record: &ConnectionRecord,
        refresh_at: Option<DateTime<Utc>>,
    ) -> Result<[TransactWriteItem; 2], StorageError> {
        let connection = &record.connection;
        let mut item = to_item(connection)?;
        item.insert("account".to_owned(), s(connection.account()));
        item.insert("credentials".to_owned(), AttributeValue::B(Blob::new(record.credentials.clone())));
        if let Some(refresh_at) = refresh_at {
            item.insert("refresh_shard".to_owned(), shard(connection.connection_id));
            item.insert("refresh_at".to_owned(), at(refresh_at));
        }
        let put = Put::builder()
            .table_name(self.table(Table::Connections))
            .set_item(Some(item))
            .condition_expression("attribute_not_exists(connection_id)");
        let mut mark = marker(connection.user_id, &connection.provider, &connection.profile.account_id);
        mark.insert("connection_id".to_owned(), n(connection.connection_id));
        let mark = Put::builder()
            .table_name(self.table(Table::Handoffs))
            .set_item(Some(mark))
            .condition_expression("attribute_not_exists(handoff)");
        Ok([item_put(put)?, item_put(mark)?])
    }

    fn renewed_connection(
        &self,
        record: &ConnectionRecord,
        refresh_at: Option<DateTime<Utc>>,
    ) -> Result<TransactWriteItem, StorageError> {
        let connection = &record.connection;
        let id = connection.connection_id;
        let mut item = to_item(connection)?;
        let mut change = Change::default();
        for name in ["profile", "scopes", "rules"] {
            let value =
                item.remove(name).ok_or_else(|| StorageError::Request(format!("a connection without {name}")))?;
            change.set(name, value);
        }
        change.set("account", s(connection.account()));
        change.set("credentials", AttributeValue::B(Blob::new(record.credentials.clone())));
        change.set("needs_reconnection", AttributeValue::Bool(false));
        change.set_or_remove("token_expires_at", connection.token_expires_at.map(at));
        change.set_or_remove("renewed_at", connection.renewed_at.map(at));
        change.refresh_at(id, refresh_at);
        let update = Update::builder()
            .table_name(self.table(Table::Connections))
            .set_key(Some(connection_key(connection.user_id, id)))
            .condition_expression("attribute_exists(connection_id)")
            // DynamoDB adds it up, so that two writers at once never give the same
            // generation to different credentials.
            .update_expression(format!("{} ADD generation :one", change.expression()))
            .set_expression_attribute_names(Some(change.names))
            .set_expression_attribute_values(Some(change.values))
            .expression_attribute_values(":one", n(1));
        let update = update.build().map_err(StorageError::build)?;
        Ok(TransactWriteItem::builder().update(update).build())
    }
}

/// Why one item of a transaction was not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lost {
    /// This item was not the reason.
    Nothing,
    /// Its condition did not hold.
    Condition,
    /// Another transaction was writing it at that moment.
    Conflict,
}

/// What each item of a cancelled transaction lost, in their order; `None` when
/// the transaction failed for another reason than a race.
fn lost<R>(error: &SdkError<TransactWriteItemsError, R>) -> Option<Vec<Lost>> {
    let Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) = error.as_service_error() else {
        return None;
    };
    let reason = |code: Option<&str>| match code {
        None | Some("None") => Some(Lost::Nothing),
        Some("ConditionalCheckFailed") => Some(Lost::Condition),
        Some("TransactionConflict") => Some(Lost::Conflict),
        Some(_) => None,
    };
    cancelled.cancellation_reasons().iter().map(|it| reason(it.code())).collect()
}

pub(crate) fn connection_key(user: UserId, id: ConnectionId) -> Item {
    attributes([("user_id", n(user)), ("connection_id", n(id))])
}

fn marker(user: UserId, provider: &str, account_id: &str) -> Item {
    attributes([("handoff", s(format!("account#{user}#{provider}#{account_id}")))])
}

pub(crate) fn read(mut item: Item) -> Result<ConnectionRecord, StorageError> {
    let credentials = match item.remove("credentials") {
        Some(AttributeValue::B(bytes)) => bytes.into_inner(),
        _ => return Err(StorageError::Request("a connection without credentials".to_owned())),
    };
    Ok(ConnectionRecord { connection: from_item(item)?, credentials })
}

fn item_put(put: aws_sdk_dynamodb::types::builders::PutBuilder) -> Result<TransactWriteItem, StorageError> {
    Ok(TransactWriteItem::builder().put(put.build().map_err(StorageError::build)?).build())
}

fn item_delete(delete: aws_sdk_dynamodb::types::builders::DeleteBuilder) -> Result<TransactWriteItem, StorageError> {
    Ok(TransactWriteItem::builder().delete(delete.build().map_err(StorageError::build)?).build())
}
