//! Documents, which are uploaded and processed before the post.

use domain::delivery::AttemptError;
use domain::media::{Attachment, DocumentFacts, Facts, MimeType};
use domain::options::Options;
use domain::testing::text;
use fakes::linkedin::LinkedIn;
use platforms::conformance::adapter_harness::AdapterHarness;
use platforms::conformance::fake_platform::{Call, FakePlatform};
use platforms::conformance::samples::sample;
use serde_json::{Value, json};

use super::harness;

fn content(harness: &AdapterHarness<LinkedIn>) -> Value {
    let sent = harness.fake.request_log.latest("POST /rest/posts").unwrap();
    serde_json::from_str::<Value>(&sent.body).unwrap()["content"]["media"].take()
}

#[tokio::test]
async fn document_has_its_title_or_the_first_line() {
    let (harness, account) = harness().await;
    let titled: Options = [("document_title".to_owned(), "Plan of the harbor".into())].into_iter().collect();
    for (number, options, expected) in [(1, titled, "Plan of the harbor"), (2, Options::default(), "Our plan 2")] {
        let document = sample(MimeType::Pdf, number);
        let mut post = harness.post(&account, &format!("Our plan {number}\nfor spring"), vec![document.clone()]);
        post.options = options;

        harness.deliver(&mut post).await.unwrap();

        let public = harness.fake.public_posts().pop().unwrap();
        assert_eq!((public.media[0].mime_type, &public.media[0].bytes), (MimeType::Pdf, &document.bytes));
        let content = content(&harness);
        assert_eq!(content["title"], expected);
        assert!(content["id"].as_str().unwrap().starts_with("urn:li:document:"), "{content}");
    }
}

#[tokio::test]
async fn document_that_cannot_be_processed_is_refused() {
    let (harness, account) = harness().await;
    harness.fake.spoils_videos();
    let mut post = harness.post(&account, "our plan", vec![sample(MimeType::Pdf, 1)]);

    let refused = harness.deliver(&mut post).await.unwrap_err();

    let AttemptError::Refused { reason } = &refused else { panic!("{refused:?}") };
    assert!(reason.contains("could not process the document; export it as a PDF again"), "{reason}");
    assert_eq!(harness.fake.call_count(Call::Publish), 0);
}

/// LinkedIn documents for images that the token of a member may not read them.
#[tokio::test]
async fn document_whose_status_is_denied_is_posted() {
    for message in ["Not enough permissions to access: documents.GET.20260801", "Access denied"] {
        let (harness, account) = harness().await;
        let denied = json!({ "status": 403, "serviceErrorCode": 100, "code": "ACCESS_DENIED", "message": message });
        harness.fake.refuses("/rest/documents/", 403, denied);
        let mut post = harness.post(&account, "our plan", vec![sample(MimeType::Pdf, 1)]);

        harness.deliver(&mut post).await.unwrap();

        assert_eq!(harness.fake.public_posts().len(), 1, "{message}");
    }
}

#[tokio::test]
async fn document_that_linkedin_does_not_know_is_uploaded_again() {
    let (harness, account) = harness().await;
    harness.fake.refuses(
        "/rest/documents/",
        404,
        json!({ "status": 404, "code": "NOT_FOUND", "message": "Not found" }),
    );
    let mut post = harness.post(&account, "our plan", vec![sample(MimeType::Pdf, 1)]);

    let passage = harness.deliver(&mut post).await.unwrap();

    assert!(matches!(passage.errors[..], [AttemptError::PreparationExpired { .. }]), "{:?}", passage.errors);
    assert_eq!(harness.fake.call_count(Call::Upload), 2);
}

#[tokio::test]
async fn rules_limit_pages_and_need_a_document_for_its_title() {
    let (_, account) = harness().await;
    let document = |facts| {
        let facts = Some(Facts { document: Some(facts), ..Facts::default() });
        Attachment { facts, ..sample(MimeType::Pdf, 1).attachment }
    };
    let messages = |media: &[Attachment], options: &Options| {
        account.rules.breaches(&text("a"), media, options).into_iter().map(|it| it.message).collect::<Vec<_>>()
    };

    assert!(messages(&[document(DocumentFacts::Readable { pages: 300 })], Options::NONE).is_empty());
    let expected = "LinkedIn accepts documents of at most 300 pages; file 1 has 301; split it, or upload a shorter one";
    assert_eq!(messages(&[document(DocumentFacts::Readable { pages: 301 })], Options::NONE), [expected]);
    let titled: Options = [("document_title".to_owned(), "Plan".into())].into_iter().collect();
    let expected = "LinkedIn accepts the option document_title only with a document; leave the option out";
    assert_eq!(messages(&[], &titled), [expected]);
}
