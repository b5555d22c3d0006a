use chrono::TimeDelta;
use domain::post::SegmentContent;
use domain::profile::ProfileRef;
use domain::testing::{a_connection, a_post, a_profile, a_user, an_attachment, ids, noon, text};

use super::*;
use crate::testing::store;
use crate::{PostWrite, PostWritten};

fn a_media_file() -> Medium {
    let ids = ids();
    Medium::expected(ids.fresh(), ids.fresh(), MimeType::Png, noon())
}

const ROOM: Room = Room { bytes: 100, files: 3, bytes_of_profile: None };

fn later() -> DateTime<Utc> {
    noon() + TimeDelta::days(7)
}

#[tokio::test]
async fn file_is_found_by_its_owner_only() {
    let store = store().await;
    let medium = a_media_file();
    assert_eq!(store.add_media_file(&medium, ROOM).await.unwrap(), AddMediaOutcome::Added);

    let stranger = UserId::new(7).unwrap();
    let id = medium.media_id;
    assert_eq!(store.media(medium.user_id, &[id, id]).await.unwrap(), [medium]);
    assert_eq!(store.media(stranger, &[id]).await.unwrap(), []);
}

#[tokio::test]
async fn id_belongs_to_one_file() {
    let store = store().await;
    let medium = a_media_file();
    assert_eq!(store.add_media_file(&medium, ROOM).await.unwrap(), AddMediaOutcome::Added);

    let other = Medium { mime_type: MimeType::Gif, ..medium.clone() };
    assert_eq!(store.add_media_file(&other, ROOM).await.unwrap(), AddMediaOutcome::IdTaken);
    assert_eq!(store.media(medium.user_id, &[medium.media_id]).await.unwrap(), [medium]);
}

#[tokio::test]
async fn verified_file_is_removed_when_no_post_uses_it() {
    let store = store().await;
    let medium = a_media_file();
    let path = medium.path();
    assert_eq!(store.add_media_file(&medium, ROOM).await.unwrap(), AddMediaOutcome::Added);
    let verified = store.mark_media_verified(&medium, 5).await.unwrap();
    assert_eq!(verified, MarkMediaOutcome::Kept);

    assert_eq!(store.unused_media(noon(), 10).await.unwrap(), []);
    assert_eq!(store.unused_media(later(), 0).await.unwrap(), []);
    assert_eq!(store.unused_media(later(), 10).await.unwrap(), [path]);
    assert_eq!(store.mark_unused_for_removal(path, noon()).await.unwrap(), MediaRemoval::Spared);
    assert_eq!(store.mark_unused_for_removal(path, later()).await.unwrap(), MediaRemoval::Doomed);
    let used = store.mark_media_used(&medium, 5, Facts::default()).await.unwrap();
    assert_eq!(used, MarkMediaOutcome::Gone);
    // An interrupted removal is found again.
    assert_eq!(store.unused_media(later(), 10).await.unwrap(), [path]);
    store.delete_media_record(path).await.unwrap();
    assert_eq!(store.media(medium.user_id, &[medium.media_id]).await.unwrap(), []);
    assert_eq!(store.unused_media(later(), 10).await.unwrap(), []);
}

#[tokio::test]
async fn file_that_a_post_uses_is_never_removed() {
    let store = store().await;
    let medium = a_media_file();
    assert_eq!(store.add_media_file(&medium, ROOM).await.unwrap(), AddMediaOutcome::Added);

    let used = store.mark_media_used(&medium, 5, Facts::default()).await.unwrap();

    assert_eq!(used, MarkMediaOutcome::Kept);
    assert_eq!(store.unused_media(later(), 10).await.unwrap(), []);
    assert_eq!(store.mark_unused_for_removal(medium.path(), later()).await.unwrap(), MediaRemoval::Spared);
    store.delete_media_record(medium.path()).await.unwrap();
    let expected = Medium { size_bytes: Some(5), facts: Some(Facts::default()), unused_since: None, ..medium.clone() };
    assert_eq!(store.media(medium.user_id, &[medium.media_id]).await.unwrap(), [expected]);
}

#[tokio::test]
async fn missing_file_cannot_be_used() {
    let store = store().await;
    let medium = a_media_file();

    let used = store.mark_media_used(&medium, 5, Facts::default()).await.unwrap();

    assert_eq!(used, MarkMediaOutcome::Gone);
    assert_eq!(store.media(medium.user_id, &[medium.media_id]).await.unwrap(), []);
}

async fn quota_left(store: &Store, user: UserId, bytes: u64) -> usize {
    let mut fit = Vec::new();
    loop {
        let medium = Medium::expected(user, ids().fresh(), MimeType::Png, noon()).holding(bytes);
        let medium = Medium { media_id: MediaId::new(1_000 + fit.len() as u64).unwrap(), ..medium };
        if store.add_media_file(&medium, ROOM).await.unwrap() == AddMediaOutcome::NoRoom {
            break;
        }
        fit.push(medium);
    }
    for medium in &fit {
        store.delete_media_record(medium.path()).await.unwrap();
    }
    fit.len()
}

#[tokio::test]
async fn concurrent_uploads_stay_within_the_quota() {
    let store = store().await;
    let (ids, user) = (ids(), UserId::new(7).unwrap());
    let media: Vec<_> =
        (0..12).map(|_| Medium::expected(user, ids.fresh(), MimeType::Png, noon()).holding(10)).collect();

    let added = futures::future::join_all(media.iter().map(|it| store.add_media_file(it, ROOM))).await;

    let added: Vec<_> = added.into_iter().map(Result::unwrap).collect();
    assert_eq!(added.iter().filter(|it| **it == AddMediaOutcome::Added).count(), 3, "{added:?}");
    assert_eq!(added.iter().filter(|it| **it == AddMediaOutcome::NoRoom).count(), 9, "{added:?}");
    let other = Medium::expected(UserId::new(8).unwrap(), ids.fresh(), MimeType::Png, noon()).holding(100);
    assert_eq!(store.add_media_file(&other, ROOM).await.unwrap(), AddMediaOutcome::Added, "quotas are per user");
    let larger = Medium::expected(UserId::new(9).unwrap(), ids.fresh(), MimeType::Png, noon()).holding(101);
    assert_eq!(store.add_media_file(&larger, ROOM).await.unwrap(), AddMediaOutcome::NoRoom);
}

#[tokio::test]
async fn profile_has_a_quota_within_that_of_its_user() {
    let (store, user, ids) = (store().await, a_user(), ids());
    let (one, other) = (a_profile(&user).reference(), a_profile(&user).reference());
    let room = Room { bytes_of_profile: Some(50), ..ROOM };
    let file = |of_profile: Option<&ProfileRef>, bytes: u64| {
        let medium = Medium::expected(user.user_id, ids.fresh(), MimeType::Png, noon()).holding(bytes);
        Medium { of_profile: of_profile.cloned(), ..medium }
    };
    let add = async |medium: &Medium| store.add_media_file(medium, room).await.unwrap();
    let first = file(Some(&one), 50);

    assert_eq!(add(&file(Some(&one), 51)).await, AddMediaOutcome::NoRoomInProfile, "larger than the quota");
    assert_eq!(add(&first).await, AddMediaOutcome::Added);
    assert_eq!(add(&file(Some(&one), 1)).await, AddMediaOutcome::NoRoomInProfile);
    assert_eq!(add(&file(Some(&other), 40)).await, AddMediaOutcome::Added);
    assert_eq!(add(&file(None, 20)).await, AddMediaOutcome::NoRoom);
    store.reduce_held_bytes(user.user_id, &[(first.clone(), 20)]).await.unwrap();
    assert_eq!(add(&file(Some(&one), 31)).await, AddMediaOutcome::NoRoomInProfile);
    store.delete_media_record(first.path()).await.unwrap();
    assert_eq!(add(&file(Some(&one), 50)).await, AddMediaOutcome::Added);
}

#[tokio::test]
async fn quota_use_follows_size_publication_and_removal() {
    let store = store().await;
    let medium = a_media_file().holding(90);
    let user = medium.user_id;
    assert_eq!(store.add_media_file(&medium, ROOM).await.unwrap(), AddMediaOutcome::Added);
    assert_eq!(quota_left(&store, user, 11).await, 0);

    assert_eq!(store.mark_media_verified(&medium, 20).await.unwrap(), MarkMediaOutcome::Kept);
    assert_eq!(quota_left(&store, user, 40).await, 2);
    // With a record that was read before the size was known.
    assert_eq!(store.mark_media_used(&medium, 20, Facts::default()).await.unwrap(), MarkMediaOutcome::Kept);
    assert_eq!(quota_left(&store, user, 40).await, 2);

    for _ in 0..2 {
        store.mark_media_published(user, &[medium.media_id]).await.unwrap();
        assert_eq!(quota_left(&store, user, 1).await, 3);
    }
    store.release_media(user, &[medium.media_id], noon()).await.unwrap();
    assert_eq!(store.unused_media(later(), 10).await.unwrap(), [], "a published file is never released");

    let other = Medium::expected(user, MediaId::new(5).unwrap(), MimeType::Png, noon()).holding(100);
    assert_eq!(store.add_media_file(&other, ROOM).await.unwrap(), AddMediaOutcome::Added);
    for _ in 0..2 {
        store.delete_media_record(other.path()).await.unwrap();
        assert_eq!(quota_left(&store, user, 1).await, 3);
    }
}

#[tokio::test]
async fn unverified_file_is_listed_separately_until_verified() {
    let store = store().await;
    let medium = a_media_file().holding(10);
    let path = medium.path();
    assert_eq!(store.add_media_file(&medium, ROOM).await.unwrap(), AddMediaOutcome::Added);

    assert_eq!(store.unverified_media(noon(), 10).await.unwrap(), []);
    assert_eq!(store.unverified_media(later(), 10).await.unwrap(), [path]);
    assert_eq!(store.unused_media(later(), 10).await.unwrap(), []);
    assert_eq!(store.mark_media_verified(&medium, 5).await.unwrap(), MarkMediaOutcome::Kept);
    assert_eq!(store.unverified_media(later(), 10).await.unwrap(), []);
    assert_eq!(store.unused_media(later(), 10).await.unwrap(), [path]);
    assert_eq!(store.mark_unusable_for_removal(path).await.unwrap(), MediaRemoval::Spared, "it was verified");
}

#[tokio::test]
async fn released_file_is_unused_until_a_post_uses_it_again() {
    let store = store().await;
    let medium = a_media_file();
    let (user, id, path) = (medium.user_id, medium.media_id, medium.path());
    assert_eq!(store.add_media_file(&medium, ROOM).await.unwrap(), AddMediaOutcome::Added);
    assert_eq!(store.mark_media_used(&medium, 5, Facts::default()).await.unwrap(), MarkMediaOutcome::Kept);

    store.release_media(user, &[id], noon()).await.unwrap();
    assert_eq!(store.unused_media(noon(), 10).await.unwrap(), []);
    assert_eq!(store.unused_media(later(), 10).await.unwrap(), [path]);
    assert_eq!(store.media_of_posts(path.user()).await.unwrap().len(), 0);

    let owner = domain::user::User { user_id: user, ..a_user() };
    let post = a_post(&owner, None, &[a_connection(&owner)]);
    let attachment = |media_id| domain::media::Attachment { media_id, ..an_attachment(5) };
    let of_reply = ids().fresh();
    let reply = SegmentContent { text: text("more"), media: vec![attachment(of_reply)] };
    let post = domain::post::Post { media: vec![attachment(id)], thread: vec![reply], targets: Vec::new(), ..post };
    let write = PostWrite { before: None, after: Some(&post), deliveries: Vec::new(), kept: None, event: None };
    assert_eq!(store.write_post(&write, noon()).await.unwrap(), PostWritten::Done);
    assert_eq!(store.media_of_posts(path.user()).await.unwrap(), [id, of_reply].into());
    store.unmark_unused(path, later()).await.unwrap();
    assert_eq!(store.unused_media(later(), 10).await.unwrap(), []);
}

#[tokio::test]
async fn arrived_uploads_occupy_their_size_unless_changed_meanwhile() {
    let store = store().await;
    let (ids, user) = (ids(), UserId::new(7).unwrap());
    let media: Vec<_> =
        (0..3).map(|_| Medium::expected(user, ids.fresh(), MimeType::Png, noon()).holding(30)).collect();
    for medium in &media {
        assert_eq!(
            store.add_media_file(medium, Room { bytes: 100, files: 100, bytes_of_profile: None }).await.unwrap(),
            AddMediaOutcome::Added
        );
    }
    assert_eq!(store.pending_uploads(user, noon()).await.unwrap(), media);
    assert_eq!(store.pending_uploads(UserId::new(8).unwrap(), noon()).await.unwrap(), []);
    assert_eq!(store.mark_media_verified(&media[0], 20).await.unwrap(), MarkMediaOutcome::Kept);

    let arrived: Vec<_> = media.iter().cloned().zip([1, 2, 3]).collect();
    store.reduce_held_bytes(user, &arrived).await.unwrap();

    let one = Medium::expected(user, ids.fresh(), MimeType::Png, noon());
    let quota = Room { bytes: 100, files: 100, bytes_of_profile: None };
    assert_eq!(store.add_media_file(&one.clone().holding(76), quota).await.unwrap(), AddMediaOutcome::NoRoom);
    assert_eq!(
        store.add_media_file(&one.holding(75), quota).await.unwrap(),
        AddMediaOutcome::Added,
        "20 + 2 + 3 are held"
    );
    let held: Vec<_> = store.pending_uploads(user, noon()).await.unwrap().iter().map(|it| it.held_bytes).collect();
    assert_eq!(held, [Some(2), Some(3), Some(75)]);
    assert_eq!(store.pending_uploads(user, noon() + TimeDelta::seconds(1)).await.unwrap(), [], "asked for before");
}
