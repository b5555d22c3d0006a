//! The storage quotas of each user and of each profile, for files that are not part of a published post.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::builders::UpdateBuilder;
use aws_sdk_dynamodb::types::{TransactWriteItem, Update};
use chrono::{DateTime, Utc};
use domain::id::{MediaId, ProfileId, UserId};

use super::{MAX_ATTEMPTS, Medium, difference, medium_key};
use crate::error::StorageError;
use crate::item::{Item, attributes, from_item, n};
use crate::transaction::TransactionOutcome;
use crate::write_retries::WriteRetries;
use crate::{Store, Table};

/// DynamoDB's limit for one transaction.
const MAX_WRITES: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    pub bytes: u64,
    pub files: u64,
    /// Total size of the files of each profile; `None` for no limit.
    pub bytes_of_profile: Option<u64>,
}

/// Files and bytes.
type QuotaChange = (i64, i64);

impl Store {
    /// `None` if the file is larger than the whole quota.
    pub(super) fn reserve_quota_action(
        &self,
        user: UserId,
        profile: Option<ProfileId>,
        bytes: u64,
        (max_bytes, max_files): (u64, u64),
    ) -> Result<Option<TransactWriteItem>, StorageError> {
        let (Some(left), Some(files)) = (max_bytes.checked_sub(bytes), max_files.checked_sub(1)) else {
            return Ok(None);
        };
        let update = self
            .update_quota(user, profile)
            .update_expression("ADD held_files :files, held_bytes :bytes")
            .condition_expression(
                "(attribute_not_exists(held_files) OR held_files <= :max_files) AND \
                 (attribute_not_exists(held_bytes) OR held_bytes <= :left)",
            )
            .expression_attribute_values(":files", n(1))
            .expression_attribute_values(":bytes", n(bytes))
            .expression_attribute_values(":max_files", n(files))
            .expression_attribute_values(":left", n(left));
        let update = update.build().map_err(StorageError::build)?;
        Ok(Some(TransactWriteItem::builder().update(update).build()))
    }

    /// Changes the quotas of the user and of the profiles to which the files belong.
    pub(super) fn change_quota_actions<'a>(
        &self,
        user: UserId,
        changes: impl IntoIterator<Item = (&'a Medium, QuotaChange)>,
    ) -> Result<Vec<TransactWriteItem>, StorageError> {
        let mut sums: BTreeMap<Option<ProfileId>, QuotaChange> = BTreeMap::new();
        for (medium, (files, bytes)) in changes {
            let profile = medium.of_profile.as_ref().map(|it| Some(it.profile_id));
            for holder in [Some(None), profile].into_iter().flatten() {
                let sum = sums.entry(holder).or_default();
                *sum = (sum.0 + files, sum.1 + bytes);
            }
        }
        let action = |(profile, (files, bytes)): (_, QuotaChange)| {
            let update = self
                .update_quota(user, profile)
                .update_expression("ADD held_files :files, held_bytes :bytes")
                .expression_attribute_values(":files", n(files))
                .expression_attribute_values(":bytes", n(bytes));
            let update = update.build().map_err(StorageError::build)?;
            Ok(TransactWriteItem::builder().update(update).build())
        };
        sums.into_iter().map(action).collect()
    }

    fn update_quota(&self, user: UserId, profile: Option<ProfileId>) -> UpdateBuilder {
        Update::builder().table_name(self.table(Table::Media)).set_key(Some(quota_key(user, profile)))
    }

    /// The file must exist, not be in removal, and have the `held_bytes` that were read.
    pub(super) fn update_media_file(&self, read: &Medium, update: &str) -> UpdateBuilder {
        let exists = "attribute_exists(media_id) AND attribute_not_exists(doomed)";
        let builder = Update::builder()
            .table_name(self.table(Table::Media))
            .set_key(Some(medium_key(read.user_id, read.media_id)))
            .update_expression(update);
        match read.held_bytes {
            Some(held) => builder
                .condition_expression(format!("{exists} AND held_bytes = :held"))
                .expression_attribute_values(":held", n(held)),
            None => builder.condition_expression(format!("{exists} AND attribute_not_exists(held_bytes)")),
        }
    }

    /// Oldest first. Each upload occupies its maximum size.
    pub async fn pending_uploads(&self, user: UserId, since: DateTime<Utc>) -> Result<Vec<Medium>, StorageError> {
        let (mut expected, mut start) = (Vec::new(), None);
        loop {
            let page = self
                .client
                .query()
                .table_name(self.table(Table::Media))
                .key_condition_expression("user_id = :user AND media_id >= :first")
                .filter_expression(
                    "attribute_exists(held_bytes) AND attribute_not_exists(size_bytes) AND attribute_not_exists(doomed)",
                )
                .expression_attribute_values(":user", n(user))
                .expression_attribute_values(":first", n(MediaId::first_at(since)))
                .consistent_read(true)
                .set_exclusive_start_key(start)
                .send()
                .await?;
            for item in page.items.unwrap_or_default() {
                expected.push(from_item(item)?);
            }
            start = page.last_evaluated_key;
            if start.is_none() {
                return Ok(expected);
            }
        }
    }

    /// Reduces `held_bytes` of uploads that have arrived to their size in bytes. Files that were
    /// changed since they were read are left unchanged.
    pub async fn reduce_held_bytes(&self, user: UserId, arrived: &[(Medium, u64)]) -> Result<(), StorageError> {
        // Each file may belong to another profile.
        for part in arrived.chunks((MAX_WRITES - 1) / 2) {
            let mut part: Vec<_> = part.iter().collect();
            while !part.is_empty() {
                let (mut writes, mut changes) = (Vec::new(), Vec::new());
                for (medium, size_bytes) in &part {
                    let update = self
                        .update_media_file(medium, "SET held_bytes = :size")
                        .expression_attribute_values(":size", n(size_bytes));
                    let update = update.build().map_err(StorageError::build)?;
                    writes.push(TransactWriteItem::builder().update(update).build());
                    let held = medium.held_bytes.unwrap_or_default();
                    changes.push((medium, (0, difference(held, *size_bytes))));
                }
                writes.extend(self.change_quota_actions(user, changes)?);
                match self.transact(writes).await? {
                    TransactionOutcome::Refused(index) if index < part.len() => drop(part.remove(index)),
                    TransactionOutcome::Refused(_) | TransactionOutcome::Done => break,
                }
            }
        }
        Ok(())
    }

    /// Records that these files are part of a published post: they are never removed, and no longer
    /// occupy quota.
    pub async fn mark_media_published(&self, user: UserId, ids: &[MediaId]) -> Result<(), StorageError> {
        let mut retries = WriteRetries::without_waits(MAX_ATTEMPTS);
        loop {
            let media = self.media(user, ids).await?;
            let holding: Vec<_> = media.iter().filter(|it| it.held_bytes.is_some()).collect();
            // Each file may belong to another profile.
            let (part, rest) = holding.split_at(holding.len().min((MAX_WRITES - 1) / 2));
            if part.is_empty() {
                return Ok(());
            }
            let mut writes = Vec::new();
            for medium in part {
                let update = self
                    .update_media_file(medium, "SET published = :yes REMOVE held_bytes, unused_shard, unused_since")
                    .expression_attribute_values(":yes", aws_sdk_dynamodb::types::AttributeValue::Bool(true));
                let update = update.build().map_err(StorageError::build)?;
                writes.push(TransactWriteItem::builder().update(update).build());
            }
            let released = part.iter().map(|it| (*it, (-1, difference(it.held_bytes.unwrap_or_default(), 0))));
            writes.extend(self.change_quota_actions(user, released)?);
            match self.transact(writes).await? {
                TransactionOutcome::Done if rest.is_empty() => return Ok(()),
                TransactionOutcome::Done => {}
                TransactionOutcome::Refused(_) => retries.next_attempt().await?,
            }
        }
    }
}

/// No file has id 0 or a negative id.
pub(crate) fn quota_key(user: UserId, profile: Option<ProfileId>) -> Item {
    let id = profile.map_or(0, |it| -it.get().cast_signed());
    attributes([("user_id", n(user)), ("media_id", n(id))])
}
