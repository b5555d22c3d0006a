//! The records of uploads that a post begins or ceases to use.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use domain::id::{MediaId, UserId};
use domain::post::{Post, PostStatus};
use storage::{MediaRemoval, Medium, StorageError, Store};

use crate::{Scheduling, SchedulingError};

impl Scheduling {
    /// Deletes a file that proved unusable from the bucket. Its record stays, because the link may
    /// still be used to upload it again. After a failure here, upkeep removes the file with the
    /// record.
    pub(crate) async fn discard_unusable(&self, medium: &Medium) {
        let path = medium.path();
        let discarded = async {
            if self.store.mark_unusable_for_removal(path).await? == MediaRemoval::Doomed {
                self.bucket.delete(&path.to_string()).await?;
            }
            Ok::<(), SchedulingError>(())
        };
        if let Err(error) = discarded.await {
            tracing::warn!(%error, %path, "unusable file could not be removed and was left to upkeep");
        }
    }

    /// Releases the files that a post is about to lose, or all of them if it is deleted.
    ///
    /// This comes before the write of the post. If that write fails, a used file is marked as
    /// unused, which is detected before it would be removed. In the other order, an unused file
    /// could stay forever.
    pub(crate) async fn release_uploads(
        &self,
        post: &Post,
        after: Option<&Post>,
        now: DateTime<Utc>,
    ) -> Result<(), StorageError> {
        let ids = |post: &Post| post.files().map(|it| it.media_id).collect::<BTreeSet<_>>();
        let gone: Vec<_> = ids(post).difference(&after.map(ids).unwrap_or_default()).copied().collect();
        self.store.release_media(post.user_id, &gone, now).await
    }

    /// Releases files that a request named, unless the post was written. Only for tidiness, so a
    /// failure is only logged.
    pub(crate) async fn release_unless_written(&self, is_written: bool, user: UserId, reserved: &[MediaId]) {
        if is_written || reserved.is_empty() {
            return;
        }
        if let Err(error) = self.store.release_media(user, reserved, self.clock.now()).await {
            tracing::warn!(%error, user_id = %user, "files of a post that was not written could not be released");
        }
    }
}

/// If the post is published, its files no longer count towards the storage limit.
pub(crate) async fn note_published(store: &Store, post: &Post) -> Result<(), StorageError> {
    let ids: Vec<_> = post.files().map(|it| it.media_id).collect();
    if post.status != PostStatus::Published || ids.is_empty() {
        return Ok(());
    }
    store.mark_media_published(post.user_id, &ids).await
}
