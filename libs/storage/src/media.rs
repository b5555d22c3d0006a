//! Uploaded files: their declared and verified properties.
//!
//! A file that no post uses is listed in the index `unused`, by the time since when. Until its upload
//! is verified in the bucket, it is in separate partitions. The first post that uses the file
//! removes it from the index; a post that releases it adds it again.
//!
//! The item with id 0 counts the storage quota that a user's files occupy, and one for each profile
//! what the files of the profile occupy. Every write that changes what a file occupies changes the
//! counts in the same transaction.

mod of_profile;
mod room;
#[cfg(test)]
mod tests;
mod unused;

use std::collections::BTreeSet;

use aws_sdk_dynamodb::types::{Put, TransactWriteItem};
use chrono::{DateTime, Utc};
use domain::id::{MediaId, UserId};
use domain::media::{Facts, MediaPath, MimeType};
use domain::owner::Owner;
use domain::profile::ProfileRef;
use serde::{Deserialize, Serialize};

use crate::error::StorageError;
use crate::item::{Item, attributes, from_item, n, s, to_item};
use crate::transaction::TransactionOutcome;
use crate::write_retries::WriteRetries;
use crate::{Store, Table};

pub use self::room::Room;
pub(crate) use self::room::quota_key;

/// Partitions of the index `unused`. A constant, because a file's partition is derived from its id.
const UNUSED_SHARDS: u64 = 4;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Medium {
    pub user_id: UserId,
    pub media_id: MediaId,
    /// The profile of the token that requested the upload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_profile: Option<ProfileRef>,
    /// As declared; verified once `size_bytes` is known.
    pub mime_type: MimeType,
    /// The size found in the bucket, together with first bytes of `mime_type`; `None` until the
    /// upload is verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Dimensions, duration and the like, read from the file; `None` until a post uses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facts: Option<Facts>,
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub created_at: DateTime<Utc>,
    /// Since when no post uses the file; `None` while one does. A released file may still be used
    /// by another post; the posts are authoritative.
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub unused_since: Option<DateTime<Utc>>,
    /// The part of the user's quota that the file occupies: its size, or its maximum size until that
    /// is known. `None` once the file is part of a published post.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_bytes: Option<u64>,
    #[serde(default, skip_serializing)]
    pub doomed: bool,
}

impl Medium {
    pub fn expected(user: UserId, id: MediaId, mime_type: MimeType, now: DateTime<Utc>) -> Self {
        Self {
            user_id: user,
            media_id: id,
            of_profile: None,
            mime_type,
            size_bytes: None,
            facts: None,
            created_at: now,
            unused_since: Some(now),
            held_bytes: None,
            doomed: false,
        }
    }

    #[must_use]
    pub fn holding(self, bytes: u64) -> Self {
        Self { held_bytes: Some(bytes), ..self }
    }

    /// Also the file's key in the bucket.
    pub fn path(&self) -> MediaPath {
        MediaPath::new(self.user_id, self.media_id, self.mime_type)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum AddMediaOutcome {
    Added,
    /// Another file has this id; use a new one.
    IdTaken,
    NoRoom,
    NoRoomInProfile,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum MarkMediaOutcome {
    Kept,
    Gone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum MediaRemoval {
    /// No post can use the file anymore: delete it from the bucket, then call
    /// [`Store::delete_media_record`].
    Doomed,
    /// A post uses the file, or the file is already gone.
    Spared,
}

/// For a write that conflicts with another write of the same file.
const MAX_ATTEMPTS: u32 = 5;

impl Store {
    pub async fn add_media_file(&self, medium: &Medium, quota: Room) -> Result<AddMediaOutcome, StorageError> {
        let mut item = to_item(medium)?;
        if medium.unused_since.is_some() {
            item.insert("unused_shard".to_owned(), s(shard(medium.media_id, medium.size_bytes)));
        }
        let put = Put::builder()
            .table_name(self.table(Table::Media))
            .set_item(Some(item))
            .condition_expression("attribute_not_exists(media_id)");
        let put = TransactWriteItem::builder().put(put.build().map_err(StorageError::build)?).build();
        let mut writes = vec![put];
        if let Some(bytes) = medium.held_bytes {
            let user = medium.user_id;
            let Some(taken) = self.reserve_quota_action(user, None, bytes, (quota.bytes, quota.files))? else {
                return Ok(AddMediaOutcome::NoRoom);
            };
            writes.push(taken);
            if let Some(profile) = &medium.of_profile {
                let of_profile = (quota.bytes_of_profile.unwrap_or(u64::MAX), u64::MAX);
                let taken = self.reserve_quota_action(user, Some(profile.profile_id), bytes, of_profile)?;
                let Some(taken) = taken else { return Ok(AddMediaOutcome::NoRoomInProfile) };
                writes.push(taken);
            }
        }
        Ok(match self.transact(writes).await? {
            TransactionOutcome::Done => AddMediaOutcome::Added,
            TransactionOutcome::Refused(0) => AddMediaOutcome::IdTaken,
            TransactionOutcome::Refused(1) => AddMediaOutcome::NoRoom,
            TransactionOutcome::Refused(_) => AddMediaOutcome::NoRoomInProfile,
        })
    }

    /// Unordered.
    pub async fn media(&self, owner: impl Into<Owner>, ids: &[MediaId]) -> Result<Vec<Medium>, StorageError> {
        let owner = owner.into();
        let ids: BTreeSet<_> = ids.iter().copied().collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let keys = ids.into_iter().map(|it| (Table::Media, medium_key(owner.user_id, it)));
        let found = self.batch_get(keys.collect()).await?;
        let mut media: Vec<Medium> = found.into_values().flatten().map(from_item).collect::<Result<_, _>>()?;
        media.retain(|it| owner.may_see(it.of_profile.as_ref()));
        Ok(media)
    }

    pub async fn mark_media_verified(
        &self,
        medium: &Medium,
        size_bytes: u64,
    ) -> Result<MarkMediaOutcome, StorageError> {
        self.set_size(medium, size_bytes, None).await
    }

    /// Like [`Self::mark_media_verified`], and records the `facts` of the file and that a post will
    /// use it: it is not removed as unused until it is released.
    pub async fn mark_media_used(
        &self,
        medium: &Medium,
        size_bytes: u64,
        facts: Facts,
    ) -> Result<MarkMediaOutcome, StorageError> {
        self.set_size(medium, size_bytes, Some(facts)).await
    }

    /// Stores a file's size and reduces `held_bytes` to it. With `facts`, the file becomes used.
    async fn set_size(
        &self,
        medium: &Medium,
        size_bytes: u64,
        facts: Option<Facts>,
    ) -> Result<MarkMediaOutcome, StorageError> {
        let mut read = medium.clone();
        let mut retries = WriteRetries::without_waits(MAX_ATTEMPTS);
        loop {
            let held_update = if read.held_bytes.is_some() { ", held_bytes = :size" } else { "" };
            let (index_change, is_moved) = match (facts, read.unused_since) {
                (Some(_), _) => (", facts = :facts REMOVE unused_shard, unused_since", false),
                (None, Some(_)) => (", unused_shard = :shard", true),
                (None, None) => ("", false),
            };
            let mut update = self
                .update_media_file(&read, &format!("SET size_bytes = :size{held_update}{index_change}"))
                .expression_attribute_values(":size", n(size_bytes));
            if let Some(facts) = facts {
                update = update.expression_attribute_values(":facts", serde_dynamo::to_attribute_value(facts)?);
            }
            if is_moved {
                update = update.expression_attribute_values(":shard", s(shard(read.media_id, Some(size_bytes))));
            }
            let update = update.build().map_err(StorageError::build)?;
            let mut writes = vec![TransactWriteItem::builder().update(update).build()];
            if let Some(held) = read.held_bytes.filter(|it| *it != size_bytes) {
                let change = (0, difference(held, size_bytes));
                writes.extend(self.change_quota_actions(read.user_id, [(&read, change)])?);
            }
            if self.transact(writes).await? == TransactionOutcome::Done {
                return Ok(MarkMediaOutcome::Kept);
            }
            match self.media(read.user_id, &[read.media_id]).await?.pop() {
                Some(current) if !current.doomed => read = current,
                _ => return Ok(MarkMediaOutcome::Gone),
            }
            retries.next_attempt().await?;
        }
    }
}

fn medium_key(user: UserId, id: MediaId) -> Item {
    attributes([("user_id", n(user)), ("media_id", n(id))])
}

/// Files without a known size have separate partitions.
fn shard(id: MediaId, size_bytes: Option<u64>) -> String {
    shard_name(size_bytes.is_some(), id.get() % UNUSED_SHARDS)
}

fn shard_name(is_verified: bool, number: u64) -> String {
    format!("{}#{number}", if is_verified { "unused" } else { "unseen" })
}

fn difference(from: u64, to: u64) -> i64 {
    to.cast_signed().wrapping_sub(from.cast_signed())
}
