use domain::idempotency::IdempotencyKey;
use domain::testing::{noon, text};

use super::*;
use crate::testing::Rig;

fn request(rig: &Rig) -> (IdempotentRequest, CreatePost) {
    let key = IdempotentRequest {
        user: rig.user.user_id,
        route: "POST /posts",
        key: IdempotencyKey::parse(b"one").unwrap(),
        body_hash: "hash".to_owned(),
    };
    (key.clone(), CreatePost { text: Some(text("Hello")), key: Some(key), ..CreatePost::default() })
}

#[tokio::test]
async fn repeated_request_returns_the_same_post() {
    let rig = Rig::new().await;
    let (_, request) = request(&rig);

    let Created::New(first) = rig.publishing.create_post(rig.user.user_id, request.clone()).await.unwrap() else {
        panic!("no post")
    };
    let again = rig.publishing.create_post(rig.user.user_id, request).await.unwrap();

    assert!(matches!(again, Created::Replayed(post) if post.post_id == first.post_id));
}

#[tokio::test]
async fn unreadable_stored_response_is_an_internal_error() {
    let rig = Rig::new().await;
    let (key, request) = request(&rig);
    let post = rig.schedule("Another", noon()).await;
    let post = rig.post(&post).await;
    let stored_response = Some((&key, "{".to_owned()));
    let write = PostWrite { before: Some(&post), after: Some(&post), kept: stored_response, ..PostWrite::default() };
    assert_eq!(rig.store.write_post(&write, noon()).await.unwrap(), PostWritten::Done);

    let created = rig.publishing.create_post(rig.user.user_id, request).await;

    assert!(matches!(created, Err(PublishingError::Storage(StorageError::Answer(_)))), "{created:?}");
}
