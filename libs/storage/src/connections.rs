//! Connected accounts. Each points at the credentials of its grant (`credentials`).
//!
//! A marker in the table of connect flows (`account#user#profile#platform#account id`) ensures that
//! an account is connected once for the user, and once for each profile. One transaction writes or
//! deletes the marker and the connection.

mod connect;
mod disconnect;
mod marks;
#[cfg(test)]
mod tests;

use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::AttributeValue;
use domain::connection::Connection;
use domain::id::{ConnectionId, ProfileId, UserId};
use domain::owner::Owner;

use crate::Store;
use crate::error::StorageError;
use crate::item::{Item, attributes, from_item, n, s};
use crate::schema::Table;
pub use connect::{Connected, Connecting, MAX_CONNECTED};
pub use disconnect::Disconnected;
pub use marks::LostGrant;

/// A connection and its secrets. The credentials are in the record of the grant.
#[derive(Clone, Debug)]
pub struct ConnectionRecord {
    pub connection: Connection,
    /// See [`crate::grant_name`].
    pub grant_name: String,
    /// A secret for this account only, in addition to that of the grant, sealed for
    /// [`crate::own_secret_context`].
    pub own: Option<Vec<u8>>,
}

impl Store {
    pub async fn connection(
        &self,
        owner: impl Into<Owner>,
        id: ConnectionId,
    ) -> Result<Option<ConnectionRecord>, StorageError> {
        let owner = owner.into();
        let found = self
            .client
            .get_item()
            .table_name(self.table(Table::Connections))
            .set_key(Some(connection_key(owner.user_id, id)))
            .consistent_read(true)
            .send()
            .await?;
        let found = found.item.map(read).transpose()?;
        Ok(found.filter(|it| owner.may_see(it.connection.of_profile.as_ref())))
    }

    /// Oldest first.
    pub async fn connections(&self, owner: impl Into<Owner>) -> Result<Vec<Connection>, StorageError> {
        let owner = owner.into();
        let mut pages = self
            .client
            .query()
            .table_name(self.table(Table::Connections))
            .key_condition_expression("user_id = :user")
            .expression_attribute_values(":user", n(owner.user_id))
            .consistent_read(true)
            .into_paginator()
            .items()
            .send();
        let mut found = Vec::new();
        while let Some(item) = pages.next().await {
            found.push(from_item(item?)?);
        }
        found.retain(|it: &Connection| owner.may_see(it.of_profile.as_ref()));
        Ok(found)
    }

    pub(crate) fn update_connection(&self, user: UserId, id: ConnectionId) -> UpdateItemFluentBuilder {
        self.client.update_item().table_name(self.table(Table::Connections)).set_key(Some(connection_key(user, id)))
    }
}

pub(crate) fn connection_key(user: UserId, id: ConnectionId) -> Item {
    attributes([("user_id", n(user)), ("connection_id", n(id))])
}

/// The profile is empty for the user's own accounts.
fn marker(user: UserId, profile: Option<ProfileId>, provider: &str, account_id: &str) -> Item {
    let profile = profile.map(|it| it.to_string()).unwrap_or_default();
    attributes([("connect_flow", s(format!("account#{user}#{profile}#{provider}#{account_id}")))])
}

fn marker_of(connection: &Connection) -> Item {
    let Connection { user_id, provider, profile, of_profile, .. } = connection;
    marker(*user_id, of_profile.as_ref().map(|it| it.profile_id), provider, &profile.account_id)
}

pub(crate) fn read(mut item: Item) -> Result<ConnectionRecord, StorageError> {
    let Some(AttributeValue::S(grant_name)) = item.remove("grant_name") else {
        return Err(StorageError::Request("connection without a grant".to_owned()));
    };
    let own = item.remove("own").and_then(|it| it.as_b().ok().map(|it| it.clone().into_inner()));
    Ok(ConnectionRecord { connection: from_item(item)?, grant_name, own })
}
