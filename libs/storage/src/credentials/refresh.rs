//! Refresh of credentials: by one worker at a time, and never over newer credentials.

use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, Utc};
use domain::credentials::REFRESH_LEASE;
use domain::id::UserId;

use super::{CredentialsRecord, credentials_key, read};
use crate::Store;
use crate::change::Change;
use crate::error::StorageError;
use crate::item::{Item, at, n, s};
use crate::schema::Table;
use crate::write_outcome::WriteOutcome;
use crate::write_retries::{WriteRetries, is_transaction_conflict};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefreshClaim {
    /// The caller holds the lease, and ends it with [`Store::store_refreshed`],
    /// [`Store::postpone_refresh`] or [`Store::end_credentials`].
    Ours,
    /// Another worker holds the lease or has refreshed the credentials: wait and read them again.
    Held,
}

#[derive(Clone, Debug)]
pub struct RefreshPage {
    /// User and grant name, longest overdue first. The index may lag behind: read each with
    /// [`Store::credentials_to_refresh`].
    pub entries: Vec<(UserId, String)>,
    /// `None` on the last page.
    pub next: Option<RefreshKey>,
}

#[derive(Clone, Debug)]
pub struct RefreshKey(Item);

impl Store {
    /// Grants of one of [`crate::REFRESH_SHARDS`] shards that are due by `until`, at most `limit`,
    /// starting at `page` or at the beginning.
    pub async fn grants_to_refresh(
        &self,
        shard: u32,
        until: DateTime<Utc>,
        page: Option<RefreshKey>,
        limit: i32,
    ) -> Result<RefreshPage, StorageError> {
        let found = self
            .client
            .query()
            .table_name(self.table(Table::Credentials))
            .index_name("refresh")
            .key_condition_expression("refresh_shard = :shard AND refresh_at <= :until")
            .expression_attribute_values(":shard", s(shard.to_string()))
            .expression_attribute_values(":until", at(until))
            .set_exclusive_start_key(page.map(|it| it.0))
            .limit(limit)
            .send()
            .await?;
        let names = found
            .items()
            .iter()
            .filter_map(|it| Some((UserId::new(number(it, "user_id")?)?, it.get("grant_name")?.as_s().ok()?.clone())));
        Ok(RefreshPage { entries: names.collect(), next: found.last_evaluated_key.map(RefreshKey) })
    }

    /// Read from the table; `None` if the grant was refreshed or postponed since, or is gone.
    pub async fn credentials_to_refresh(
        &self,
        user: UserId,
        grant_name: &str,
        until: DateTime<Utc>,
    ) -> Result<Option<CredentialsRecord>, StorageError> {
        let found = self.credentials_item(user, grant_name).await?;
        found.filter(|it| is_due(it, until)).map(read).transpose()
    }

    /// Of concurrent callers, at most one gets [`RefreshClaim::Ours`].
    pub async fn claim_refresh(
        &self,
        record: &CredentialsRecord,
        now: DateTime<Utc>,
    ) -> Result<RefreshClaim, StorageError> {
        self.claim_refresh_as(self.random.u64(), record, now).await
    }

    /// When a response is lost, the SDK repeats the request and finds the lease of its first
    /// request. Both name the same `holder`, so the repeated request gets the lease too.
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
            .expression_attribute_values(":generation", n(record.state.generation))
            .expression_attribute_values(":no", AttributeValue::Bool(false))
            .expression_attribute_values(":now", at(now))
            .expression_attribute_values(":holder", n(holder))
            .expression_attribute_values(":ends", at(now + REFRESH_LEASE));
        Ok(if self.send_update(update).await? { RefreshClaim::Ours } else { RefreshClaim::Held })
    }

    /// Returns `false` if the stored credentials have changed since they were read: nothing is
    /// written.
    pub async fn store_refreshed(
        &self,
        before: &CredentialsRecord,
        after: &CredentialsRecord,
    ) -> Result<bool, StorageError> {
        let mut change = Change::default();
        change.set("credentials", AttributeValue::B(Blob::new(after.sealed.clone())));
        change.credential_state(after.user_id, &after.state);
        let update = self
            .update_credentials(before)
            .condition_expression("generation = :before")
            .update_expression(change.expression())
            .set_expression_attribute_names(Some(change.names))
            .set_expression_attribute_values(Some(change.values))
            .expression_attribute_values(":before", n(before.state.generation));
        self.send_update(update).await
    }

    /// Ends the lease without new credentials; they are due again at `refresh_at`, or never.
    pub async fn postpone_refresh(
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
            .expression_attribute_values(":before", n(record.state.generation))
            .expression_attribute_values(":no", AttributeValue::Bool(false));
        if !change.names.is_empty() {
            update = update.set_expression_attribute_names(Some(change.names));
        }
        self.send_update(update).await
    }

    /// Records that the platform ended the grant. Call this last, after marking each connection.
    /// Returns `false` if the credentials have changed since they were read: then the platform
    /// refused the old ones.
    pub async fn end_credentials(&self, record: &CredentialsRecord) -> Result<bool, StorageError> {
        let update = self
            .update_credentials(record)
            .condition_expression("generation = :generation")
            .update_expression("SET is_gone = :yes REMOVE refresh_shard, refresh_at, refresh_lease, refresh_holder")
            .expression_attribute_values(":generation", n(record.state.generation))
            .expression_attribute_values(":yes", AttributeValue::Bool(true));
        self.send_update(update).await
    }

    fn update_credentials(&self, record: &CredentialsRecord) -> UpdateItemFluentBuilder {
        let key = credentials_key(record.user_id, &record.grant_name);
        self.client.update_item().table_name(self.table(Table::Credentials)).set_key(Some(key))
    }

    /// Sends an update; returns whether its condition held.
    ///
    /// Retries conflicts with transactions, which write connections and credentials too: a post
    /// that is being scheduled counts itself on its connections.
    pub(crate) async fn send_update(&self, update: UpdateItemFluentBuilder) -> Result<bool, StorageError> {
        let mut retries = WriteRetries::with_backoff(&self.random);
        loop {
            match update.clone().send().await {
                Err(error) if is_transaction_conflict(&error) && retries.next_attempt().await.is_ok() => {}
                written => return Ok(WriteOutcome::from_write(written)?.is_applied()),
            }
        }
    }
}

fn is_due(item: &Item, until: DateTime<Utc>) -> bool {
    number(item, "refresh_at").is_some_and(|at: i64| at <= until.timestamp_millis())
}

fn number<T: std::str::FromStr>(item: &Item, name: &str) -> Option<T> {
    item.get(name)?.as_n().ok()?.parse().ok()
}
