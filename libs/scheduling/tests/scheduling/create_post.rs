use domain::idempotency::IdempotencyKey;
use domain::testing::{noon, text};
use scheduling::{CreatePost, Created, SchedulingError};
use storage::{IdempotentRequest, PostWrite, PostWritten, StorageError};

use publishing::testing::PublishingHarness;

fn request(harness: &PublishingHarness) -> (IdempotentRequest, CreatePost) {
    let key = IdempotentRequest {
        user: harness.user.user_id,
        route: "POST /posts",
        key: IdempotencyKey::parse(b"one").unwrap(),
        body_hash: "hash".to_owned(),
    };
    (key.clone(), CreatePost { text: Some(text("Hello")), key: Some(key), ..CreatePost::default() })
}

#[tokio::test]
async fn repeated_request_returns_the_same_post() {
    let harness = PublishingHarness::new().await;
    let (_, request) = request(&harness);

    let Created::New(first) = harness.scheduling.create_post(harness.user.user_id, request.clone()).await.unwrap()
    else {
        panic!("no post")
    };
    let again = harness.scheduling.create_post(harness.user.user_id, request).await.unwrap();

    assert!(matches!(again, Created::Replayed(post) if post.post_id == first.post_id));
}

#[tokio::test]
async fn unreadable_stored_response_is_an_internal_error() {
    let harness = PublishingHarness::new().await;
    let (key, request) = request(&harness);
    let post = harness.schedule("Another", noon()).await;
    let post = harness.post(&post).await;
    let stored_response = Some((&key, "{".to_owned()));
    let write = PostWrite { before: Some(&post), after: Some(&post), kept: stored_response, ..PostWrite::default() };
    assert_eq!(harness.store.write_post(&write, noon()).await.unwrap(), PostWritten::Done);

    let created = harness.scheduling.create_post(harness.user.user_id, request).await;

    assert!(matches!(created, Err(SchedulingError::Storage(StorageError::Answer(_)))), "{created:?}");
}
