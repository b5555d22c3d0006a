//! Moves credentials from the legacy location, the item of their connection, to records of grants.

use aws_sdk_dynamodb::types::{TransactWriteItem, Update};
use chrono::{DateTime, Utc};
use domain::connection::Connection;
use domain::id::{ConnectionId, UserId};

use super::{ConnectionRecord, connection_key, read};
use crate::Store;
use crate::change::Change;
use crate::credentials::{NewCredentials, RefreshKey, is_due, number, send_update};
use crate::error::StorageError;
use crate::item::{n, s};
use crate::schema::Table;
use crate::write_outcome::WriteOutcome;

impl Store {
    /// Connections of one shard with credentials in the legacy location that are due for a refresh
    /// by `until`. Like [`Store::grants_to_refresh`].
    pub async fn connections_to_refresh(
        &self,
        shard: u32,
        until: DateTime<Utc>,
        page: Option<RefreshKey>,
        limit: i32,
    ) -> Result<(Vec<(UserId, ConnectionId)>, Option<RefreshKey>), StorageError> {
        let (items, next) = self.to_refresh(Table::Connections, shard, until, page, limit).await?;
        let ids = items.iter().filter_map(|it| {
            let (user, connection) = (number(it, "user_id")?, number(it, "connection_id")?);
            Some((UserId::new(user)?, ConnectionId::new(connection)?))
        });
        Ok((ids.collect(), next))
    }

    /// A connection from the index, read from the table; `None` if its credentials were moved
    /// since, or if it is gone.
    pub async fn connection_to_refresh(
        &self,
        user: UserId,
        id: ConnectionId,
        until: DateTime<Utc>,
    ) -> Result<Option<ConnectionRecord>, StorageError> {
        let found = self.connection_item(user, id).await?;
        found.filter(|it| is_due(it, until)).map(read).transpose()
    }

    /// Removes a connection from the index, because its credentials cannot be read.
    pub async fn remove_from_refresh_index(&self, connection: &Connection) -> Result<(), StorageError> {
        let mut change = Change::default();
        change.refresh_at(connection.user_id, None);
        let update = self
            .update_connection(connection.user_id, connection.connection_id)
            .condition_expression("attribute_exists(connection_id)")
            .update_expression(change.expression());
        send_update(update).await.map(|_| ())
    }

    /// Moves credentials from the legacy location to the record of their grant.
    /// [`WriteOutcome::Conflict`] if they were changed or moved since they were read.
    pub async fn move_credentials(
        &self,
        record: &ConnectionRecord,
        moved: &NewCredentials,
        now: DateTime<Utc>,
    ) -> Result<WriteOutcome, StorageError> {
        let connection = &record.connection;
        let (user, id) = (connection.user_id, connection.connection_id);
        let mut change = Change::default();
        change.set("grant_name", s(&moved.grant_name));
        change.set("generation", n(NewCredentials::generation(None, now)));
        change.remove(["credentials"]);
        change.refresh_at(user, None);
        let update = Update::builder()
            .table_name(self.table(Table::Connections))
            .set_key(Some(connection_key(user, id)))
            .condition_expression("generation = :before AND attribute_exists(credentials)")
            .update_expression(change.expression())
            .set_expression_attribute_names(Some(change.names))
            .set_expression_attribute_values(Some(change.values))
            .expression_attribute_values(":before", n(connection.generation));
        let update = update.build().map_err(StorageError::build)?;
        let update = TransactWriteItem::builder().update(update).build();
        let granted = self.granted(user, &connection.provider, moved, None, &[id].into(), now)?;
        Ok(self.transact(vec![update, granted]).await?.outcome())
    }
}
