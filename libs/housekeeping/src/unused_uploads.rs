//! Removes uploads that no post uses, and unusable ones.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use cloud::bucket::{Bucket, FileHead};
use domain::id::UserId;
use domain::media::{MediaLimits, MediaPath, SNIFF_BYTES};
use futures::stream::{self, StreamExt};
use storage::{MediaRemoval, Medium, Store};

use crate::{Housekeeping, HousekeepingError};

/// How long an upload is kept without a post, also after its last post released it.
const KEPT_FOR: TimeDelta = TimeDelta::days(7);

/// When an upload that no post has named is checked. Its link expired long before, so no file can
/// arrive any more. A run is never an hour late, so an upload is checked within a day.
const LOOKED_AT_AFTER: TimeDelta = TimeDelta::hours(23);

/// The most uploads that one run checks, and removes. The next run continues.
const MAX_PER_RUN: usize = 1_000;

/// Applies to each user.
const LOOKED_THROUGH_WITHIN: Duration = Duration::from_secs(20);

const CONCURRENCY: usize = 8;

impl Housekeeping {
    /// Removes uploads that no post has named for most of a day and that never arrived, are too
    /// large, or are not of the declared type. Returns how many. A failure is logged, and the next
    /// run repeats it.
    pub async fn check_uploads(&self) -> Result<usize, HousekeepingError> {
        let unverified = self.store.unverified_media(self.clock.now() - LOOKED_AT_AFTER, MAX_PER_RUN).await?;
        let checks = unverified.into_iter().map(|path| log_failure(path, self.check_upload(path)));
        Ok(count(checks).await)
    }

    /// Returns how many were removed. A failure is logged, and the next run repeats it.
    pub async fn remove_unused_uploads(&self) -> Result<usize, HousekeepingError> {
        remove_unused_uploads(&self.store, &self.bucket, self.clock.now()).await
    }

    async fn check_upload(&self, path: MediaPath) -> Result<bool, HousekeepingError> {
        let Some(medium) = self.store.media(path.user(), &[path.media()]).await?.pop() else { return Ok(false) };
        let object = self.bucket.head(&path.to_string(), SNIFF_BYTES).await?;
        match object.filter(|it| !medium.doomed && is_usable(&medium, it, &self.media_limits)) {
            Some(object) => {
                // Used or removed meanwhile: in both cases it is checked.
                let _ = self.store.mark_media_verified(&medium, object.size_bytes).await?;
                Ok(false)
            }
            None if self.store.mark_unusable_for_removal(path).await? == MediaRemoval::Doomed => {
                finish_removal(&self.store, &self.bucket, path).await.map(|()| true)
            }
            None => Ok(false),
        }
    }
}

fn is_usable(medium: &Medium, object: &FileHead, limits: &MediaLimits) -> bool {
    object.size_bytes <= limits.max_bytes(medium.mime_type, false) && medium.mime_type.matches(&object.first_bytes)
}

async fn remove_unused_uploads(store: &Store, bucket: &Bucket, now: DateTime<Utc>) -> Result<usize, HousekeepingError> {
    let before = now - KEPT_FOR;
    let mut by_owner: BTreeMap<UserId, Vec<MediaPath>> = BTreeMap::new();
    for path in store.unused_media(before, MAX_PER_RUN).await? {
        by_owner.entry(path.user()).or_default().push(path);
    }
    let searches = by_owner.into_iter().map(|(owner, unused)| find_used(store, owner, unused, now));
    let unused: Vec<_> = stream::iter(searches).buffer_unordered(CONCURRENCY).concat().await;
    let removals = unused.into_iter().map(|(path, is_used)| {
        log_failure(path, async move {
            if is_used {
                store.unmark_unused(path, before).await?;
                return Ok(false);
            }
            remove(store, bucket, path, before).await
        })
    });
    Ok(count(removals).await)
}

/// Whether a post of the owner uses each of these files. Several posts can use one file, and each
/// marks it as unused when it releases it.
///
/// If a user's posts take too long to search, the files of that user are kept for longer, so that
/// the files of others can be removed.
async fn find_used(store: &Store, owner: UserId, unused: Vec<MediaPath>, now: DateTime<Utc>) -> Vec<(MediaPath, bool)> {
    let searched = tokio::time::timeout(LOOKED_THROUGH_WITHIN, store.media_of_posts(owner)).await;
    let postponed = match searched {
        Ok(Ok(used)) => return unused.into_iter().map(|path| (path, used.contains(&path.media()))).collect(),
        Ok(Err(error)) => Err(error),
        Err(_) => {
            let ids: Vec<_> = unused.iter().map(|it| it.media()).collect();
            tracing::warn!(user_id = %owner, files = ids.len(), "user has too many posts to search; the files are kept");
            store.release_media(owner, &ids, now).await
        }
    };
    if let Err(error) = postponed {
        tracing::error!(%error, user_id = %owner, "posts could not be searched for files");
    }
    Vec::new()
}

async fn count(removals: impl Iterator<Item = impl Future<Output = bool>>) -> usize {
    stream::iter(removals).buffer_unordered(CONCURRENCY).filter(|it| std::future::ready(*it)).count().await
}

async fn log_failure(path: MediaPath, removal: impl Future<Output = Result<bool, HousekeepingError>>) -> bool {
    removal.await.unwrap_or_else(|error| {
        tracing::error!(%error, %path, "upload could not be checked or removed");
        false
    })
}

async fn remove(
    store: &Store,
    bucket: &Bucket,
    path: MediaPath,
    before: DateTime<Utc>,
) -> Result<bool, HousekeepingError> {
    if store.mark_unused_for_removal(path, before).await? == MediaRemoval::Spared {
        return Ok(false);
    }
    finish_removal(store, bucket, path).await.map(|()| true)
}

/// The record is deleted last: it leads the next run to a removal that was cut off.
async fn finish_removal(store: &Store, bucket: &Bucket, path: MediaPath) -> Result<(), HousekeepingError> {
    bucket.delete(&path.to_string()).await?;
    store.delete_media_record(path).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use cloud::testing::TestBucket;
    use domain::id::{Ids, UserId};
    use domain::media::MimeType;
    use domain::testing::{ids, noon, text};
    use storage::testing::store;
    use storage::{AddMediaOutcome, MarkMediaOutcome, Room};

    use super::*;
    use crate::testing::housekeeping;
    use domain::media::Facts;
    use domain::post::{Authority, Changes, MediaReference, NewPost};
    use publishing::testing::PublishingHarness;
    use scheduling::{Changed, Created, NotCreated};

    const ROOM: Room = Room { bytes: 1_000, files: 10, bytes_of_profile: None };

    async fn upload(store: &Store, bucket: &Bucket, ids: &Ids) -> Medium {
        let medium = Medium::expected(UserId::new(7).unwrap(), ids.fresh(), MimeType::Png, noon());
        assert_eq!(store.add_media_file(&medium, ROOM).await.unwrap(), AddMediaOutcome::Added);
        let bytes = futures::stream::iter([Ok::<_, Infallible>("png".into())]);
        bucket.put(&medium.path().to_string(), "image/png", bytes).await.unwrap();
        assert_eq!(store.mark_media_verified(&medium, 3).await.unwrap(), MarkMediaOutcome::Kept);
        medium
    }

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

    async fn harness(s3: &TestBucket) -> PublishingHarness {
        let mut harness = PublishingHarness::new().await;
        harness.scheduling.bucket = s3.bucket.clone();
        harness.scheduling.rules.media_limits.image = 20;
        harness
    }

    /// Reserves 20 bytes. `content` is `None` if the file has not arrived.
    async fn request_upload(harness: &PublishingHarness, content: Option<&'static [u8]>) -> Medium {
        let id = harness.scheduling.ids.fresh();
        let medium = Medium::expected(harness.user.user_id, id, MimeType::Png, harness.clock.now()).holding(20);
        assert_eq!(harness.store.add_media_file(&medium, ROOM).await.unwrap(), AddMediaOutcome::Added);
        if let Some(content) = content {
            let bytes = futures::stream::iter([Ok::<_, Infallible>(content.into())]);
            harness.scheduling.bucket.put(&medium.path().to_string(), "image/png", bytes).await.unwrap();
        }
        medium
    }

    async fn exists(harness: &PublishingHarness, medium: &Medium) -> (bool, bool) {
        let record = harness.store.media(medium.user_id, &[medium.media_id]).await.unwrap();
        let file = harness.scheduling.bucket.head(&medium.path().to_string(), 1).await.unwrap();
        (!record.is_empty(), file.is_some())
    }

    async fn draft(harness: &PublishingHarness, medium: &Medium) -> Created {
        let media = vec![MediaReference { field: "media.0".to_owned(), path: medium.path(), alt_text: None }];
        let request = NewPost { media, ..NewPost::new(text("Words")) };
        harness.scheduling.create_post(harness.user.user_id, request, None).await.unwrap()
    }

    #[tokio::test]
    async fn uploads_are_checked_within_a_day_and_unusable_ones_removed() {
        let s3 = TestBucket::start().await;
        let harness = harness(&s3).await;
        let good = request_upload(&harness, Some(PNG)).await;
        let large = request_upload(&harness, Some(&[7; 21])).await;
        let other = request_upload(&harness, Some(b"GIF89a")).await;
        let never = request_upload(&harness, None).await;

        harness.clock.advance(LOOKED_AT_AFTER);
        assert_eq!(housekeeping(&harness).check_uploads().await.unwrap(), 0);
        harness.clock.advance(TimeDelta::milliseconds(1));
        assert_eq!(housekeeping(&harness).check_uploads().await.unwrap(), 3);
        assert_eq!(housekeeping(&harness).check_uploads().await.unwrap(), 0);

        assert_eq!(exists(&harness, &good).await, (true, true));
        for gone in [large, other, never] {
            assert_eq!(exists(&harness, &gone).await, (false, false));
        }
        let held = harness.store.media(good.user_id, &[good.media_id]).await.unwrap()[0].held_bytes;
        assert_eq!(held, Some(PNG.len() as u64), "it holds what it has");
    }

    #[tokio::test]
    async fn too_large_upload_is_deleted_at_the_first_check() {
        let s3 = TestBucket::start().await;
        let harness = harness(&s3).await;
        let large = request_upload(&harness, Some(&[7; 21])).await;

        assert!(matches!(draft(&harness, &large).await, Created::Refused(NotCreated::Invalid(_))));
        assert_eq!(exists(&harness, &large).await, (true, false));
        // Its link is valid for an hour, in which the file can be uploaded again.
        let bytes = futures::stream::iter([Ok::<_, Infallible>(PNG.into())]);
        s3.bucket.put(&large.path().to_string(), "image/png", bytes).await.unwrap();
        assert!(
            matches!(draft(&harness, &large).await, Created::Refused(NotCreated::Invalid(_))),
            "nobody can use it any more"
        );

        harness.clock.advance(TimeDelta::hours(24));
        assert_eq!(housekeeping(&harness).check_uploads().await.unwrap(), 1);
        assert_eq!(exists(&harness, &large).await, (false, false));
    }

    #[tokio::test]
    async fn file_of_a_refused_change_is_released() {
        let s3 = TestBucket::start().await;
        let harness = harness(&s3).await;
        let medium = request_upload(&harness, Some(PNG)).await;
        let gate = harness.fake.hold_publish();
        let post = harness.schedule("Hello", noon()).await;
        let [(_, message)] = harness.queue.take()[..] else { panic!() };

        let change = async {
            gate.entered().await;
            let media = Some(vec![MediaReference { field: "media.0".to_owned(), path: medium.path(), alt_text: None }]);
            let changed = harness
                .scheduling
                .change_post(harness.user.user_id, post, Changes { media, ..Changes::default() })
                .await;
            gate.open();
            changed.unwrap()
        };
        let (delivered, changed) = tokio::join!(harness.publishing.deliver(&harness.platforms, message), change);

        delivered.unwrap();
        assert!(matches!(changed, Changed::Invalid(_)), "{changed:?}");
        let record = harness.store.media(medium.user_id, &[medium.media_id]).await.unwrap().pop().unwrap();
        assert!(record.unused_since.is_some(), "{record:?}");
    }

    #[tokio::test]
    async fn file_is_kept_until_seven_days_after_its_last_use() {
        let s3 = TestBucket::start().await;
        let harness = harness(&s3).await;
        let medium = request_upload(&harness, Some(PNG)).await;
        let (Created::New(first), Created::New(second)) =
            (draft(&harness, &medium).await, draft(&harness, &medium).await)
        else {
            panic!("two posts carry it")
        };
        let removed = async || housekeeping(&harness).remove_unused_uploads().await.unwrap();

        harness.scheduling.delete_post(harness.user.user_id, *first, Authority::Posts, None).await.unwrap();
        harness.clock.advance(TimeDelta::days(8));
        assert_eq!(removed().await, 0);
        assert_eq!(exists(&harness, &medium).await, (true, true), "the second post uses it");

        let none = Changes { media: Some(Vec::new()), ..Changes::default() };
        assert!(matches!(harness.change(&second, none).await, Changed::Done(_)));
        harness.clock.advance(TimeDelta::days(7));
        assert_eq!(removed().await, 0);
        harness.clock.advance(TimeDelta::milliseconds(1));
        assert_eq!(removed().await, 1);
        assert_eq!(exists(&harness, &medium).await, (false, false));
    }

    #[tokio::test]
    async fn upload_unused_for_seven_days_is_removed() {
        let (store, s3, ids) = (store().await, TestBucket::start().await, ids());
        let unused = upload(&store, &s3.bucket, &ids).await;
        let used = upload(&store, &s3.bucket, &ids).await;
        let stored = store.media(used.user_id, &[used.media_id]).await.unwrap().remove(0);
        assert_eq!(store.mark_media_used(&stored, 3, Facts::default()).await.unwrap(), MarkMediaOutcome::Kept);

        let week = noon() + TimeDelta::days(7);
        assert_eq!(remove_unused_uploads(&store, &s3.bucket, week).await.unwrap(), 0);
        assert!(s3.bucket.head(&unused.path().to_string(), 1).await.unwrap().is_some());
        let over = week + TimeDelta::milliseconds(1);
        assert_eq!(remove_unused_uploads(&store, &s3.bucket, over).await.unwrap(), 1);
        assert_eq!(remove_unused_uploads(&store, &s3.bucket, over).await.unwrap(), 0);

        assert_eq!(s3.bucket.head(&unused.path().to_string(), 1).await.unwrap(), None);
        assert!(s3.bucket.head(&used.path().to_string(), 1).await.unwrap().is_some());
        let left = store.media(used.user_id, &[used.media_id, unused.media_id]).await.unwrap();
        assert_eq!(left.iter().map(|it| it.media_id).collect::<Vec<_>>(), [used.media_id]);
    }

    #[tokio::test]
    async fn interrupted_removal_is_finished() {
        let (store, s3) = (store().await, TestBucket::start().await);
        let medium = upload(&store, &s3.bucket, &ids()).await;
        let later = noon() + TimeDelta::days(8);
        assert_eq!(store.mark_unused_for_removal(medium.path(), later).await.unwrap(), MediaRemoval::Doomed);

        assert_eq!(remove_unused_uploads(&store, &s3.bucket, later).await.unwrap(), 1);

        assert_eq!(s3.bucket.head(&medium.path().to_string(), 1).await.unwrap(), None);
    }
}
