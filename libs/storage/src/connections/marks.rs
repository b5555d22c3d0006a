//! What a connection shows of its credentials: whether they still work, and until
//! when. Writes are ordered by the generation of the credentials that they tell
//! of, so that old news never hides newer.

use aws_sdk_dynamodb::types::AttributeValue;
use domain::connection::{AccountInfo, Connection};
use domain::id::ConnectionId;
use domain::rules::Rules;

use super::{ConnectionRecord, KeptIn};
use crate::Store;
use crate::change::Change;
use crate::credentials::{CredentialsRecord, won};
use crate::error::StorageError;
use crate::item::{at, n, s, to_item};

/// What is lost with credentials that the platform does not accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LostGrant {
    /// The grant, for all of its accounts.
    Grant,
    /// What the platform gave for this account alone.
    Account,
}

impl Store {
    /// Shows how an account is now. False when the connection changed since it was
    /// read: it was connected anew, which tells more, or is gone.
    pub async fn show_about(
        &self,
        connection: &Connection,
        profile: &AccountInfo,
        rules: &Rules,
    ) -> Result<bool, StorageError> {
        let mut item = to_item(&Connection { profile: profile.clone(), rules: rules.clone(), ..connection.clone() })?;
        let mut change = Change::default();
        for name in ["profile", "rules"] {
            let value = item.remove(name);
            change.set(name, value.ok_or_else(|| StorageError::Request(format!("a connection without {name}")))?);
        }
        let update = self
            .update_connection(connection.user_id, connection.connection_id)
            .condition_expression("generation = :generation")
            .update_expression(change.expression())
            .set_expression_attribute_names(Some(change.names))
            .set_expression_attribute_values(Some(change.values))
            .expression_attribute_values(":generation", n(connection.generation));
        won(update).await
    }

    /// The credentials of a connection, wherever they are kept; `None` when they
    /// are gone.
    pub async fn credentials_of(&self, record: &ConnectionRecord) -> Result<Option<CredentialsRecord>, StorageError> {
        match &record.kept {
            KeptIn::Connection(sealed) => Ok(Some(CredentialsRecord::beside(&record.connection, sealed))),
            KeptIn::Grant { grant_name, .. } => self.credentials(record.connection.user_id, grant_name).await,
        }
    }

    /// The connections that point at this grant now.
    pub async fn connections_under(&self, record: &CredentialsRecord) -> Result<Vec<ConnectionRecord>, StorageError> {
        let found = self.connection_records(record.user_id, record.connections.iter().copied()).await?;
        Ok(found.into_iter().filter(|it| it.grant_name() == Some(&record.grant_name)).collect())
    }

    /// Marks that only its user can help a connection, because the platform does
    /// not accept these credentials. False when it says so already, or shows newer
    /// ones.
    pub async fn mark_needs_reconnection(
        &self,
        id: ConnectionId,
        credentials: &CredentialsRecord,
        loss: LostGrant,
    ) -> Result<bool, StorageError> {
        let alone = if loss == LostGrant::Account { ", alone = :yes" } else { "" };
        let update = self
            .update_connection(credentials.user_id, id)
            .condition_expression("grant_name = :grant AND generation <= :generation AND needs_reconnection = :no")
            .update_expression(format!("SET needs_reconnection = :yes, generation = :generation{alone}"))
            .expression_attribute_values(":grant", s(&credentials.grant_name))
            .expression_attribute_values(":generation", n(credentials.generation))
            .expression_attribute_values(":no", AttributeValue::Bool(false))
            .expression_attribute_values(":yes", AttributeValue::Bool(true));
        won(update).await
    }

    /// Shows at a connection that its grant was renewed. Where the account alone
    /// was lost, it stays so.
    pub async fn show_renewed(&self, id: ConnectionId, credentials: &CredentialsRecord) -> Result<bool, StorageError> {
        let mut change = Change::default();
        change.set("generation", n(credentials.generation));
        change.set("needs_reconnection", AttributeValue::Bool(false));
        change.set_or_remove("renewed_at", credentials.renewed_at.map(at));
        // What renews itself does not end for its user.
        change.remove(["token_expires_at"]);
        let update = self
            .update_connection(credentials.user_id, id)
            .condition_expression("grant_name = :grant AND generation < :generation AND attribute_not_exists(alone)")
            .update_expression(change.expression())
            .set_expression_attribute_names(Some(change.names))
            .set_expression_attribute_values(Some(change.values))
            .expression_attribute_values(":grant", s(&credentials.grant_name));
        won(update).await
    }
}
