//! Credentials: one record per grant of a user. Connections point at the record.
//!
//! The key is the user and the platform's name of the grant, so that authorizing the same grant
//! again finds its record. The record lists the connections that use it; both change in one
//! transaction.

mod refresh;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{AttributeValue, Delete, TransactWriteItem, Update};
use chrono::{DateTime, Utc};
use domain::credentials::CredentialState;
use domain::id::{ConnectionId, UserId};
use domain::sealing::{SealContext, SecretKind};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::change::Change;
use crate::error::StorageError;
use crate::item::{Item, attributes, from_item, n, s};
use crate::schema::Table;

pub use crate::change::REFRESH_SHARDS;
pub use refresh::{RefreshClaim, RefreshKey, RefreshPage};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CredentialsRecord {
    pub user_id: UserId,
    /// See [`grant_name`].
    pub grant_name: String,
    pub provider: String,
    /// Sealed for [`CredentialsRecord::context`].
    #[serde(skip)]
    pub sealed: Vec<u8>,
    #[serde(flatten)]
    pub state: CredentialState,
    /// The connections that use this grant, at least one.
    #[serde(skip)]
    pub connections: BTreeSet<ConnectionId>,
}

#[derive(Clone, Debug)]
pub struct NewCredentials {
    /// See [`grant_name`].
    pub grant_name: String,
    /// Sealed for [`grant_context`].
    pub sealed: Vec<u8>,
    /// When the credentials expire; `None` if they do not.
    pub token_expires_at: Option<DateTime<Utc>>,
    /// When the credentials are refreshed or checked next; `None` if never.
    pub refresh_at: Option<DateTime<Utc>>,
}

const AS_READ: &str = "generation = :as_read AND connections = :before";

/// The name of a grant in the table: the name of the platform, and the platform's name of the grant.
pub fn grant_name(provider: &str, name: &str) -> String {
    format!("{provider}/{name}")
}

pub fn own_secret_context(user: UserId, connection: ConnectionId, provider: &str) -> SealContext {
    SealContext::new(SecretKind::Grant, format_args!("user:{user}/connection:{connection}/{provider}"))
}

/// The credentials of a grant do not decrypt under another name.
pub fn grant_context(user: UserId, grant_name: &str) -> SealContext {
    SealContext::new(SecretKind::Grant, format_args!("user:{user}/grant:{grant_name}"))
}

impl CredentialsRecord {
    pub fn context(&self) -> SealContext {
        grant_context(self.user_id, &self.grant_name)
    }
}

impl NewCredentials {
    pub(crate) fn state(&self, before: Option<&CredentialsRecord>, now: DateTime<Utc>) -> CredentialState {
        CredentialState::authorized(before.map(|it| &it.state), self.token_expires_at, self.refresh_at, now)
    }
}

impl Store {
    pub async fn credentials(&self, user: UserId, grant_name: &str) -> Result<Option<CredentialsRecord>, StorageError> {
        self.credentials_item(user, grant_name).await?.map(read).transpose()
    }

    async fn credentials_item(&self, user: UserId, grant_name: &str) -> Result<Option<Item>, StorageError> {
        let found = self
            .client
            .get_item()
            .table_name(self.table(Table::Credentials))
            .set_key(Some(credentials_key(user, grant_name)))
            .consistent_read(true)
            .send()
            .await?;
        Ok(found.item)
    }

    /// Missing grants are omitted.
    pub async fn grants_by_name(
        &self,
        user: UserId,
        names: impl IntoIterator<Item = &str>,
    ) -> Result<HashMap<String, CredentialsRecord>, StorageError> {
        let names: BTreeSet<&str> = names.into_iter().collect();
        let keys = names.into_iter().map(|it| (Table::Credentials, credentials_key(user, it))).collect();
        let found = self.batch_get(keys).await?.remove(&Table::Credentials).unwrap_or_default();
        found.into_iter().map(|it| read(it).map(|it| (it.grant_name.clone(), it))).collect()
    }

    /// The records of other users for the same grant. Read consistently, but found with an index
    /// that may lag behind.
    pub async fn other_users_records(
        &self,
        record: &CredentialsRecord,
    ) -> Result<Vec<CredentialsRecord>, StorageError> {
        self.records_except(&record.grant_name, Some(record.user_id)).await
    }

    /// Includes all users. Read consistently, but found with an index that may lag behind.
    pub async fn records_of_grant(&self, grant_name: &str) -> Result<Vec<CredentialsRecord>, StorageError> {
        self.records_except(grant_name, None).await
    }

    async fn records_except(
        &self,
        grant_name: &str,
        user: Option<UserId>,
    ) -> Result<Vec<CredentialsRecord>, StorageError> {
        let mut entries = self
            .client
            .query()
            .table_name(self.table(Table::Credentials))
            .index_name("by_grant")
            .key_condition_expression("grant_name = :name")
            .expression_attribute_values(":name", s(grant_name))
            .into_paginator()
            .items()
            .send();
        let excepted = user.map(|it| credentials_key(it, grant_name));
        let mut keys = Vec::new();
        while let Some(entry) = entries.next().await.transpose()? {
            if Some(&entry) != excepted.as_ref() {
                keys.push((Table::Credentials, entry));
            }
        }
        let found = self.batch_get(keys).await?.remove(&Table::Credentials).unwrap_or_default();
        found.into_iter().map(read).collect()
    }

    /// On condition that the stored record is still `before`.
    pub(crate) fn granted(
        &self,
        user: UserId,
        provider: &str,
        new: &NewCredentials,
        before: Option<&CredentialsRecord>,
        connections: &BTreeSet<ConnectionId>,
        now: DateTime<Utc>,
    ) -> Result<TransactWriteItem, StorageError> {
        let mut change = Change::default();
        change.set("provider", s(provider));
        change.set("credentials", AttributeValue::B(Blob::new(new.sealed.clone())));
        change.set("connections", ids(connections));
        change.credential_state(user, &new.state(before, now));
        let update = Update::builder()
            .table_name(self.table(Table::Credentials))
            .set_key(Some(credentials_key(user, &new.grant_name)))
            .update_expression(change.expression())
            .set_expression_attribute_names(Some(change.names))
            .set_expression_attribute_values(Some(change.values));
        let update = match before {
            None => update.condition_expression("attribute_not_exists(user_id)"),
            Some(before) => update
                .condition_expression(AS_READ)
                .expression_attribute_values(":as_read", n(before.state.generation))
                .expression_attribute_values(":before", ids(&before.connections)),
        };
        Ok(TransactWriteItem::builder().update(update.build().map_err(StorageError::build)?).build())
    }

    /// Removes connections from a grant, if the record is unchanged. Without connections, the
    /// record is deleted.
    pub(crate) fn released(
        &self,
        record: &CredentialsRecord,
        leaving: &BTreeSet<ConnectionId>,
    ) -> Result<TransactWriteItem, StorageError> {
        let key = credentials_key(record.user_id, &record.grant_name);
        let (table, before) = (self.table(Table::Credentials), ids(&record.connections));
        let item = TransactWriteItem::builder();
        if record.connections.is_subset(leaving) {
            let delete = Delete::builder()
                .table_name(table)
                .set_key(Some(key))
                .condition_expression(AS_READ)
                .expression_attribute_values(":as_read", n(record.state.generation))
                .expression_attribute_values(":before", before);
            return Ok(item.delete(delete.build().map_err(StorageError::build)?).build());
        }
        let update = Update::builder()
            .table_name(table)
            .set_key(Some(key))
            .condition_expression(AS_READ)
            .update_expression("DELETE connections :leaving")
            .expression_attribute_values(":as_read", n(record.state.generation))
            .expression_attribute_values(":before", before)
            .expression_attribute_values(":leaving", ids(leaving));
        Ok(item.update(update.build().map_err(StorageError::build)?).build())
    }
}

pub(crate) fn credentials_key(user: UserId, grant_name: &str) -> Item {
    attributes([("user_id", n(user)), ("grant_name", s(grant_name))])
}

fn ids(connections: &BTreeSet<ConnectionId>) -> AttributeValue {
    AttributeValue::Ns(connections.iter().map(ToString::to_string).collect())
}

pub(crate) fn read(mut item: Item) -> Result<CredentialsRecord, StorageError> {
    let Some(AttributeValue::B(sealed)) = item.remove("credentials") else {
        return Err(StorageError::Request("grant without credentials".to_owned()));
    };
    let Some(AttributeValue::Ns(connections)) = item.remove("connections") else {
        return Err(StorageError::Request("grant without connections".to_owned()));
    };
    let connections = connections.iter().filter_map(|it| it.parse().ok().and_then(ConnectionId::new)).collect();
    Ok(CredentialsRecord { sealed: sealed.into_inner(), connections, ..from_item(item)? })
}
