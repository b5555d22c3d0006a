//! Deletes a connection, and with the last connection of a grant its credentials.

use aws_sdk_dynamodb::types::{Delete, TransactWriteItem};
use chrono::{DateTime, Utc};
use domain::connection::Connection;
use domain::event::Event;
use domain::id::ConnectionId;
use domain::owner::Owner;

use super::{connection_key, marker_of};
use crate::Store;
use crate::credentials::CredentialsRecord;
use crate::error::StorageError;
use crate::item::n;
use crate::schema::Table;
use crate::transaction::TransactionOutcome;
use crate::write_retries::WriteRetries;

#[derive(Clone, Debug)]
pub enum Disconnected {
    Deleted {
        connection: Box<Connection>,
        /// The credentials that were deleted too, because no other connection of the user has
        /// this grant.
        ended: Option<Box<CredentialsRecord>>,
    },
    /// The number of targets of scheduled and publishing posts that use the connection.
    Pending(u32),
    NotThere,
}

impl Store {
    /// Disconnects an account, unless a scheduled or publishing post uses it.
    ///
    /// A post that is scheduled concurrently counts itself in `pending` in its own transaction. The
    /// second of the two transactions fails its condition.
    ///
    /// The transaction also puts [`Event::disconnected`] at `now` into the outbox.
    pub async fn delete_connection(
        &self,
        owner: impl Into<Owner>,
        id: ConnectionId,
        now: DateTime<Utc>,
    ) -> Result<Disconnected, StorageError> {
        let owner = owner.into();
        let user = owner.user_id;
        let mut retries = WriteRetries::with_backoff(&self.random);
        loop {
            let Some(record) = self.connection(owner, id).await? else { return Ok(Disconnected::NotThere) };
            if record.connection.pending != 0 {
                return Ok(Disconnected::Pending(record.connection.pending));
            }
            let credentials = self.connection_credentials(&record).await?;
            let connection = &record.connection;
            let delete = Delete::builder()
                .table_name(self.table(Table::Connections))
                .set_key(Some(connection_key(user, id)))
                // The caller revokes the credentials that were read, so exactly these must be
                // deleted. Each refresh increments the generation.
                .condition_expression("pending = :none AND generation = :generation")
                .expression_attribute_values(":none", n(0))
                .expression_attribute_values(":generation", n(connection.generation));
            let unmark =
                Delete::builder().table_name(self.table(Table::ConnectFlows)).set_key(Some(marker_of(connection)));
            let event = self.outbox_action(&Event::disconnected(connection, now))?;
            let mut writes = vec![item_delete(delete)?, item_delete(unmark)?, event];
            if let Some(profile) = &connection.of_profile {
                writes.push(self.count_connections(user, profile.profile_id, -1)?);
            }
            if let Some(credentials) = &credentials {
                writes.push(self.released(credentials, &[id].into())?);
            }
            if self.transact(writes).await? == TransactionOutcome::Done {
                let ended = credentials.filter(|it| it.connections.iter().all(|it| *it == id)).map(Box::new);
                return Ok(Disconnected::Deleted { connection: Box::new(record.connection), ended });
            }
            retries.next_attempt().await?;
        }
    }
}

fn item_delete(delete: aws_sdk_dynamodb::types::builders::DeleteBuilder) -> Result<TransactWriteItem, StorageError> {
    Ok(TransactWriteItem::builder().delete(delete.build().map_err(StorageError::build)?).build())
}
