//! Uploaded files: what a user said a file is, and what was found.
//!
//! A file that no post uses stands in the index `unused`, by the time since
//! when, in partitions of its own until somebody has looked at it in the bucket.
//! The first post that uses it takes it out; posts that let it go put it back.
//!
//! The item with the id 0 counts what a user's files hold of the room that each
//! user has. Every write that changes what a file holds changes the count in the
//! same transaction.

mod room;
#[cfg(test)]
mod tests;
mod unused;

use std::collections::BTreeSet;

use aws_sdk_dynamodb::types::{Put, TransactWriteItem};
use chrono::{DateTime, Utc};
use domain::id::{MediaId, UserId};
use domain::media::{Facts, MediaPath, MimeType};
use serde::{Deserialize, Serialize};

use crate::error::StorageError;
use crate::item::{Item, attributes, from_item, n, s, to_item};
use crate::transaction::Transacted;
use crate::{Store, Table};

pub use self::room::Room;

/// Partitions of the index of unused files: a constant, because a file's
/// partition follows from its id.
const UNUSED_SHARDS: u64 = 4;

/// A file that a user uploads or had fetched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Medium {
    pub user_id: UserId,
    pub media_id: MediaId,
    /// As declared; proven once `size_bytes` is known.
    pub mime_type: MimeType,
    /// As found in the bucket, where the first bytes were of `mime_type`;
    /// `None` until somebody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// What it says of itself; `None` until a post used it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facts: Option<Facts>,
    /// When the upload was asked for.
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub created_at: DateTime<Utc>,
    /// Since when no post uses it; `None` while one does. A file that was let go
    /// may be used all the same: the posts say whether.
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub unused_since: Option<DateTime<Utc>>,
    /// What it holds of its owner's room: its size, or as much as it may have
    /// until that is known. `None` once it is part of a published post.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_bytes: Option<u64>,
    /// Whether it is being removed.
    #[serde(default, skip_serializing)]
    pub doomed: bool,
}

impl Medium {
    /// A file that is still to come.
    pub fn expected(user: UserId, id: MediaId, mime_type: MimeType, now: DateTime<Utc>) -> Self {
        Self {
            user_id: user,
            media_id: id,
            mime_type,
            size_bytes: None,
            facts: None,
            created_at: now,
            unused_since: Some(now),
            held_bytes: None,
            doomed: false,
        }
    }

    /// The same file, holding this much of its owner's room.
    #[must_use]
    pub fn holding(self, bytes: u64) -> Self {
        Self { held_bytes: Some(bytes), ..self }
    }

    /// Its reference, which is also its key in the bucket.
    pub fn path(&self) -> MediaPath {
        MediaPath::new(self.user_id, self.media_id, self.mime_type)
    }
}

/// What became of a new file's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum MediumAdded {
    /// It is kept.
    Added,
    /// Another file has this id; take another.
    IdTaken,
    /// Its owner has no room for it.
    NoRoom,
}

/// What became of a file that a post is to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum MediumUse {
    /// It stays from now on.
    Kept,
    /// It was removed, or is being removed.
    Gone,
}

/// Whether an unused file may be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum MediumRemoval {
    /// Nobody can use it any more: take it out of the bucket, then call
    /// [`Store::forget_medium`].
    Doomed,
    /// A post uses it, or it is gone already.
    Spared,
}

/// How often a write is tried that met another one of the same file.
const TRIES: usize = 5;

impl Store {
    /// Keeps a new file's record, if its owner has room for it.
    pub async fn add_medium(&self, medium: &Medium, room: Room) -> Result<MediumAdded, StorageError> {
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
            let Some(taken) = self.take_room(medium.user_id, bytes, room)? else { return Ok(MediumAdded::NoRoom) };
            writes.push(taken);
        }
        Ok(match self.transact(writes).await? {
            Transacted::Done => MediumAdded::Added,
            Transacted::Refused(0) => MediumAdded::IdTaken,
            Transacted::Refused(_) => MediumAdded::NoRoom,
        })
    }

    /// The files of this user with these ids, in no order.
    pub async fn media(&self, user: UserId, ids: &[MediaId]) -> Result<Vec<Medium>, StorageError> {
        let ids: BTreeSet<_> = ids.iter().copied().collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let keys = ids.into_iter().map(|it| (Table::Media, medium_key(user, it)));
        let found = self.batch_get(keys.collect()).await?;
        found.into_values().flatten().map(from_item).collect()
    }

    /// Notes that a file is there, that large, and of its declared type.
    pub async fn mark_medium_verified(&self, medium: &Medium, size_bytes: u64) -> Result<MediumUse, StorageError> {
        self.settle(medium, size_bytes, None).await
    }

    /// Notes likewise, with what it says of itself, and that a post is going to
    /// use the file: it is not removed as unused unless it is let go.
    pub async fn mark_medium_used(
        &self,
        medium: &Medium,
        size_bytes: u64,
        facts: Facts,
    ) -> Result<MediumUse, StorageError> {
        self.settle(medium, size_bytes, Some(facts)).await
    }

    /// Writes a file's size, and lets it hold no more room than that. It is used
    /// if what it says of itself is given.
    async fn settle(&self, medium: &Medium, size_bytes: u64, used: Option<Facts>) -> Result<MediumUse, StorageError> {
        let mut read = medium.clone();
        for _ in 0..TRIES {
            let holds = if read.held_bytes.is_some() { ", held_bytes = :size" } else { "" };
            let (place, moves) = match (used, read.unused_since) {
                (Some(_), _) => (", facts = :facts REMOVE unused_shard, unused_since", false),
                (None, Some(_)) => (", unused_shard = :shard", true),
                (None, None) => ("", false),
            };
            let mut update = self
                .update_medium(&read, &format!("SET size_bytes = :size{holds}{place}"))
                .expression_attribute_values(":size", n(size_bytes));
            if let Some(facts) = used {
                update = update.expression_attribute_values(":facts", serde_dynamo::to_attribute_value(facts)?);
            }
            if moves {
                update = update.expression_attribute_values(":shard", s(shard(read.media_id, Some(size_bytes))));
            }
            let update = update.build().map_err(StorageError::build)?;
            let mut writes = vec![TransactWriteItem::builder().update(update).build()];
            if let Some(held) = read.held_bytes.filter(|it| *it != size_bytes) {
                writes.push(self.change_room(read.user_id, 0, difference(held, size_bytes))?);
            }
            if self.transact(writes).await? == Transacted::Done {
                return Ok(MediumUse::Kept);
            }
            match self.media(read.user_id, &[read.media_id]).await?.pop() {
                Some(now) if !now.doomed => read = now,
                _ => return Ok(MediumUse::Gone),
            }
        }
        Err(StorageError::Contended)
    }
}

fn medium_key(user: UserId, id: MediaId) -> Item {
    attributes([("user_id", n(user)), ("media_id", n(id))])
}

/// The partition of the index: those whose size is not known have their own.
fn shard(id: MediaId, size_bytes: Option<u64>) -> String {
    shard_named(size_bytes.is_some(), id.get() % UNUSED_SHARDS)
}

fn shard_named(seen: bool, number: u64) -> String {
    format!("{}#{number}", if seen { "unused" } else { "unseen" })
}

/// By how much a count changes from one figure to another.
fn difference(from: u64, to: u64) -> i64 {
    to.cast_signed().wrapping_sub(from.cast_signed())
}
