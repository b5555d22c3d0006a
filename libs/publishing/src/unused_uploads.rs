//! Removing the uploads that no post ever used.

use chrono::{DateTime, TimeDelta, Utc};
use cloud::bucket::Bucket;
use domain::media::MediaPath;
use futures::StreamExt;
use storage::{MediumRemoval, Store};

use crate::PublishingError;

/// How long an upload waits for its first post.
const KEPT_FOR: TimeDelta = TimeDelta::days(7);

/// The most that one run removes; the next one goes on.
const MAX_PER_RUN: usize = 1_000;

/// Removed at the same time.
const CONCURRENCY: usize = 8;

/// Removes uploads that no post used for seven days, and says how many. What
/// fails for one is logged and tried again by the next run.
pub async fn remove_unused_uploads(
    store: &Store,
    bucket: &Bucket,
    now: DateTime<Utc>,
) -> Result<usize, PublishingError> {
    let before = now - KEPT_FOR;
    let unused = store.unused_media(before, MAX_PER_RUN).await?;
    let removals = unused.into_iter().map(|path| remove(store, bucket, path, before));
    let removed = futures::stream::iter(removals).buffer_unordered(CONCURRENCY).filter(|it| std::future::ready(*it));
    Ok(removed.count().await)
}

async fn remove(store: &Store, bucket: &Bucket, path: MediaPath, before: DateTime<Utc>) -> bool {
    remove_in_order(store, bucket, path, before).await.unwrap_or_else(|error| {
        tracing::error!(%error, %path, "an unused upload could not be removed");
        false
    })
}

/// The record goes last: as long as it is there, a removal that was cut off is
/// found again.
async fn remove_in_order(
    store: &Store,
    bucket: &Bucket,
    path: MediaPath,
    before: DateTime<Utc>,
) -> Result<bool, PublishingError> {
    if store.doom_unused_medium(path, before).await? == MediumRemoval::Spared {
        return Ok(false);
    }
    bucket.delete(&path.to_string()).await?;
    store.forget_medium(path).await?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use cloud::testing::TestBucket;
    use domain::id::{Ids, UserId};
    use domain::media::MimeType;
    use domain::testing::{ids, noon};
    use storage::testing::store;
    use storage::{Medium, MediumAdded, MediumUse};

    use super::*;

    async fn upload(store: &Store, bucket: &Bucket, ids: &Ids) -> Medium {
        let medium = Medium::expected(UserId::new(7).unwrap(), ids.fresh(), MimeType::Png, noon());
        assert_eq!(store.add_medium(&medium).await.unwrap(), MediumAdded::Added);
        let bytes = futures::stream::iter([Ok::<_, Infallible>("png".into())]);
        bucket.put(&medium.path().to_string(), "image/png", bytes).await.unwrap();
        medium
    }

    #[tokio::test]
    async fn an_upload_that_no_post_used_for_seven_days_is_removed_and_a_used_one_stays() {
        let (store, s3, ids) = (store().await, TestBucket::start().await, ids());
        let unused = upload(&store, &s3.bucket, &ids).await;
        let used = upload(&store, &s3.bucket, &ids).await;
        assert_eq!(store.mark_medium_used(used.user_id, used.media_id, 3).await.unwrap(), MediumUse::Kept);

        let week = noon() + TimeDelta::days(7);
        assert_eq!(remove_unused_uploads(&store, &s3.bucket, week).await.unwrap(), 0);
        assert!(s3.bucket.look(&unused.path().to_string(), 1).await.unwrap().is_some());
        let over = week + TimeDelta::milliseconds(1);
        assert_eq!(remove_unused_uploads(&store, &s3.bucket, over).await.unwrap(), 1);
        assert_eq!(remove_unused_uploads(&store, &s3.bucket, over).await.unwrap(), 0);

        assert_eq!(s3.bucket.look(&unused.path().to_string(), 1).await.unwrap(), None);
        assert!(s3.bucket.look(&used.path().to_string(), 1).await.unwrap().is_some());
        let left = store.media(used.user_id, &[used.media_id, unused.media_id]).await.unwrap();
        assert_eq!(left.iter().map(|it| it.media_id).collect::<Vec<_>>(), [used.media_id]);
    }

    #[tokio::test]
    async fn a_removal_that_was_cut_off_is_finished() {
        let (store, s3) = (store().await, TestBucket::start().await);
        let medium = upload(&store, &s3.bucket, &ids()).await;
        let later = noon() + TimeDelta::days(8);
        assert_eq!(store.doom_unused_medium(medium.path(), later).await.unwrap(), MediumRemoval::Doomed);

        assert_eq!(remove_unused_uploads(&store, &s3.bucket, later).await.unwrap(), 1);

        assert_eq!(s3.bucket.look(&medium.path().to_string(), 1).await.unwrap(), None);
    }
}
