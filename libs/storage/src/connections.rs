//! Connected accounts. Each points at the credentials of its grant (`credentials`).
//!
//! A marker in the table of connect flows (`account#user#platform#account id`) ensures that a user
//! connects an account once. The marker and the connection are written and deleted in one
//! transaction.

mod connect;
mod disconnect;
mod marks;
mod moved;
#[cfg(test)]
mod tests;

use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::AttributeValue;
use domain::connection::Connection;
use domain::id::{ConnectionId, UserId};

use crate::Store;
use crate::error::StorageError;
use crate::item::{Item, attributes, from_item, n, s};
use crate::schema::Table;
pub use connect::{Connected, Connecting, MAX_CONNECTED};
pub use disconnect::Disconnected;
pub use marks::LostGrant;

/// A connection and where its credentials are stored.
#[derive(Clone, Debug)]
pub struct ConnectionRecord {
    pub connection: Connection,
    pub kept: CredentialsLocation,
}

/// Where the credentials of a connection are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CredentialsLocation {
    /// In the record of the grant.
    Grant {
        /// See [`crate::grant_name`].
        grant_name: String,
        /// A secret for this account only, sealed for [`crate::credentials_context`].
        own: Option<Vec<u8>>,
    },
    /// Legacy location: on the item of the connection, sealed for
    /// [`crate::credentials_context`].
    Connection(Vec<u8>),
}

impl ConnectionRecord {
    /// Whether the connection has a secret of its own, in addition to that of the grant.
    pub fn has_own_secret(&self) -> bool {
        matches!(&self.kept, CredentialsLocation::Grant { own: Some(_), .. })
    }

    /// `None` for credentials in the legacy location.
    pub fn grant_name(&self) -> Option<&str> {
        match &self.kept {
            CredentialsLocation::Grant { grant_name, .. } => Some(grant_name),
            CredentialsLocation::Connection(_) => None,
        }
    }
}

impl Store {
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

    /// The connections of other users to the same account. Read consistently, but found with an
    /// index that may lag behind.
    pub async fn other_users_connections(
        &self,
        user: UserId,
        account: &str,
    ) -> Result<Vec<ConnectionRecord>, StorageError> {
        let mut entries = self
            .client
            .query()
            .table_name(self.table(Table::Connections))
            .index_name("by_account")
            .key_condition_expression("#account = :account")
            .expression_attribute_names("#account", "account")
            .expression_attribute_values(":account", s(account))
            .into_paginator()
            .items()
            .send();
        let mut keys = Vec::new();
        while let Some(mut entry) = entries.next().await.transpose()? {
            entry.remove("account");
            if entry.get("user_id") != Some(&n(user)) {
                keys.push((Table::Connections, entry));
            }
        }
        let found = self.batch_get(keys).await?.remove(&Table::Connections).unwrap_or_default();
        found.into_iter().map(read).collect()
    }

    pub(crate) fn update_connection(&self, user: UserId, id: ConnectionId) -> UpdateItemFluentBuilder {
        self.client.update_item().table_name(self.table(Table::Connections)).set_key(Some(connection_key(user, id)))
    }
}

pub(crate) fn connection_key(user: UserId, id: ConnectionId) -> Item {
    attributes([("user_id", n(user)), ("connection_id", n(id))])
}

fn marker(user: UserId, provider: &str, account_id: &str) -> Item {
    attributes([("connect_flow", s(format!("account#{user}#{provider}#{account_id}")))])
}

pub(crate) fn read(mut item: Item) -> Result<ConnectionRecord, StorageError> {
    let location = match (item.remove("grant_name"), item.remove("credentials")) {
        (Some(AttributeValue::S(grant_name)), _) => {
            let own = item.remove("own").and_then(|it| it.as_b().ok().map(|it| it.clone().into_inner()));
            CredentialsLocation::Grant { grant_name, own }
        }
        (_, Some(AttributeValue::B(sealed))) => CredentialsLocation::Connection(sealed.into_inner()),
        _ => return Err(StorageError::Request("connection without credentials".to_owned())),
    };
    Ok(ConnectionRecord { connection: from_item(item)?, kept: location })
}
