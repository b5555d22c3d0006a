use domain::idempotency::IdempotencyKey;
use domain::post::NewPost;
use domain::testing::{noon, text};
use publishing::testing::PublishingHarness;
use scheduling::{Created, SchedulingError};
use storage::{IdempotentRequest, PostWrite, PostWritten, StorageError};

fn request(harness: &PublishingHarness) -> (IdempotentRequest, NewPost) {
    let key = IdempotentRequest {
        owner: harness.user.user_id.into(),
        route: "POST /posts",
        key: IdempotencyKey::parse(b"one").unwrap(),
        body_hash: "hash".to_owned(),
    };
    (key, NewPost::new(text("Hello")))
}

#[tokio::test]
async fn repeated_request_returns_the_same_post() {
    let harness = PublishingHarness::new().await;
    let (key, request) = request(&harness);
    let create =
        async || harness.scheduling.create_post(harness.user.user_id, request.clone(), Some(&key)).await.unwrap();

    let Created::New(first) = create().await else { panic!("no post") };
    let again = create().await;

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

    let created = harness.scheduling.create_post(harness.user.user_id, request, Some(&key)).await;

    assert!(matches!(created, Err(SchedulingError::Storage(StorageError::Answer(_)))), "{created:?}");
}
