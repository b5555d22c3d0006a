//! Renewal of credentials: by one worker at a time, and never over newer ones.

use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, TimeDelta, Utc};
use domain::id::{ConnectionId, UserId};
use futures::future;

use super::change::{Change, REFRESH_SHARDS};
use crate::Store;
use crate::error::StorageError;
use crate::item::{Item, at, n, s};
use crate::schema::Table;

/// How long one worker may take to renew credentials.
///
/// Longer than any adapter's call, so that a rotating refresh token is never
/// spent by two.
const REFRESH_LEASE: TimeDelta = TimeDelta::seconds(60);

/// Who may renew credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefreshClaim {
    /// The caller, who then ends it with [`Store::store_refreshed`],
    /// [`Store::put_off_refresh`] or [`Store::mark_needs_reconnection`].
    Ours,
    /// Somebody else is at it, or it was done: wait and read the connection again.
    Held,
}

/// New credentials of a connection.
#[derive(Clone, Debug)]
pub struct Refreshed {
    /// Sealed for [`super::credentials_context`].
    pub credentials: Vec<u8>,
    /// When they end; `None` when they do not.
    pub token_expires_at: Option<DateTime<Utc>>,
    /// When they want renewal; `None` when they cannot be renewed.
    pub refresh_at: Option<DateTime<Utc>>,
}

impl Store {
    /// The platform says that the grant is gone. False when the credentials
    /// were changed since `generation`, and nothing was written: what was
    /// refused were the old ones.
    pub async fn mark_needs_reconnection(
        &self,
        user: UserId,
        id: ConnectionId,
        generation: u64,
    ) -> Result<bool, StorageError> {
        let update = self
            .update_connection(user, id)
            .condition_expression("generation = :generation AND needs_reconnection = :no")
            .update_expression("SET needs_reconnection = :yes REMOVE refresh_shard, refresh_at, refresh_lease")
            .expression_attribute_values(":generation", n(generation))
            .expression_attribute_values(":no", AttributeValue::Bool(false))
            .expression_attribute_values(":yes", AttributeValue::Bool(true));
        won(update).await
    }

    /// Connections whose credentials want renewal by `until`, at most `limit`
    /// of each shard.
    pub async fn connections_to_refresh(
        &self,
        until: DateTime<Utc>,
        limit: i32,
    ) -> Result<Vec<(UserId, ConnectionId)>, StorageError> {
        let shards = future::try_join_all((0..REFRESH_SHARDS).map(|shard| {
            self.client
                .query()
                .table_name(self.table(Table::Connections))
                .index_name("refresh")
                .key_condition_expression("refresh_shard = :shard AND refresh_at <= :until")
                .expression_attribute_values(":shard", s(shard.to_string()))
                .expression_attribute_values(":until", at(until))
                .limit(limit)
                .send()
        }))
        .await?;
        let number = |item: &Item, name: &str| item.get(name)?.as_n().ok()?.parse().ok();
        let ids = shards.iter().flat_map(aws_sdk_dynamodb::operation::query::QueryOutput::items).filter_map(|item| {
            Some((UserId::new(number(item, "user_id")?)?, ConnectionId::new(number(item, "connection_id")?)?))
        });
        Ok(ids.collect())
    }

    /// Takes the renewal of credentials as they were read. Of any number of
    /// callers at the same time, at most one gets [`RefreshClaim::Ours`].
    pub async fn claim_refresh(
        &self,
        user: UserId,
        id: ConnectionId,
        generation: u64,
        now: DateTime<Utc>,
    ) -> Result<RefreshClaim, StorageError> {
        let update = self
            .update_connection(user, id)
            .condition_expression(
                "generation = :generation AND (attribute_not_exists(refresh_lease) OR refresh_lease <= :now)",
            )
            .update_expression("SET refresh_lease = :ends")
            .expression_attribute_values(":generation", n(generation))
            .expression_attribute_values(":now", at(now))
            .expression_attribute_values(":ends", at(now + REFRESH_LEASE));
        Ok(if won(update).await? { RefreshClaim::Ours } else { RefreshClaim::Held })
    }

    /// Keeps renewed credentials. False when the account was connected anew
    /// since `generation`, and nothing was written.
    pub async fn store_refreshed(
        &self,
        user: UserId,
        id: ConnectionId,
        generation: u64,
        refreshed: Refreshed,
    ) -> Result<bool, StorageError> {
        let mut change = Change::default();
        change.set("generation", n(generation + 1));
        change.set("credentials", AttributeValue::B(Blob::new(refreshed.credentials)));
        change.set_or_remove("token_expires_at", refreshed.token_expires_at.map(at));
        change.refresh_at(id, refreshed.refresh_at);
        let update = self
            .update_connection(user, id)
            .condition_expression("generation = :before")
            .update_expression(change.expression())
            .set_expression_attribute_names(Some(change.names))
            .set_expression_attribute_values(Some(change.values))
            .expression_attribute_values(":before", n(generation));
        won(update).await
    }

    /// A renewal met a passing failure: it is tried again at `refresh_at`.
    pub async fn put_off_refresh(
        &self,
        user: UserId,
        id: ConnectionId,
        generation: u64,
        refresh_at: DateTime<Utc>,
    ) -> Result<bool, StorageError> {
        let mut change = Change::default();
        change.refresh_at(id, Some(refresh_at));
        let update = self
            .update_connection(user, id)
            .condition_expression("generation = :before AND needs_reconnection = :no")
            .update_expression(change.expression())
            .set_expression_attribute_names(Some(change.names))
            .set_expression_attribute_values(Some(change.values))
            .expression_attribute_values(":before", n(generation))
            .expression_attribute_values(":no", AttributeValue::Bool(false));
        won(update).await
    }
}

/// Whether an update's condition held.
async fn won(update: UpdateItemFluentBuilder) -> Result<bool, StorageError> {
    match update.send().await {
        Ok(_) => Ok(true),
        Err(error) if error.as_service_error().is_some_and(UpdateItemError::is_conditional_check_failed_exception) => {
            Ok(false)
        }
        Err(error) => Err(error.into()),
    }
}
