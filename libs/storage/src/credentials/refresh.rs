//! Renewal of credentials: by one worker at a time, and never over newer ones.

use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, TimeDelta, Utc};
use domain::id::UserId;
use domain::token::random_u64;

use super::{CredentialsRecord, credentials_key, read};
use crate::Store;
use crate::change::Change;
use crate::conflict::{RetryPolicy, meets_a_transaction};
use crate::error::StorageError;
use crate::item::{Item, at, n, s};
use crate::schema::Table;
use crate::write_outcome::WriteOutcome;

/// How long one worker may take to renew credentials.
///
/// Longer than any adapter's call, so that a rotating refresh token is never
/// spent by two.
const REFRESH_LEASE: TimeDelta = TimeDelta::seconds(60);

/// Who may renew credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefreshClaim {
    /// The caller, who then ends it with [`Store::store_refreshed`],
    /// [`Store::put_off_refresh`] or [`Store::end_credentials`].
    Ours,
    /// Another worker holds the lease, or has renewed them already: wait, and
    /// read them again.
    Held,
}

/// New credentials of a grant.
#[derive(Clone, Debug)]
pub struct Refreshed {
    /// Sealed for [`super::grant_context`].
    pub sealed: Vec<u8>,
    /// When they end; `None` when they do not.
    pub token_expires_at: Option<DateTime<Utc>>,
    /// When they were issued.
    pub renewed_at: DateTime<Utc>,
    /// When they are to be looked after; `None` when never.
    pub refresh_at: Option<DateTime<Utc>>,
}

/// Some of the grants that are to be looked after.
#[derive(Clone, Debug)]
pub struct RefreshPage {
    /// Owner and name of each, the longest overdue first. The index may be
    /// behind: see [`Store::credentials_to_refresh`].
    pub entries: Vec<(UserId, String)>,
    /// Where the next page begins, if there is one.
    pub next: Option<RefreshKey>,
}

/// Where a page of the `refresh` index ended.
#[derive(Clone, Debug)]
pub struct RefreshKey(pub(crate) Item);

impl Store {
    /// Grants of one of [`REFRESH_SHARDS`] that are to be looked after by
    /// `until`; from the beginning or from `page` on, at most `limit`.
    pub async fn grants_to_refresh(
        &self,
        shard: u32,
        until: DateTime<Utc>,
        page: Option<RefreshKey>,
        limit: i32,
    ) -> Result<RefreshPage, StorageError> {
        let (items, next) = self.to_refresh(Table::Credentials, shard, until, page, limit).await?;
        let names = items
            .iter()
            .filter_map(|it| Some((UserId::new(number(it, "user_id")?)?, it.get("grant_name")?.as_s().ok()?.clone())));
        Ok(RefreshPage { entries: names.collect(), next })
    }

    pub(crate) async fn to_refresh(
        &self,
        table: Table,
        shard: u32,
        until: DateTime<Utc>,
        page: Option<RefreshKey>,
        limit: i32,
    ) -> Result<(Vec<Item>, Option<RefreshKey>), StorageError> {
        let found = self
            .client
            .query()
            .table_name(self.table(table))
            .index_name("refresh")
            .key_condition_expression("refresh_shard = :shard AND refresh_at <= :until")
            .expression_attribute_values(":shard", s(shard.to_string()))
            .expression_attribute_values(":until", at(until))
            .set_exclusive_start_key(page.map(|it| it.0))
            .limit(limit)
            .send()
            .await?;
        Ok((found.items.unwrap_or_default(), found.last_evaluated_key.map(RefreshKey)))
    }

    /// A grant that the index has for `until`, read from the table; `None` when
    /// it was looked after or put off since, or is gone.
    pub async fn credentials_to_refresh(
        &self,
        user: UserId,
        grant_name: &str,
        until: DateTime<Utc>,
    ) -> Result<Option<CredentialsRecord>, StorageError> {
        let found = self.credentials_item(user, grant_name).await?;
        found.filter(|it| is_due(it, until)).map(read).transpose()
    }

    /// Takes the renewal of credentials as they were read. Of any number of
    /// callers at the same time, at most one gets [`RefreshClaim::Ours`].
    pub async fn claim_refresh(
        &self,
        record: &CredentialsRecord,
        now: DateTime<Utc>,
    ) -> Result<RefreshClaim, StorageError> {
        self.claim_refresh_as(random_u64(), record, now).await
    }

    /// The SDK sends a request again when its answer was lost, and meets the
    /// lease that the first one took. Both name the same holder, so the second
    /// gets the lease too.
    pub(super) async fn claim_refresh_as(
        &self,
        holder: u64,
        record: &CredentialsRecord,
        now: DateTime<Utc>,
    ) -> Result<RefreshClaim, StorageError> {
        let update = self
            .update_credentials(record)
            .condition_expression(
                "generation = :generation AND is_gone = :no AND \
                 (attribute_not_exists(refresh_lease) OR refresh_lease <= :now OR refresh_holder = :holder)",
            )
            .update_expression("SET refresh_lease = :ends, refresh_holder = :holder")
            .expression_attribute_values(":generation", n(record.generation))
            .expression_attribute_values(":no", AttributeValue::Bool(false))
            .expression_attribute_values(":now", at(now))
            .expression_attribute_values(":holder", n(holder))
            .expression_attribute_values(":ends", at(now + REFRESH_LEASE));
        Ok(if won(update).await? { RefreshClaim::Ours } else { RefreshClaim::Held })
    }

    /// Keeps renewed credentials; the generation that they have now. `None` when
    /// others were given since they were read, and nothing was written.
    ///
    /// That the grant is gone is taken back. It can have been said when the lease
    /// of this renewal ran out: the next worker was refused with the refresh token
    /// that this one had spent. The new credentials show that it is not so.
    pub async fn store_refreshed(
        &self,
        record: &CredentialsRecord,
        refreshed: Refreshed,
    ) -> Result<Option<u64>, StorageError> {
        let generation = record.generation + 1;
        let mut change = Change::default();
        change.set("generation", n(generation));
        change.set("credentials", AttributeValue::B(Blob::new(refreshed.sealed)));
        change.set("is_gone", AttributeValue::Bool(false));
        change.set("renewed_at", at(refreshed.renewed_at));
        change.set_or_remove("token_expires_at", refreshed.token_expires_at.map(at));
        change.refresh_at(record.user_id, refreshed.refresh_at);
        let update = self
            .update_credentials(record)
            .condition_expression("generation = :before")
            .update_expression(change.expression())
            .set_expression_attribute_names(Some(change.names))
            .set_expression_attribute_values(Some(change.values))
            .expression_attribute_values(":before", n(record.generation));
        Ok(won(update).await?.then_some(generation))
    }

    /// These credentials are not renewed now, but looked at again at
    /// `refresh_at`; never, when that is `None`.
    pub async fn put_off_refresh(
        &self,
        record: &CredentialsRecord,
        refresh_at: Option<DateTime<Utc>>,
    ) -> Result<bool, StorageError> {
        let mut change = Change::default();
        change.refresh_at(record.user_id, refresh_at);
        let mut update = self
            .update_credentials(record)
            .condition_expression("generation = :before AND is_gone = :no")
            .update_expression(change.expression())
            .set_expression_attribute_values(Some(change.values))
            .expression_attribute_values(":before", n(record.generation))
            .expression_attribute_values(":no", AttributeValue::Bool(false));
        if !change.names.is_empty() {
            update = update.set_expression_attribute_names(Some(change.names));
        }
        won(update).await
    }

    /// Notes that the platform says that the grant is gone; last, after each of
    /// its connections was marked. False when the credentials were changed since
    /// they were read: the platform refused the old ones.
    pub async fn end_credentials(&self, record: &CredentialsRecord) -> Result<bool, StorageError> {
        let update = self
            .update_credentials(record)
            .condition_expression("generation = :generation")
            .update_expression("SET is_gone = :yes REMOVE refresh_shard, refresh_at, refresh_lease, refresh_holder")
            .expression_attribute_values(":generation", n(record.generation))
            .expression_attribute_values(":yes", AttributeValue::Bool(true));
        won(update).await
    }

    fn update_credentials(&self, record: &CredentialsRecord) -> UpdateItemFluentBuilder {
        let key = credentials_key(record.user_id, &record.grant_name);
        self.client.update_item().table_name(self.table(Table::Credentials)).set_key(Some(key))
    }
}

/// Whether an item of a `refresh` index still wants to be looked after by then.
pub(crate) fn is_due(item: &Item, until: DateTime<Utc>) -> bool {
    number(item, "refresh_at").is_some_and(|at: i64| at <= until.timestamp_millis())
}

pub(crate) fn number<T: std::str::FromStr>(item: &Item, name: &str) -> Option<T> {
    item.get(name)?.as_n().ok()?.parse().ok()
}

/// Whether an update's condition held.
///
/// Transactions write connections and credentials too: a post that is being
/// scheduled counts itself at its connections. An update that meets one is
/// refused.
pub(crate) async fn won(update: UpdateItemFluentBuilder) -> Result<bool, StorageError> {
    let mut patience = RetryPolicy::default();
    loop {
        match update.clone().send().await {
            Err(error) if meets_a_transaction(&error) && patience.wait().await => {}
            written => return Ok(WriteOutcome::from_write(written)?.is_won()),
        }
    }
}
