use std::sync::Arc;

use async_trait::async_trait;
use cloud::bucket::Bucket;
use cloud::pictures::Pictures;
use cloud::queue::QueueError;
use cloud::testing::TestBucket;
use domain::clock::Clock;
use domain::id::Ids;
use domain::media::{DocumentFacts, DocumentRequest, Facts, MimeType, PictureRequest};
use domain::post::{MediaReference, NewPost, Post};
use domain::random::Random;
use domain::testing::{noon, text};
use domain::validation_errors::ValidationErrors;
use publishing::testing::PublishingHarness;
use scheduling::{Created, NotCreated, SchedulingError};
use storage::{AddMediaOutcome, Medium, Room};

async fn an_upload(harness: &PublishingHarness) -> Medium {
    let id = Ids::new(Clock::System, Random::Os).fresh();
    let expected = Medium::expected(harness.user.user_id, id, MimeType::Png, noon());
    let medium = Medium { size_bytes: Some(100), facts: Some(Facts::default()), ..expected };
    assert_eq!(
        harness.store.add_media_file(&medium, Room { bytes: 1, files: 1, bytes_of_profile: None }).await.unwrap(),
        AddMediaOutcome::Added
    );
    medium
}

fn a_request(content: Option<&str>, medium: &Medium) -> NewPost {
    let mut errors = ValidationErrors::new();
    if content.is_none() {
        errors.add("content", "is required");
    }
    let media = vec![MediaReference { field: "media.0".to_owned(), path: medium.path(), alt_text: None }];
    NewPost { media, faults: errors, ..NewPost::new(content.map(text).unwrap_or_default()) }
}

async fn create(harness: &PublishingHarness, request: NewPost) -> Created {
    harness.scheduling.create_post(harness.user.user_id, request, None).await.unwrap()
}

async fn created(harness: &PublishingHarness, request: NewPost) -> Box<Post> {
    match create(harness, request).await {
        Created::New(post) => post,
        other => panic!("{other:?}"),
    }
}

async fn is_kept(harness: &PublishingHarness, medium: &Medium) -> bool {
    let found = harness.store.media(medium.user_id, &[medium.media_id]).await.unwrap();
    found[0].unused_since.is_none()
}

#[tokio::test]
async fn only_a_created_post_reserves_its_file() {
    let harness = PublishingHarness::new().await;
    let medium = an_upload(&harness).await;

    let refused = create(&harness, a_request(None, &medium)).await;
    assert!(matches!(refused, Created::Refused(NotCreated::Invalid(_))));
    assert!(!is_kept(&harness, &medium).await);

    created(&harness, a_request(Some("Words"), &medium)).await;
    assert!(is_kept(&harness, &medium).await);
}

async fn harness_with(s3: &TestBucket) -> PublishingHarness {
    let mut harness = PublishingHarness::new().await;
    harness.scheduling.bucket = s3.bucket.clone();
    harness
}

async fn uploaded(harness: &PublishingHarness, mime_type: MimeType, content: &'static [u8]) -> Medium {
    let id = Ids::new(Clock::System, Random::Os).fresh();
    let medium = Medium::expected(harness.user.user_id, id, mime_type, noon());
    assert_eq!(
        harness.store.add_media_file(&medium, Room { bytes: 1, files: 1, bytes_of_profile: None }).await.unwrap(),
        AddMediaOutcome::Added
    );
    let pieces = futures::stream::iter([Ok::<_, std::convert::Infallible>(content.into())]);
    harness.scheduling.bucket.put(&medium.path().to_string(), mime_type.as_str(), pieces).await.unwrap();
    medium
}

#[tokio::test]
async fn facts_of_a_file_are_read_once_and_stored() {
    let s3 = TestBucket::start().await;
    let harness = harness_with(&s3).await;
    let gif = uploaded(&harness, MimeType::Gif, b"GIF89a\x20\0\x14\0\x80\0\0").await;
    let path = gif.path();

    let post = created(&harness, a_request(Some("Words"), &gif)).await;

    let pixels = domain::media::Pixels::new(32, 20);
    assert_eq!(post.media[0].facts.unwrap().pixels, pixels);
    let stored = harness.store.media(harness.user.user_id, &[gif.media_id]).await.unwrap().pop().unwrap();
    assert_eq!(stored.facts.unwrap().pixels, pixels);
    harness.scheduling.bucket.delete(&path.to_string()).await.unwrap();
    // The file is not read again.
    created(&harness, a_request(Some("Again"), &gif)).await;
}

/// Answers every request for an inspection with these facts; with `None`, never.
struct Inspector {
    bucket: Bucket,
    facts: Option<DocumentFacts>,
}

#[async_trait]
impl Pictures for Inspector {
    async fn request_picture(&self, _: &PictureRequest) -> Result<(), QueueError> {
        unreachable!("pictures are resized when a post is published")
    }

    async fn request_inspection(&self, request: &DocumentRequest) -> Result<(), QueueError> {
        if let Some(facts) = self.facts {
            self.bucket.put_document_facts(request, facts).await.unwrap();
        }
        Ok(())
    }
}

#[tokio::test]
async fn facts_of_a_document_are_those_of_its_inspection() {
    for facts in [DocumentFacts::Readable { pages: 3 }, DocumentFacts::Encrypted, DocumentFacts::Damaged] {
        let s3 = TestBucket::start().await;
        let mut harness = harness_with(&s3).await;
        harness.scheduling.pictures = Arc::new(Inspector { bucket: s3.bucket.clone(), facts: Some(facts) });
        let document = uploaded(&harness, MimeType::Pdf, b"%PDF-1.7").await;
        let request = a_request(Some("Words"), &document);

        let post = created(&harness, request).await;

        assert_eq!(post.media[0].facts.unwrap().document, Some(facts));
        let stored = harness.store.media(harness.user.user_id, &[document.media_id]).await.unwrap().pop().unwrap();
        assert_eq!(stored.facts.unwrap().document, Some(facts));
    }
}

/// The function that inspects documents is slow, or does not run. A later request finds its result.
#[tokio::test]
async fn request_waits_for_an_inspection_for_a_limited_time() {
    let s3 = TestBucket::start().await;
    let mut harness = harness_with(&s3).await;
    harness.scheduling.pictures = Arc::new(Inspector { bucket: s3.bucket.clone(), facts: None });
    let document = uploaded(&harness, MimeType::Pdf, b"%PDF-1.7").await;
    let request = || a_request(Some("Words"), &document);
    let begun = harness.clock.now();

    let error = harness.scheduling.create_post(harness.user.user_id, request(), None).await.unwrap_err();

    assert!(matches!(error, SchedulingError::NotInspected), "{error:?}");
    let waited = harness.clock.now() - begun;
    assert!((12..14).contains(&waited.num_seconds()), "{waited}");
    let inspected = DocumentRequest { document: document.path() };
    s3.bucket.put_document_facts(&inspected, DocumentFacts::Readable { pages: 1 }).await.unwrap();
    created(&harness, request()).await;
}

#[tokio::test]
async fn file_without_stored_facts_is_read_again() {
    let s3 = TestBucket::start().await;
    let harness = harness_with(&s3).await;
    let gif = uploaded(&harness, MimeType::Gif, b"GIF89a\x20\0\x14\0\x80\0\0").await;
    let _ = harness.store.mark_media_verified(&gif, 13).await.unwrap();

    let post = created(&harness, a_request(Some("Words"), &gif)).await;

    assert_eq!(post.media[0].facts.unwrap().pixels, domain::media::Pixels::new(32, 20));
}

#[tokio::test]
async fn unusable_file_is_an_error_at_every_field() {
    let s3 = TestBucket::start().await;
    let harness = harness_with(&s3).await;
    let gif = uploaded(&harness, MimeType::Gif, b"no picture").await;
    let mut request = a_request(Some("Words"), &gif);
    let own = MediaReference { field: "platforms.0.media.0".to_owned(), ..request.media[0].clone() };
    let account = harness.accounts[0].connection_id;
    request.targets =
        vec![domain::post::NewTarget { media: Some(vec![own]), ..domain::post::NewTarget::new(0, account) }];

    let refused = create(&harness, request).await;

    let Created::Refused(NotCreated::Invalid(errors)) = refused else { panic!("{refused:?}") };
    assert_eq!(errors.iter().map(|it| it.0).collect::<Vec<_>>(), ["media.0", "platforms.0.media.0"]);
}
