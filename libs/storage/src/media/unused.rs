//! Files that no post uses: finding them, preventing further use, and removing them.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::types::{AttributeValue, Delete, TransactWriteItem};
use chrono::{DateTime, Utc};
use domain::id::{MediaId, UserId};
use domain::media::{MediaPath, MimeType};
use domain::post::Post;
use serde::Deserialize;

use super::{MAX_ATTEMPTS, MediaRemoval, UNUSED_SHARDS, difference, medium_key, shard_name};
use crate::error::StorageError;
use crate::item::{at, from_item, n, s};
use crate::transaction::TransactionOutcome;
use crate::write_outcome::WriteOutcome;
use crate::write_retries::WriteRetries;
use crate::{Store, Table};

#[derive(Deserialize)]
struct UnusedEntry {
    user_id: UserId,
    media_id: MediaId,
    mime_type: MimeType,
}

impl Store {
    /// Verified files that no post has used since `before`: the oldest of each partition, at most
    /// `limit` in all. The index may lag behind, so each is only a candidate for
    /// [`Store::mark_unused_for_removal`].
    pub async fn unused_media(&self, before: DateTime<Utc>, limit: usize) -> Result<Vec<MediaPath>, StorageError> {
        self.unused_in(true, before, limit).await
    }

    /// Like [`Self::unused_media`], for unverified files that were requested before `before`.
    pub async fn unverified_media(&self, before: DateTime<Utc>, limit: usize) -> Result<Vec<MediaPath>, StorageError> {
        self.unused_in(false, before, limit).await
    }

    async fn unused_in(
        &self,
        is_verified: bool,
        before: DateTime<Utc>,
        limit: usize,
    ) -> Result<Vec<MediaPath>, StorageError> {
        let mut found = Vec::new();
        for number in 0..UNUSED_SHARDS {
            let mut start = None;
            while found.len() < limit {
                let page = self
                    .client
                    .query()
                    .table_name(self.table(Table::Media))
                    .index_name("unused")
                    .key_condition_expression("unused_shard = :shard AND unused_since < :before")
                    .expression_attribute_values(":shard", s(shard_name(is_verified, number)))
                    .expression_attribute_values(":before", at(before))
                    .limit(i32::try_from(limit - found.len()).unwrap_or(i32::MAX))
                    .set_exclusive_start_key(start)
                    .send()
                    .await?;
                for item in page.items.unwrap_or_default() {
                    let unused: UnusedEntry = from_item(item)?;
                    found.push(MediaPath::new(unused.user_id, unused.media_id, unused.mime_type));
                }
                start = page.last_evaluated_key;
                if start.is_none() {
                    break;
                }
            }
        }
        Ok(found)
    }

    pub async fn media_of_posts(&self, user: UserId) -> Result<BTreeSet<MediaId>, StorageError> {
        let mut posts = self.query_posts(user).into_paginator().items().send();
        let mut all = BTreeSet::new();
        while let Some(post) = posts.next().await.transpose()? {
            let post: Post = from_item(post)?;
            all.extend(post.files().map(|it| it.media_id));
        }
        Ok(all)
    }

    /// Records that a post is about to release these files, so that they are removed later if no
    /// other post uses them. Files of published posts are never released.
    pub async fn release_media(&self, user: UserId, ids: &[MediaId], now: DateTime<Utc>) -> Result<(), StorageError> {
        let releases = ids.iter().map(async |id| {
            let update = self
                .client
                .update_item()
                .table_name(self.table(Table::Media))
                .set_key(Some(medium_key(user, *id)))
                .condition_expression("attribute_exists(size_bytes) AND attribute_not_exists(published)")
                .update_expression("SET unused_since = :now, unused_shard = :shard")
                .expression_attribute_values(":now", at(now))
                .expression_attribute_values(":shard", s(shard_name(true, id.get() % UNUSED_SHARDS)));
            self.send_update(update).await.map(drop)
        });
        futures::future::try_join_all(releases).await.map(drop)
    }

    /// Removes a file that is used after all from the index, unless it was released since `before`.
    pub async fn unmark_unused(&self, path: MediaPath, before: DateTime<Utc>) -> Result<(), StorageError> {
        let kept = self
            .client
            .update_item()
            .table_name(self.table(Table::Media))
            .set_key(Some(medium_key(path.user(), path.media())))
            .condition_expression("unused_since < :before AND attribute_not_exists(doomed)")
            .update_expression("REMOVE unused_since, unused_shard")
            .expression_attribute_values(":before", at(before))
            .send()
            .await;
        WriteOutcome::from_write(kept).map(drop)
    }

    /// Prevents further use of a file that no post has used since `before`. The record stays until
    /// the removal is complete.
    pub async fn mark_unused_for_removal(
        &self,
        path: MediaPath,
        before: DateTime<Utc>,
    ) -> Result<MediaRemoval, StorageError> {
        let condition = "unused_since < :before";
        self.mark_for_removal(path, condition, Some(before)).await
    }

    /// Like [`Self::mark_unused_for_removal`], for a file that failed verification.
    pub async fn mark_unusable_for_removal(&self, path: MediaPath) -> Result<MediaRemoval, StorageError> {
        let condition = "attribute_exists(unused_since) AND attribute_not_exists(size_bytes)";
        self.mark_for_removal(path, condition, None).await
    }

    async fn mark_for_removal(
        &self,
        path: MediaPath,
        condition: &str,
        before: Option<DateTime<Utc>>,
    ) -> Result<MediaRemoval, StorageError> {
        let mut update = self
            .client
            .update_item()
            .table_name(self.table(Table::Media))
            .set_key(Some(medium_key(path.user(), path.media())))
            .condition_expression(condition)
            .update_expression("SET doomed = :yes")
            .expression_attribute_values(":yes", AttributeValue::Bool(true));
        if let Some(before) = before {
            update = update.expression_attribute_values(":before", at(before));
        }
        Ok(match WriteOutcome::from_write(update.send().await)? {
            WriteOutcome::Applied => MediaRemoval::Doomed,
            WriteOutcome::Conflict => MediaRemoval::Spared,
        })
    }

    /// Call this after deleting the file from the bucket. Releases the quota that the file
    /// occupied.
    pub async fn delete_media_record(&self, path: MediaPath) -> Result<(), StorageError> {
        let mut retries = WriteRetries::without_waits(MAX_ATTEMPTS);
        loop {
            let Some(medium) = self.media(path.user(), &[path.media()]).await?.pop() else { return Ok(()) };
            if medium.unused_since.is_none() {
                return Ok(());
            }
            let delete = Delete::builder()
                .table_name(self.table(Table::Media))
                .set_key(Some(medium_key(path.user(), path.media())));
            let delete = match medium.held_bytes {
                Some(held) => delete
                    .condition_expression("attribute_exists(unused_since) AND held_bytes = :held")
                    .expression_attribute_values(":held", n(held)),
                None => {
                    delete.condition_expression("attribute_exists(unused_since) AND attribute_not_exists(held_bytes)")
                }
            };
            let delete = delete.build().map_err(StorageError::build)?;
            let mut writes = vec![TransactWriteItem::builder().delete(delete).build()];
            if let Some(held) = medium.held_bytes {
                writes.extend(self.change_quota_actions(path.user(), [(&medium, (-1, difference(held, 0)))])?);
            }
            if self.transact(writes).await? == TransactionOutcome::Done {
                return Ok(());
            }
            retries.next_attempt().await?;
        }
    }
}
