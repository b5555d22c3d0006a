//! Uploaded files: what a user said a file is, and what was found.
//!
//! A file that no post uses stands in the index `unused`, by the time since
//! when; the first post that uses it takes it out for good.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, Utc};
use domain::id::{MediaId, UserId};
use domain::media::{MediaPath, MimeType};
use serde::{Deserialize, Serialize};

use crate::error::StorageError;
use crate::item::{Item, at, attributes, from_item, n, s, to_item};
use crate::race::Race;
use crate::{Store, Table};

/// Partitions of the index of unused files: a constant, because a file's
/// partition follows from its id.
const UNUSED_SHARDS: u64 = 4;

/// A file that a user uploads or had fetched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Medium {
    /// Whose.
    pub user_id: UserId,
    /// Ours.
    pub media_id: MediaId,
    /// As declared; proven once `size_bytes` is known.
    pub mime_type: MimeType,
    /// As found in the bucket, where the first bytes were of `mime_type`;
    /// `None` until somebody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// When the upload was asked for.
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub created_at: DateTime<Utc>,
    /// Since when no post uses it; `None` from the first use on.
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub unused_since: Option<DateTime<Utc>>,
}

impl Medium {
    /// A file that is still to come.
    pub fn expected(user: UserId, id: MediaId, mime_type: MimeType, now: DateTime<Utc>) -> Self {
        Self { user_id: user, media_id: id, mime_type, size_bytes: None, created_at: now, unused_since: Some(now) }
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

impl Store {
    /// Keeps a new file's record.
    pub async fn add_medium(&self, medium: &Medium) -> Result<MediumAdded, StorageError> {
        let mut item = to_item(medium)?;
        if medium.unused_since.is_some() {
            item.insert("unused_shard".to_owned(), s(shard(medium.media_id.get() % UNUSED_SHARDS)));
        }
        let added = self
            .client
            .put_item()
            .table_name(self.table(Table::Media))
            .set_item(Some(item))
            .condition_expression("attribute_not_exists(media_id)")
            .send()
            .await;
        Ok(match Race::of(added)? {
            Race::Won => MediumAdded::Added,
            Race::Lost => MediumAdded::IdTaken,
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
    pub async fn mark_medium_verified(
        &self,
        user: UserId,
        id: MediaId,
        size_bytes: u64,
    ) -> Result<MediumUse, StorageError> {
        self.update_medium(user, id, "SET size_bytes = :size", size_bytes).await
    }

    /// Notes likewise, and that a post is going to use the file: from now on
    /// it is never removed as unused.
    pub async fn mark_medium_used(
        &self,
        user: UserId,
        id: MediaId,
        size_bytes: u64,
    ) -> Result<MediumUse, StorageError> {
        let update = "SET size_bytes = :size REMOVE unused_shard, unused_since";
        self.update_medium(user, id, update, size_bytes).await
    }

    async fn update_medium(
        &self,
        user: UserId,
        id: MediaId,
        update: &str,
        size_bytes: u64,
    ) -> Result<MediumUse, StorageError> {
        let updated = self
            .client
            .update_item()
            .table_name(self.table(Table::Media))
            .set_key(Some(medium_key(user, id)))
            .condition_expression("attribute_exists(media_id) AND attribute_not_exists(doomed)")
            .update_expression(update)
            .expression_attribute_values(":size", n(size_bytes))
            .send()
            .await;
        Ok(match Race::of(updated)? {
            Race::Won => MediumUse::Kept,
            Race::Lost => MediumUse::Gone,
        })
    }

    /// Files that no post has used since before `before`: the oldest of each
    /// partition, up to `limit` in all. The index lags behind, so each is only
    /// a candidate for [`Store::doom_unused_medium`].
    pub async fn unused_media(&self, before: DateTime<Utc>, limit: usize) -> Result<Vec<MediaPath>, StorageError> {
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
                    .expression_attribute_values(":shard", s(shard(number)))
                    .expression_attribute_values(":before", at(before))
                    .limit(i32::try_from(limit - found.len()).unwrap_or(i32::MAX))
                    .set_exclusive_start_key(start)
                    .send()
                    .await?;
                for item in page.items.unwrap_or_default() {
                    let unused: Unused = from_item(item)?;
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

    /// Makes sure that no post will use a file, if none has since before
    /// `before`. The record stays, for whoever has to finish the removal.
    pub async fn doom_unused_medium(
        &self,
        path: MediaPath,
        before: DateTime<Utc>,
    ) -> Result<MediumRemoval, StorageError> {
        let doomed = self
            .client
            .update_item()
            .table_name(self.table(Table::Media))
            .set_key(Some(medium_key(path.user(), path.media())))
            .condition_expression("unused_since < :before")
            .update_expression("SET doomed = :yes")
            .expression_attribute_values(":before", at(before))
            .expression_attribute_values(":yes", AttributeValue::Bool(true))
            .send()
            .await;
        Ok(match Race::of(doomed)? {
            Race::Won => MediumRemoval::Doomed,
            Race::Lost => MediumRemoval::Spared,
        })
    }

    /// Deletes the record of a file that no post uses and that is out of the
    /// bucket.
    pub async fn forget_medium(&self, path: MediaPath) -> Result<(), StorageError> {
        let forgotten = self
            .client
            .delete_item()
            .table_name(self.table(Table::Media))
            .set_key(Some(medium_key(path.user(), path.media())))
            .condition_expression("attribute_exists(unused_since)")
            .send()
            .await;
        Race::of(forgotten).map(drop)
    }
}

fn medium_key(user: UserId, id: MediaId) -> Item {
    attributes([("user_id", n(user)), ("media_id", n(id))])
}

#[derive(Deserialize)]
struct Unused {
    user_id: UserId,
    media_id: MediaId,
    mime_type: MimeType,
}

fn shard(number: u64) -> String {
    format!("unused#{number}")
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use domain::testing::{ids, noon};

    use super::*;
    use crate::testing::store;

    fn a_medium() -> Medium {
        let ids = ids();
        Medium::expected(ids.fresh(), ids.fresh(), MimeType::Png, noon())
    }

    fn later() -> DateTime<Utc> {
        noon() + TimeDelta::days(7)
    }

    #[tokio::test]
    async fn a_file_is_found_by_its_owner_alone() {
        let store = store().await;
        let medium = a_medium();
        assert_eq!(store.add_medium(&medium).await.unwrap(), MediumAdded::Added);

        let stranger = UserId::new(7).unwrap();
        let id = medium.media_id;
        assert_eq!(store.media(medium.user_id, &[id, id]).await.unwrap(), [medium]);
        assert_eq!(store.media(stranger, &[id]).await.unwrap(), []);
    }

    #[tokio::test]
    async fn an_id_is_given_to_one_file() {
        let store = store().await;
        let medium = a_medium();
        assert_eq!(store.add_medium(&medium).await.unwrap(), MediumAdded::Added);

        let other = Medium { mime_type: MimeType::Gif, ..medium.clone() };
        assert_eq!(store.add_medium(&other).await.unwrap(), MediumAdded::IdTaken);
        assert_eq!(store.media(medium.user_id, &[medium.media_id]).await.unwrap(), [medium]);
    }

    #[tokio::test]
    async fn a_verified_file_is_removed_when_no_post_uses_it() {
        let store = store().await;
        let medium = a_medium();
        let path = medium.path();
        assert_eq!(store.add_medium(&medium).await.unwrap(), MediumAdded::Added);
        let verified = store.mark_medium_verified(medium.user_id, medium.media_id, 5).await.unwrap();
        assert_eq!(verified, MediumUse::Kept);

        assert_eq!(store.unused_media(noon(), 10).await.unwrap(), []);
        assert_eq!(store.unused_media(later(), 0).await.unwrap(), []);
        assert_eq!(store.unused_media(later(), 10).await.unwrap(), [path]);
        assert_eq!(store.doom_unused_medium(path, noon()).await.unwrap(), MediumRemoval::Spared);
        assert_eq!(store.doom_unused_medium(path, later()).await.unwrap(), MediumRemoval::Doomed);
        let used = store.mark_medium_used(medium.user_id, medium.media_id, 5).await.unwrap();
        assert_eq!(used, MediumUse::Gone);
        // A removal that was cut off is found again.
        assert_eq!(store.unused_media(later(), 10).await.unwrap(), [path]);
        store.forget_medium(path).await.unwrap();
        assert_eq!(store.media(medium.user_id, &[medium.media_id]).await.unwrap(), []);
        assert_eq!(store.unused_media(later(), 10).await.unwrap(), []);
    }

    #[tokio::test]
    async fn a_file_that_a_post_uses_is_never_removed() {
        let store = store().await;
        let medium = a_medium();
        assert_eq!(store.add_medium(&medium).await.unwrap(), MediumAdded::Added);

        let used = store.mark_medium_used(medium.user_id, medium.media_id, 5).await.unwrap();

        assert_eq!(used, MediumUse::Kept);
        assert_eq!(store.unused_media(later(), 10).await.unwrap(), []);
        assert_eq!(store.doom_unused_medium(medium.path(), later()).await.unwrap(), MediumRemoval::Spared);
        store.forget_medium(medium.path()).await.unwrap();
        let kept = Medium { size_bytes: Some(5), unused_since: None, ..medium.clone() };
        assert_eq!(store.media(medium.user_id, &[medium.media_id]).await.unwrap(), [kept]);
    }

    #[tokio::test]
    async fn a_file_that_is_not_there_cannot_be_used() {
        let store = store().await;
        let medium = a_medium();

        let used = store.mark_medium_used(medium.user_id, medium.media_id, 5).await.unwrap();

        assert_eq!(used, MediumUse::Gone);
        assert_eq!(store.media(medium.user_id, &[medium.media_id]).await.unwrap(), []);
    }
}
