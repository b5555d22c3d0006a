//! Disconnecting an account, and with the last one of a grant its credentials.

use aws_sdk_dynamodb::types::{Delete, TransactWriteItem};
use chrono::{DateTime, Utc};
use domain::connection::Connection;
use domain::event::Event;
use domain::id::{ConnectionId, UserId};

use super::{KeptIn, connection_key, marker};
use crate::Store;
use crate::conflict::RetryPolicy;
use crate::credentials::CredentialsRecord;
use crate::error::StorageError;
use crate::item::n;
use crate::schema::Table;
use crate::transaction::Transacted;

/// How a disconnection ended.
#[derive(Clone, Debug)]
pub enum Disconnected {
    /// It is gone.
    Deleted {
        connection: Box<Connection>,
        /// The credentials that went with it, because it was the last of its
        /// grant that this user had.
        ended: Option<Box<CredentialsRecord>>,
    },
    /// So many targets of scheduled and publishing posts name it.
    Pending(u32),
    NotThere,
}

impl Store {
    /// Disconnects an account that no scheduled or publishing post names.
    ///
    /// A post that is being scheduled at the same moment counts itself in
    /// `pending` in its own transaction. Whichever of the two is second meets a
    /// condition that no longer holds.
    ///
    /// With it goes the event into the outbox, [`Event::disconnected`] at `now`.
    pub async fn delete_connection(
        &self,
        user: UserId,
        id: ConnectionId,
        now: DateTime<Utc>,
    ) -> Result<Disconnected, StorageError> {
        let mut patience = RetryPolicy::default();
        loop {
            let Some(record) = self.connection(user, id).await? else { return Ok(Disconnected::NotThere) };
            if record.connection.pending != 0 {
                return Ok(Disconnected::Pending(record.connection.pending));
            }
            let credentials = self.credentials_of(&record).await?;
            let connection = &record.connection;
            let delete = Delete::builder()
                .table_name(self.table(Table::Connections))
                .set_key(Some(connection_key(user, id)))
                // The caller revokes the credentials that were read, so they have
                // to be those that are deleted: each renewal has its own generation.
                .condition_expression("pending = :none AND generation = :generation")
                .expression_attribute_values(":none", n(0))
                .expression_attribute_values(":generation", n(connection.generation));
            let unmark = Delete::builder().table_name(self.table(Table::ConnectFlows)).set_key(Some(marker(
                user,
                &connection.provider,
                &connection.profile.account_id,
            )));
            let told = self.outbox_put(&Event::disconnected(connection, now))?;
            let mut writes = vec![item_delete(delete)?, item_delete(unmark)?, told];
            if let (Some(credentials), KeptIn::Grant { .. }) = (&credentials, &record.kept) {
                writes.push(self.released(credentials, &[id].into())?);
            }
            if self.transact(writes).await? == Transacted::Done {
                let ended = credentials.filter(|it| it.connections.iter().all(|it| *it == id)).map(Box::new);
                return Ok(Disconnected::Deleted { connection: Box::new(record.connection), ended });
            }
            // Something changed since it was read: look again.
            if !patience.wait().await {
                return Err(StorageError::Contended);
            }
        }
    }
}

fn item_delete(delete: aws_sdk_dynamodb::types::builders::DeleteBuilder) -> Result<TransactWriteItem, StorageError> {
    Ok(TransactWriteItem::builder().delete(delete.build().map_err(StorageError::build)?).build())
}
