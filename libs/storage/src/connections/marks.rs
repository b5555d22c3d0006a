//! The state of the credentials as shown on a connection: whether they work, and until when. Writes
//! are ordered by the generation of the credentials, so that an old state never replaces a newer one.

use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, Utc};
use domain::connection::{AccountInfo, Connection};
use domain::id::ConnectionId;
use domain::rules::Rules;

use super::ConnectionRecord;
use crate::Store;
use crate::change::Change;
use crate::credentials::CredentialsRecord;
use crate::error::StorageError;
use crate::item::{at, n, s, to_item};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LostGrant {
    /// The grant, for all its accounts.
    Grant,
    /// The secret of this account only.
    Account,
}

impl Store {
    /// Returns `false` if the account was reconnected since it was read (which stores newer info),
    /// or is gone.
    pub async fn store_account_info(
        &self,
        connection: &Connection,
        profile: &AccountInfo,
        rules: &Rules,
    ) -> Result<bool, StorageError> {
        let mut item = to_item(&Connection { profile: profile.clone(), rules: rules.clone(), ..connection.clone() })?;
        let mut change = Change::default();
        for name in ["profile", "rules"] {
            let value = item.remove(name);
            change.set(name, value.ok_or_else(|| StorageError::Request(format!("connection without {name}")))?);
        }
        let update = self
            .update_connection(connection.user_id, connection.connection_id)
            .condition_expression("generation = :generation")
            .update_expression(change.expression())
            .set_expression_attribute_names(Some(change.names))
            .set_expression_attribute_values(Some(change.values))
            .expression_attribute_values(":generation", n(connection.generation));
        self.send_update(update).await
    }

    /// `None` if the credentials are gone.
    pub async fn connection_credentials(
        &self,
        record: &ConnectionRecord,
    ) -> Result<Option<CredentialsRecord>, StorageError> {
        self.credentials(record.connection.user_id, &record.grant_name).await
    }

    pub async fn grant_connections(&self, record: &CredentialsRecord) -> Result<Vec<ConnectionRecord>, StorageError> {
        let found = self.connection_records(record.user_id, record.connections.iter().copied()).await?;
        Ok(found.into_iter().filter(|it| it.grant_name == record.grant_name).collect())
    }

    /// Marks that the user must reconnect an account. Returns `false` if the connection is already
    /// marked, or has newer credentials.
    pub async fn mark_needs_reconnection(
        &self,
        id: ConnectionId,
        credentials: &CredentialsRecord,
        loss: LostGrant,
    ) -> Result<bool, StorageError> {
        let account_only = if loss == LostGrant::Account { ", alone = :yes" } else { "" };
        let update = self
            .update_connection(credentials.user_id, id)
            .condition_expression("grant_name = :grant AND generation <= :generation AND needs_reconnection = :no")
            .update_expression(format!("SET needs_reconnection = :yes, generation = :generation{account_only}"))
            .expression_attribute_values(":grant", s(&credentials.grant_name))
            .expression_attribute_values(":generation", n(credentials.state.generation))
            .expression_attribute_values(":no", AttributeValue::Bool(false))
            .expression_attribute_values(":yes", AttributeValue::Bool(true));
        self.send_update(update).await
    }

    /// Stores on a connection that its grant has new credentials. If the account's own secret was lost,
    /// the connection stays marked. `token_expires_at` is `None` for credentials that are refreshed automatically.
    pub async fn mark_refreshed(
        &self,
        id: ConnectionId,
        credentials: &CredentialsRecord,
        token_expires_at: Option<DateTime<Utc>>,
    ) -> Result<bool, StorageError> {
        let mut change = Change::default();
        change.set("generation", n(credentials.state.generation));
        change.set("needs_reconnection", AttributeValue::Bool(false));
        change.set_or_remove("refreshed_at", credentials.state.refreshed_at.map(at));
        change.set_or_remove("token_expires_at", token_expires_at.map(at));
        let update = self
            .update_connection(credentials.user_id, id)
            .condition_expression("grant_name = :grant AND generation < :generation AND attribute_not_exists(alone)")
            .update_expression(change.expression())
            .set_expression_attribute_names(Some(change.names))
            .set_expression_attribute_values(Some(change.values))
            .expression_attribute_values(":grant", s(&credentials.grant_name));
        self.send_update(update).await
    }
}
