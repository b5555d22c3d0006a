//! Files that posts use, beside requests that are refused.

use domain::clock::Clock;
use domain::id::Ids;
use domain::media::MimeType;
use domain::testing::{noon, text};
use storage::{MediumAdded, Room};

use super::*;
use crate::testing::Rig;
use crate::{CreatePost, Created, NotCreated};

/// A file that was looked at before and that no post uses.
async fn an_upload(rig: &Rig) -> Medium {
    let id = Ids::new(Clock::System).fresh();
    let expected = Medium::expected(rig.user.user_id, id, MimeType::Png, noon());
    let medium = Medium { size_bytes: Some(100), ..expected };
    assert_eq!(rig.store.add_medium(&medium, Room { bytes: 1, files: 1 }).await.unwrap(), MediumAdded::Added);
    medium
}

fn a_request(words: Option<&str>, medium: &Medium) -> CreatePost {
    let mut faults = Faults::new();
    if words.is_none() {
        faults.add("content", "is required");
    }
    let media = vec![NamedMedium { index: 0, path: medium.path(), alt_text: None }];
    CreatePost { text: words.map(text), media, faults, ..CreatePost::default() }
}

async fn is_kept(rig: &Rig, medium: &Medium) -> bool {
    let found = rig.store.media(medium.user_id, &[medium.media_id]).await.unwrap();
    found[0].unused_since.is_none()
}

#[tokio::test]
async fn a_refused_request_keeps_no_file_and_a_post_does() {
    let rig = Rig::new().await;
    let medium = an_upload(&rig).await;

    let refused = rig.publishing.create_post(rig.user.user_id, a_request(None, &medium)).await.unwrap();
    assert!(matches!(refused, Created::Refused(NotCreated::Invalid(_))));
    assert!(!is_kept(&rig, &medium).await);

    let created = rig.publishing.create_post(rig.user.user_id, a_request(Some("Words"), &medium)).await.unwrap();
    assert!(matches!(created, Created::New(_)));
    assert!(is_kept(&rig, &medium).await);
}

#[tokio::test]
async fn a_file_of_somebody_else_is_as_if_it_were_not_there() {
    let (rig, other) = (Rig::new().await, Rig::new().await);
    let medium = an_upload(&other).await;

    let refused = rig.publishing.create_post(rig.user.user_id, a_request(Some("Words"), &medium)).await.unwrap();

    let Created::Refused(NotCreated::Invalid(faults)) = refused else { panic!("{refused:?}") };
    assert_eq!(faults.iter().map(|it| it.0).collect::<Vec<_>>(), ["media.0"]);
}
