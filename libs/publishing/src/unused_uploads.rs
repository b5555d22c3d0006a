//! Removing the uploads that no post uses, and those that nobody can use.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use cloud::bucket::{Bucket, Look};
use domain::id::{MediaId, UserId};
use domain::media::{MediaLimits, MediaPath, SNIFF_BYTES};
use domain::post::{Post, PostStatus};
use futures::stream::{self, StreamExt};
use storage::{Medium, MediumRemoval, Store};

use crate::{Publishing, PublishingError};

/// How long an upload waits for its first post, and a file that was let go for
/// another.
const KEPT_FOR: TimeDelta = TimeDelta::days(7);

/// When an upload is looked at that no post has named. Long after its link has
/// ended, so that nothing comes any more; a run is never an hour late, which
/// makes it a day at most.
const LOOKED_AT_AFTER: TimeDelta = TimeDelta::hours(23);

/// The most that one run removes, and looks at; the next one goes on.
const MAX_PER_RUN: usize = 1_000;

/// How long the posts of one user are looked through.
const LOOKED_THROUGH_WITHIN: Duration = Duration::from_secs(20);

/// Worked on at the same time.
const CONCURRENCY: usize = 8;

impl Publishing {
    /// Looks at uploads that no post has named for most of a day: what never
    /// came, is too large, or is not what it was declared to be, is removed. Says
    /// how many were. What fails for one is logged and tried again by the next
    /// run.
    pub async fn look_at_uploads(&self) -> Result<usize, PublishingError> {
        let unseen = self.store.unseen_media(self.clock.now() - LOOKED_AT_AFTER, MAX_PER_RUN).await?;
        let looks = unseen.into_iter().map(|path| logged(path, self.next_step_at(path)));
        Ok(count(looks).await)
    }

    async fn next_step_at(&self, path: MediaPath) -> Result<bool, PublishingError> {
        let Some(medium) = self.store.media(path.user(), &[path.media()]).await?.pop() else { return Ok(false) };
        let look = self.bucket.look(&path.to_string(), SNIFF_BYTES).await?;
        match look.filter(|it| !medium.doomed && is_good(&medium, it, &self.media_limits)) {
            Some(look) => {
                // Used meanwhile or gone: either way it is looked at.
                let _ = self.store.mark_medium_verified(&medium, look.size_bytes).await?;
                Ok(false)
            }
            None if self.store.doom_unusable_medium(path).await? == MediumRemoval::Doomed => {
                finish(&self.store, &self.bucket, path).await.map(|()| true)
            }
            None => Ok(false),
        }
    }

    /// Takes a file out of the bucket that cannot be used, as was seen at the
    /// first look. Its record stays as long as its link may bring it back; when
    /// something fails here, it is removed with the record.
    pub(crate) async fn discard_unusable(&self, medium: &Medium) {
        let path = medium.path();
        let discarded = async {
            if self.store.doom_unusable_medium(path).await? == MediumRemoval::Doomed {
                self.bucket.delete(&path.to_string()).await?;
            }
            Ok::<(), PublishingError>(())
        };
        if let Err(error) = discarded.await {
            tracing::warn!(%error, %path, "a file that cannot be used is left to upkeep");
        }
    }

    /// Lets the files go that a post carries and that it is about to lose, all of
    /// them where it is about to go itself.
    ///
    /// This comes before the write that takes them from the post. If that fails,
    /// a file is noted as unused that is used, which is found out before it
    /// would be removed; the other way round, it could stay for ever.
    pub(crate) async fn release_uploads(
        &self,
        post: &Post,
        after: Option<&Post>,
        now: DateTime<Utc>,
    ) -> Result<(), PublishingError> {
        let ids = |post: &Post| post.files().map(|it| it.media_id).collect::<BTreeSet<_>>();
        let gone: Vec<_> = ids(post).difference(&after.map(ids).unwrap_or_default()).copied().collect();
        Ok(self.store.release_media(post.user_id, &gone, now).await?)
    }

    /// Lets files go again that were named in a post, unless it was written. It
    /// is for tidiness alone, so a failure is only logged.
    pub(crate) async fn let_go_unless(&self, is_written: bool, user: UserId, kept: &[MediaId]) {
        if is_written || kept.is_empty() {
            return;
        }
        if let Err(error) = self.store.release_media(user, kept, self.clock.now()).await {
            tracing::warn!(%error, user_id = %user, "files of a post that was not written stay");
        }
    }

    /// Notes that a post's files hold no room any more, if it is published.
    pub(crate) async fn note_published(&self, post: &Post) -> Result<(), PublishingError> {
        let ids: Vec<_> = post.files().map(|it| it.media_id).collect();
        if post.status != PostStatus::Published || ids.is_empty() {
            return Ok(());
        }
        Ok(self.store.mark_media_published(post.user_id, &ids).await?)
    }
}

fn is_good(medium: &Medium, look: &Look, limits: &MediaLimits) -> bool {
    look.size_bytes <= limits.max_bytes(medium.mime_type, false) && medium.mime_type.matches(&look.first_bytes)
}

/// Removes uploads that no post has used for seven days, and says how many. What
/// fails for one is logged and tried again by the next run.
pub async fn remove_unused_uploads(
    store: &Store,
    bucket: &Bucket,
    now: DateTime<Utc>,
) -> Result<usize, PublishingError> {
    let before = now - KEPT_FOR;
    let mut by_owner: BTreeMap<UserId, Vec<MediaPath>> = BTreeMap::new();
    for path in store.unused_media(before, MAX_PER_RUN).await? {
        by_owner.entry(path.user()).or_default().push(path);
    }
    let looked_through = by_owner.into_iter().map(|(owner, unused)| carried_or_not(store, owner, unused, now));
    let unused: Vec<_> = stream::iter(looked_through).buffer_unordered(CONCURRENCY).concat().await;
    let removals = unused.into_iter().map(|(path, is_used)| {
        logged(path, async move {
            if is_used {
                store.keep_medium(path, before).await?;
                return Ok(false);
            }
            remove(store, bucket, path, before).await
        })
    });
    Ok(count(removals).await)
}

/// Whether a post of their owner carries each of these files. Several posts can
/// carry one, and each notes when it lets it go.
///
/// An owner whose posts take too long to look through keeps their files for
/// another while, so that nobody else's have to stay.
async fn carried_or_not(
    store: &Store,
    owner: UserId,
    unused: Vec<MediaPath>,
    now: DateTime<Utc>,
) -> Vec<(MediaPath, bool)> {
    let looked_through = tokio::time::timeout(LOOKED_THROUGH_WITHIN, store.media_of_posts(owner)).await;
    let put_off = match looked_through {
        Ok(Ok(used)) => return unused.into_iter().map(|path| (path, used.contains(&path.media()))).collect(),
        Ok(Err(error)) => Err(error),
        Err(_) => {
            let ids: Vec<_> = unused.iter().map(|it| it.media()).collect();
            tracing::warn!(user_id = %owner, files = ids.len(), "too many posts to look through; the files stay");
            store.release_media(owner, &ids, now).await
        }
    };
    if let Err(error) = put_off {
        tracing::error!(%error, user_id = %owner, "posts could not be looked through for files");
    }
    Vec::new()
}

/// How many of these have removed something.
async fn count(removals: impl Iterator<Item = impl Future<Output = bool>>) -> usize {
    stream::iter(removals).buffer_unordered(CONCURRENCY).filter(|it| std::future::ready(*it)).count().await
}

async fn logged(path: MediaPath, removal: impl Future<Output = Result<bool, PublishingError>>) -> bool {
    removal.await.unwrap_or_else(|error| {
        tracing::error!(%error, %path, "an upload could not be looked at or removed");
        false
    })
}

async fn remove(
    store: &Store,
    bucket: &Bucket,
    path: MediaPath,
    before: DateTime<Utc>,
) -> Result<bool, PublishingError> {
    if store.doom_unused_medium(path, before).await? == MediumRemoval::Spared {
        return Ok(false);
    }
    finish(store, bucket, path).await.map(|()| true)
}

/// The record goes last: as long as it is there, a removal that was cut off is
/// found again.
async fn finish(store: &Store, bucket: &Bucket, path: MediaPath) -> Result<(), PublishingError> {
    bucket.delete(&path.to_string()).await?;
    store.forget_medium(path).await?;
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
    use storage::{MediumAdded, MediumUse, Room};

    use super::*;
    use crate::testing::Rig;
    use crate::{ChangePost, Changed, CreatePost, Created, NotCreated};
    use domain::media::Facts;
    use domain::post::{Authority, NamedMedium};

    const ROOM: Room = Room { bytes: 1_000, files: 10 };

    async fn upload(store: &Store, bucket: &Bucket, ids: &Ids) -> Medium {
        let medium = Medium::expected(UserId::new(7).unwrap(), ids.fresh(), MimeType::Png, noon());
        assert_eq!(store.add_medium(&medium, ROOM).await.unwrap(), MediumAdded::Added);
        let bytes = futures::stream::iter([Ok::<_, Infallible>("png".into())]);
        bucket.put(&medium.path().to_string(), "image/png", bytes).await.unwrap();
        assert_eq!(store.mark_medium_verified(&medium, 3).await.unwrap(), MediumUse::Kept);
        medium
    }

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

    /// A rig whose files are in a bucket, and pictures small.
    async fn rig(s3: &TestBucket) -> Rig {
        let mut rig = Rig::new().await;
        rig.publishing.bucket = s3.bucket.clone();
        rig.publishing.media_limits.image = 20;
        rig
    }

    /// An upload that holds 20 bytes, with this content if it came.
    async fn asked_for(rig: &Rig, content: Option<&'static [u8]>) -> Medium {
        let id = rig.publishing.ids.fresh();
        let medium = Medium::expected(rig.user.user_id, id, MimeType::Png, rig.clock.now()).holding(20);
        assert_eq!(rig.store.add_medium(&medium, ROOM).await.unwrap(), MediumAdded::Added);
        if let Some(content) = content {
            let bytes = futures::stream::iter([Ok::<_, Infallible>(content.into())]);
            rig.publishing.bucket.put(&medium.path().to_string(), "image/png", bytes).await.unwrap();
        }
        medium
    }

    async fn is_there(rig: &Rig, medium: &Medium) -> (bool, bool) {
        let record = rig.store.media(medium.user_id, &[medium.media_id]).await.unwrap();
        let file = rig.publishing.bucket.look(&medium.path().to_string(), 1).await.unwrap();
        (!record.is_empty(), file.is_some())
    }

    async fn draft(rig: &Rig, medium: &Medium) -> Created {
        let media = vec![NamedMedium { field: "media.0".to_owned(), path: medium.path(), alt_text: None }];
        let request = CreatePost { text: Some(text("Words")), media, ..CreatePost::default() };
        rig.publishing.create_post(rig.user.user_id, request).await.unwrap()
    }

    #[tokio::test]
    async fn within_a_day_uploads_are_looked_at_and_what_nobody_can_use_is_removed() {
        let s3 = TestBucket::start().await;
        let rig = rig(&s3).await;
        let good = asked_for(&rig, Some(PNG)).await;
        let large = asked_for(&rig, Some(&[7; 21])).await;
        let other = asked_for(&rig, Some(b"GIF89a")).await;
        let never = asked_for(&rig, None).await;

        rig.clock.advance(LOOKED_AT_AFTER);
        assert_eq!(rig.publishing.look_at_uploads().await.unwrap(), 0);
        rig.clock.advance(TimeDelta::milliseconds(1));
        assert_eq!(rig.publishing.look_at_uploads().await.unwrap(), 3);
        assert_eq!(rig.publishing.look_at_uploads().await.unwrap(), 0);

        assert_eq!(is_there(&rig, &good).await, (true, true));
        for gone in [large, other, never] {
            assert_eq!(is_there(&rig, &gone).await, (false, false));
        }
        let held = rig.store.media(good.user_id, &[good.media_id]).await.unwrap()[0].held_bytes;
        assert_eq!(held, Some(PNG.len() as u64), "it holds what it has");
    }

    #[tokio::test]
    async fn an_upload_over_its_limit_goes_at_the_first_look_and_cannot_come_back_for_good() {
        let s3 = TestBucket::start().await;
        let rig = rig(&s3).await;
        let large = asked_for(&rig, Some(&[7; 21])).await;

        assert!(matches!(draft(&rig, &large).await, Created::Refused(NotCreated::Invalid(_))));
        assert_eq!(is_there(&rig, &large).await, (true, false));
        // Its link is good for an hour, in which the file can be put again.
        let bytes = futures::stream::iter([Ok::<_, Infallible>(PNG.into())]);
        s3.bucket.put(&large.path().to_string(), "image/png", bytes).await.unwrap();
        assert!(
            matches!(draft(&rig, &large).await, Created::Refused(NotCreated::Invalid(_))),
            "nobody can use it any more"
        );

        rig.clock.advance(TimeDelta::hours(24));
        assert_eq!(rig.publishing.look_at_uploads().await.unwrap(), 1);
        assert_eq!(is_there(&rig, &large).await, (false, false));
    }

    #[tokio::test]
    async fn a_file_of_a_change_that_came_too_late_is_let_go_again() {
        let s3 = TestBucket::start().await;
        let rig = rig(&s3).await;
        let medium = asked_for(&rig, Some(PNG)).await;
        let gate = rig.network.hold_publish();
        let post = rig.schedule("Hello", noon()).await;
        let [(_, message)] = rig.queue.take()[..] else { panic!() };

        let change = async {
            gate.entered().await;
            let media = Some(vec![NamedMedium { field: "media.0".to_owned(), path: medium.path(), alt_text: None }]);
            let changed = rig.publishing.change_post(post, ChangePost { media, ..ChangePost::default() }).await;
            gate.open();
            changed.unwrap()
        };
        let (delivered, changed) = tokio::join!(rig.publishing.deliver(&rig.platforms, message), change);

        delivered.unwrap();
        assert!(matches!(changed, Changed::Invalid(_)), "{changed:?}");
        let record = rig.store.media(medium.user_id, &[medium.media_id]).await.unwrap().pop().unwrap();
        assert!(record.unused_since.is_some(), "{record:?}");
    }

    #[tokio::test]
    async fn a_file_stays_while_a_post_uses_it_and_seven_days_after_the_last_let_it_go() {
        let s3 = TestBucket::start().await;
        let rig = rig(&s3).await;
        let medium = asked_for(&rig, Some(PNG)).await;
        let (Created::New(first), Created::New(second)) = (draft(&rig, &medium).await, draft(&rig, &medium).await)
        else {
            panic!("two posts carry it")
        };
        let removed = async || {
            let Publishing { store, bucket, clock, .. } = &rig.publishing;
            remove_unused_uploads(store, bucket, clock.now()).await.unwrap()
        };

        rig.publishing.delete_post(*first, Authority::Posts, None).await.unwrap();
        rig.clock.advance(TimeDelta::days(8));
        assert_eq!(removed().await, 0);
        assert_eq!(is_there(&rig, &medium).await, (true, true), "the second post uses it");

        let none = ChangePost { media: Some(Vec::new()), ..ChangePost::default() };
        assert!(matches!(rig.change(&second, none).await, Changed::Done(_)));
        rig.clock.advance(TimeDelta::days(7));
        assert_eq!(removed().await, 0);
        rig.clock.advance(TimeDelta::milliseconds(1));
        assert_eq!(removed().await, 1);
        assert_eq!(is_there(&rig, &medium).await, (false, false));
    }

    #[tokio::test]
    async fn an_upload_that_no_post_used_for_seven_days_is_removed_and_a_used_one_stays() {
        let (store, s3, ids) = (store().await, TestBucket::start().await, ids());
        let unused = upload(&store, &s3.bucket, &ids).await;
        let used = upload(&store, &s3.bucket, &ids).await;
        let looked_at = store.media(used.user_id, &[used.media_id]).await.unwrap().remove(0);
        assert_eq!(store.mark_medium_used(&looked_at, 3, Facts::default()).await.unwrap(), MediumUse::Kept);

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
