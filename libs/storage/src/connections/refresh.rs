//! Renewal of credentials: by one worker at a time, and never over newer ones.

use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, TimeDelta, Utc};
use domain::id::{ConnectionId, UserId};
use domain::token::random_u64;

use super::change::Change;
use super::{ConnectionRecord, read};
use crate::Store;
use crate::conflict::{Patience, meets_a_transaction};
use crate::error::StorageError;
use crate::item::{Item, at, n, s};
use crate::race::Race;
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
    /// Another worker holds the lease, or has renewed them already: wait, and
    /// read the connection again.
    Held,
}

/// New credentials of a connection.
#[derive(Clone, Debug)]
pub struct Refreshed {
    /// Sealed for [`super::credentials_context`].
    pub credentials: Vec<u8>,
    /// When they end; `None` when they do not.
    pub token_expires_at: Option<DateTime<Utc>>,
    /// When they were issued.
    pub renewed_at: DateTime<Utc>,
    /// When they want renewal; `None` when they never do.
    pub refresh_at: Option<DateTime<Utc>>,
}

/// Some of the connections whose credentials want renewal.
#[derive(Clone, Debug)]
pub struct RefreshPage {
    /// The longest overdue first. The index may be behind: see
    /// [`Store::connection_to_refresh`].
    pub entries: Vec<(UserId, ConnectionId)>,
    /// Where the next page begins, if there is one.
    pub next: Option<RefreshKey>,
}

/// Where a page of the `refresh` index ended.
#[derive(Clone, Debug)]
pub struct RefreshKey(Item);

impl Store {
    /// Marks that only its user can help, because the platform says that the
    /// grant is gone. False when the credentials were changed since
    /// `generation`: the platform refused the old ones, so nothing is written.
    pub async fn mark_needs_reconnection(
        &self,
        user: UserId,
        id: ConnectionId,
        generation: u64,
    ) -> Result<bool, StorageError> {
        let update = self
            .update_connection(user, id)
            .condition_expression("generation = :generation AND needs_reconnection = :no")
            .update_expression(
                "SET needs_reconnection = :yes REMOVE refresh_shard, refresh_at, refresh_lease, refresh_holder",
            )
            .expression_attribute_values(":generation", n(generation))
            .expression_attribute_values(":no", AttributeValue::Bool(false))
            .expression_attribute_values(":yes", AttributeValue::Bool(true));
        won(update).await
    }

    /// Connections of one of [`REFRESH_SHARDS`] whose credentials want renewal
    /// by `until`; from the beginning or from `page` on, at most `limit`.
    pub async fn connections_to_refresh(
        &self,
        shard: u32,
        until: DateTime<Utc>,
        page: Option<RefreshKey>,
        limit: i32,
    ) -> Result<RefreshPage, StorageError> {
        let found = self
            .client
            .query()
            .table_name(self.table(Table::Connections))
            .index_name("refresh")
            .key_condition_expression("refresh_shard = :shard AND refresh_at <= :until")
            .expression_attribute_values(":shard", s(shard.to_string()))
            .expression_attribute_values(":until", at(until))
            .set_exclusive_start_key(page.map(|it| it.0))
            .limit(limit)
            .send()
            .await?;
        let ids = found.items.unwrap_or_default();
        let ids = ids.iter().filter_map(|it| {
            let (user, connection) = (number(it, "user_id")?, number(it, "connection_id")?);
            Some((UserId::new(user)?, ConnectionId::new(connection)?))
        });
        Ok(RefreshPage { entries: ids.collect(), next: found.last_evaluated_key.map(RefreshKey) })
    }

    /// A connection that the index has for renewal by `until`, read from the
    /// table; `None` when it was renewed or put off since, or is gone.
    pub async fn connection_to_refresh(
        &self,
        user: UserId,
        id: ConnectionId,
        until: DateTime<Utc>,
    ) -> Result<Option<ConnectionRecord>, StorageError> {
        let found = self.connection_item(user, id).await?;
        let is_due = |it: &Item| number(it, "refresh_at").is_some_and(|at: i64| at <= until.timestamp_millis());
        found.filter(is_due).map(read).transpose()
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
        self.claim_refresh_as(random_u64(), (user, id), generation, now).await
    }

    /// The SDK sends a request again when its answer was lost, and meets the
    /// lease that the first one took. Both name the same holder, so the second
    /// gets the lease too.
    pub(super) async fn claim_refresh_as(
        &self,
        holder: u64,
        (user, id): (UserId, ConnectionId),
        generation: u64,
        now: DateTime<Utc>,
    ) -> Result<RefreshClaim, StorageError> {
        let update = self
            .update_connection(user, id)
            .condition_expression(
                "generation = :generation AND needs_reconnection = :no AND \
                 (attribute_not_exists(refresh_lease) OR refresh_lease <= :now OR refresh_holder = :holder)",
            )
            .update_expression("SET refresh_lease = :ends, refresh_holder = :holder")
            .expression_attribute_values(":generation", n(generation))
            .expression_attribute_values(":no", AttributeValue::Bool(false))
            .expression_attribute_values(":now", at(now))
            .expression_attribute_values(":holder", n(holder))
            .expression_attribute_values(":ends", at(now + REFRESH_LEASE));
        Ok(if won(update).await? { RefreshClaim::Ours } else { RefreshClaim::Held })
    }

    /// Keeps renewed credentials. False when the account was connected anew
    /// since `generation`, and nothing was written.
    ///
    /// The mark that the account needs reconnection is taken back. It can be
    /// there when the lease of this renewal ran out: the next worker was refused
    /// with the refresh token that this one had spent, and took the grant for
    /// gone. The new credentials show that it is not.
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
        change.set("needs_reconnection", AttributeValue::Bool(false));
        change.set("renewed_at", at(refreshed.renewed_at));
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

    /// These credentials are not renewed now, but looked at again at
    /// `refresh_at`; never, when that is `None`.
    pub async fn put_off_refresh(
        &self,
        user: UserId,
        id: ConnectionId,
        generation: u64,
        refresh_at: Option<DateTime<Utc>>,
    ) -> Result<bool, StorageError> {
        let mut change = Change::default();
        change.refresh_at(id, refresh_at);
        let mut update = self
            .update_connection(user, id)
            .condition_expression("generation = :before AND needs_reconnection = :no")
            .update_expression(change.expression())
            .set_expression_attribute_values(Some(change.values))
            .expression_attribute_values(":before", n(generation))
            .expression_attribute_values(":no", AttributeValue::Bool(false));
        if !change.names.is_empty() {
            update = update.set_expression_attribute_names(Some(change.names));
        }
        won(update).await
    }
}

fn number<T: std::str::FromStr>(item: &Item, name: &str) -> Option<T> {
    item.get(name)?.as_n().ok()?.parse().ok()
}

/// Whether an update's condition held.
///
/// A post that is being scheduled counts itself at its connections in a
/// transaction, and an update that meets it is refused.
async fn won(update: UpdateItemFluentBuilder) -> Result<bool, StorageError> {
    let mut patience = Patience::default();
    loop {
        match update.clone().send().await {
            Err(error) if meets_a_transaction(&error) && patience.wait().await => {}
            written => return Ok(Race::of(written)?.is_won()),
        }
    }
}
