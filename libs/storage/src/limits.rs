//! Counters: requests per minute and subject, and wrong entries of user codes.

use aws_sdk_dynamodb::types::ReturnValue;
use chrono::{DateTime, TimeDelta, Utc};
use serde::Deserialize;

use crate::error::StorageError;
use crate::item::{Item, at, attributes, from_item, n, s, ttl};
use crate::write_outcome::{WriteOutcome, if_applied};
use crate::write_retries::WriteRetries;
use crate::{Store, Table};

/// Includes the request just counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    pub requests: u32,
    pub media: u32,
    pub window_ends: DateTime<Utc>,
}

/// Wrong entries of codes in a window: those counted and not uncounted, including the latest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entries {
    pub count: u32,
    pub window_ends: DateTime<Utc>,
}

#[derive(Deserialize)]
struct Counters {
    #[serde(default)]
    requests: u32,
    #[serde(default)]
    media: u32,
    #[serde(default)]
    entries: u32,
    #[serde(default)]
    window_ends: i64,
}

/// There is one window at a time, which starts with its first entry, not with a minute.
const NO_MINUTE: i64 = 0;

impl Store {
    /// Counts an upload in addition to the request if `is_upload`.
    pub async fn count(&self, subject: &str, is_upload: bool, now: DateTime<Utc>) -> Result<Counted, StorageError> {
        let (minute, window_ends) = minute_of(now);
        let counted = self
            .client
            .update_item()
            .table_name(self.table(Table::Limits))
            .set_key(Some(key(subject, minute)))
            .update_expression("ADD requests :one, media :media SET #ttl = :ttl")
            .expression_attribute_names("#ttl", "ttl")
            .expression_attribute_values(":one", n(1))
            .expression_attribute_values(":media", n(u8::from(is_upload)))
            .expression_attribute_values(":ttl", ttl(window_ends))
            .return_values(ReturnValue::AllNew)
            .send()
            .await?;
        let counters: Counters = from_item(counted.attributes.unwrap_or_default())?;
        Ok(Counted { requests: counters.requests, media: counters.media, window_ends })
    }

    /// The window of a subject starts with its first entry.
    pub async fn count_entry(
        &self,
        subject: &str,
        window: TimeDelta,
        now: DateTime<Utc>,
    ) -> Result<Entries, StorageError> {
        // The two writes have opposite conditions, so one of them succeeds, unless a window ends or
        // is opened between them. Then the next attempt succeeds; a third is needed only if that
        // happens twice.
        let mut retries = WriteRetries::without_waits(3);
        loop {
            if let Some(entries) = self.count_in_open_window(subject, now).await? {
                return Ok(entries);
            }
            if let Some(entries) = self.open_window(subject, now + window, now).await? {
                return Ok(entries);
            }
            retries.next_attempt().await?;
        }
    }

    /// Changes nothing if another window than the one that ends at `window_ends` has started since.
    pub async fn uncount_entry(&self, subject: &str, window_ends: DateTime<Utc>) -> Result<(), StorageError> {
        let update = self
            .client
            .update_item()
            .table_name(self.table(Table::Limits))
            .set_key(Some(key(subject, NO_MINUTE)))
            .condition_expression("window_ends = :ends AND entries > :none")
            .update_expression("ADD entries :back")
            .expression_attribute_values(":ends", at(window_ends))
            .expression_attribute_values(":none", n(0))
            .expression_attribute_values(":back", n(-1))
            .send()
            .await;
        WriteOutcome::from_write(update).map(drop)
    }

    async fn count_in_open_window(&self, subject: &str, now: DateTime<Utc>) -> Result<Option<Entries>, StorageError> {
        let update = self
            .client
            .update_item()
            .table_name(self.table(Table::Limits))
            .set_key(Some(key(subject, NO_MINUTE)))
            .condition_expression("window_ends > :now")
            .update_expression("ADD entries :one")
            .expression_attribute_values(":now", at(now))
            .expression_attribute_values(":one", n(1))
            .return_values(ReturnValue::AllNew)
            .send()
            .await;
        if_applied(update)?.map(|it| entries(it.attributes)).transpose()
    }

    async fn open_window(
        &self,
        subject: &str,
        window_ends: DateTime<Utc>,
        now: DateTime<Utc>,
    ) -> Result<Option<Entries>, StorageError> {
        let update = self
            .client
            .update_item()
            .table_name(self.table(Table::Limits))
            .set_key(Some(key(subject, NO_MINUTE)))
            .condition_expression("attribute_not_exists(window_ends) OR window_ends <= :now")
            .update_expression("SET entries = :one, window_ends = :ends, #ttl = :ttl")
            .expression_attribute_names("#ttl", "ttl")
            .expression_attribute_values(":now", at(now))
            .expression_attribute_values(":one", n(1))
            .expression_attribute_values(":ends", at(window_ends))
            .expression_attribute_values(":ttl", ttl(window_ends))
            .return_values(ReturnValue::AllNew)
            .send()
            .await;
        if_applied(update)?.map(|it| entries(it.attributes)).transpose()
    }
}

/// The number of the minute, and when it ends.
pub fn minute_of(now: DateTime<Utc>) -> (i64, DateTime<Utc>) {
    let minute = now.timestamp().div_euclid(60);
    (minute, DateTime::from_timestamp((minute + 1) * 60, 0).unwrap_or(now))
}

fn key(subject: &str, minute: i64) -> Item {
    attributes([("subject", s(subject)), ("minute", n(minute))])
}

fn entries(item: Option<Item>) -> Result<Entries, StorageError> {
    let counters: Counters = from_item(item.unwrap_or_default())?;
    let window_ends = DateTime::from_timestamp_millis(counters.window_ends).unwrap_or_default();
    Ok(Entries { count: counters.entries, window_ends })
}

#[cfg(test)]
mod tests {
    use domain::testing::noon;

    use super::*;
    use crate::testing::store;

    #[tokio::test]
    async fn requests_and_uploads_are_counted_by_the_minute() {
        let store = store().await;

        store.count("user#1", false, noon()).await.unwrap();
        let counted = store.count("user#1", true, noon() + TimeDelta::seconds(59)).await.unwrap();
        let other = store.count("user#2", false, noon()).await.unwrap();
        let next = store.count("user#1", false, noon() + TimeDelta::seconds(60)).await.unwrap();

        assert_eq!(counted, Counted { requests: 2, media: 1, window_ends: noon() + TimeDelta::seconds(60) });
        assert_eq!(other.requests, 1);
        assert_eq!((next.requests, next.media), (1, 0));
    }

    #[tokio::test]
    async fn window_of_entries_starts_with_the_first_and_is_not_extended() {
        let store = store().await;
        let quarter = TimeDelta::minutes(15);

        let first = store.count_entry("codes", quarter, noon()).await.unwrap();
        let second = store.count_entry("codes", quarter, noon() + TimeDelta::minutes(14)).await.unwrap();
        let after = store.count_entry("codes", quarter, noon() + quarter).await.unwrap();

        assert_eq!(first, Entries { count: 1, window_ends: noon() + quarter });
        assert_eq!(second, Entries { count: 2, window_ends: noon() + quarter });
        assert_eq!(after, Entries { count: 1, window_ends: noon() + quarter * 2 });
    }

    #[tokio::test]
    async fn entry_can_be_uncounted_while_its_window_is_open() {
        let store = store().await;
        let quarter = TimeDelta::minutes(15);
        let first = store.count_entry("codes", quarter, noon()).await.unwrap();

        store.uncount_entry("codes", first.window_ends).await.unwrap();
        store.uncount_entry("codes", first.window_ends).await.unwrap();
        let next = store.count_entry("codes", quarter, noon()).await.unwrap();

        assert_eq!(next.count, 1);
    }
}
