//! Requests and their results, in a bucket in this process.

use std::convert::Infallible;
use std::io::Cursor;

use cloud::testing::TestBucket;
use domain::media::{MediaPath, MimeType, PictureBounds};
use futures::stream;
use image::{ImageFormat, Rgb, RgbImage};

use super::*;

const BOUNDS: PictureBounds = PictureBounds::new(100_000, 50);

fn request(path: &str) -> PictureRequest {
    PictureRequest { file: MediaPath::parse(path).unwrap(), bounds: BOUNDS }
}

fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    RgbImage::from_pixel(width, height, Rgb([9, 99, 199])).write_to(&mut bytes, ImageFormat::Png).unwrap();
    bytes.into_inner()
}

async fn upload(store: &TestBucket, request: &PictureRequest, bytes: Vec<u8>) {
    let pieces = stream::iter([Ok::<_, Infallible>(bytes.into())]);
    store.bucket.put(&request.file.to_string(), "image/png", pieces).await.unwrap();
}

fn message(body: String, received: u32) -> SqsEvent {
    let mut message = SqsMessage::default();
    message.message_id = Some("m1".to_owned());
    message.body = Some(body);
    message.attributes.insert("ApproximateReceiveCount".to_owned(), received.to_string());
    let mut event = SqsEvent::default();
    event.records = vec![message];
    event
}

fn first() -> MessageReceipt {
    MessageReceipt { message: "m1".to_owned(), received: 1 }
}

async fn handle_and_read_result(store: &TestBucket, request: &PictureRequest, received: u32) -> Option<PictureResult> {
    let event = message(serde_json::to_string(request).unwrap(), received);
    handle(&store.bucket, event).await.unwrap();
    store.bucket.picture(request).await.unwrap()
}

#[tokio::test]
async fn resized_image_is_stored_where_it_is_read() {
    let (store, request) = (TestBucket::start().await, request("media/7/42.png"));
    upload(&store, &request, png(100, 60)).await;

    let Some(PictureResult::Picture { mime_type, bytes }) = handle_and_read_result(&store, &request, 1).await else {
        panic!()
    };

    assert_eq!((mime_type, mime_type.picture_size(&bytes)), (MimeType::Png, Some((50, 30))));
    assert!(mime_type.is_bare_picture(&bytes));
}

#[tokio::test]
async fn damaged_and_missing_files_are_refused() {
    let store = TestBucket::start().await;
    let (broken, gone) = (request("media/7/1.png"), request("media/7/2.png"));
    upload(&store, &broken, png(100, 60)[..50].to_vec()).await;

    for (request, expected) in [(broken, "damaged"), (gone, "no longer exists")] {
        let Some(PictureResult::Refused { reason }) = handle_and_read_result(&store, &request, 1).await else {
            panic!("{expected}")
        };
        assert!(reason.contains(expected), "{reason}");
    }
}

/// The file is valid, so a decoder would have succeeded.
#[tokio::test]
async fn file_that_ended_the_process_three_times_is_not_decoded_again() {
    let (store, request) = (TestBucket::start().await, request("media/7/42.png"));
    upload(&store, &request, png(100, 60)).await;
    record_attempts(&store.bucket, request.answered_at(), &first(), MAX_ENDS).await.unwrap();

    let Some(PictureResult::Refused { reason }) = handle_and_read_result(&store, &request, MAX_ENDS + 1).await else {
        panic!()
    };

    assert!(reason.contains("3 attempts"), "{reason}");
    assert!(
        matches!(handle_and_read_result(&store, &request, 1).await, Some(PictureResult::Refused { .. })),
        "and it stays so"
    );
}

#[tokio::test]
async fn redelivered_message_is_tried_up_to_the_limit() {
    let (store, request) = (TestBucket::start().await, request("media/7/42.png"));
    upload(&store, &request, png(100, 60)).await;
    record_attempts(&store.bucket, request.answered_at(), &first(), MAX_ENDS - 1).await.unwrap();

    assert!(matches!(handle_and_read_result(&store, &request, MAX_ENDS).await, Some(PictureResult::Picture { .. })));
    assert_eq!(begun(&store.bucket, request.answered_at(), &MessageReceipt { received: 2, ..first() }).await, MAX_ENDS);
}

/// As when too many functions run, and the queue has to keep the message.
#[tokio::test]
async fn message_that_was_never_started_may_be_redelivered_often() {
    let (store, request) = (TestBucket::start().await, request("media/7/42.png"));
    upload(&store, &request, png(100, 60)).await;

    assert!(matches!(handle_and_read_result(&store, &request, 100).await, Some(PictureResult::Picture { .. })));
}

async fn inspect_file(store: &TestBucket, content: &'static [u8], received: u32) -> Option<DocumentFacts> {
    let request = DocumentRequest { document: MediaPath::parse("media/7/42.pdf").unwrap() };
    let pieces = stream::iter([Ok::<_, Infallible>(content.into())]);
    store.bucket.put(&request.document.to_string(), "application/pdf", pieces).await.unwrap();
    let event = message(serde_json::to_string(&FileRequest::Document(request)).unwrap(), received);
    handle(&store.bucket, event).await.unwrap();
    store.bucket.document_facts(&request).await.unwrap()
}

const DOCUMENT: &[u8] =
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]>>endobj\n\
    3 0 obj<</Type/Page>>endobj\nxref\n1 3\n0000000009 00000 n \n0000000051 00000 n \n0000000093 00000 n \n\
    trailer<</Root 1 0 R>>\nstartxref\n121\n%%EOF";

#[tokio::test]
async fn facts_of_a_document_are_stored_where_they_are_read() {
    for (content, expected) in
        [(DOCUMENT, DocumentFacts::Readable { pages: 1 }), (b"%PDF-1.4\nno more", DocumentFacts::Damaged)]
    {
        let store = TestBucket::start().await;
        assert_eq!(inspect_file(&store, content, 1).await, Some(expected));
    }
}

#[tokio::test]
async fn document_that_ended_the_process_three_times_is_damaged() {
    let store = TestBucket::start().await;
    let request = DocumentRequest { document: MediaPath::parse("media/7/42.pdf").unwrap() };
    record_attempts(&store.bucket, request.answered_at(), &first(), MAX_ENDS).await.unwrap();

    assert_eq!(inspect_file(&store, DOCUMENT, MAX_ENDS + 1).await, Some(DocumentFacts::Damaged));
}

#[tokio::test]
async fn missing_document_has_no_result() {
    let store = TestBucket::start().await;
    let request = DocumentRequest { document: MediaPath::parse("media/7/42.pdf").unwrap() };

    handle(&store.bucket, message(serde_json::to_string(&request).unwrap(), 1)).await.unwrap();

    assert_eq!(store.bucket.document_facts(&request).await.unwrap(), None);
}

#[tokio::test]
async fn invalid_message_fails() {
    let store = TestBucket::start().await;
    for body in
        ["", "not a request", "{}", r#"{"file":"../7/42.png","bounds":{"max_bytes":1,"max_side":1,"types":"jpeg"}}"#]
    {
        assert!(handle(&store.bucket, message(body.to_owned(), 1)).await.is_err(), "{body}");
    }
    assert_eq!(store.files(), Vec::<String>::new());
}

#[tokio::test]
async fn too_large_file_is_refused() {
    let (store, request) = (TestBucket::start().await, request("media/7/42.png"));
    upload(&store, &request, png(100, 60)).await;
    let place = store.folder.path().join("media/media/7/42.png");
    std::fs::File::options().write(true).open(place).unwrap().set_len(MAX_FILE_BYTES + 1).unwrap();

    let Some(PictureResult::Refused { reason }) = handle_and_read_result(&store, &request, 1).await else { panic!() };

    assert_eq!(reason, "the file has 64.1 MiB; at most 64 MiB can be resized. Upload a smaller one");
}

/// The requester sends it again. If the message were delivered again, a short outage of the store
/// would look like a file that ends the process.
#[tokio::test]
async fn store_failure_drops_the_request_without_a_result() {
    let (store, request) = (TestBucket::start().await, request("media/7/42.png"));
    upload(&store, &request, png(100, 60)).await;
    // Nothing can be created below a file.
    std::fs::write(store.folder.path().join("media/derived"), b"").unwrap();

    let event = message(serde_json::to_string(&request).unwrap(), 1);
    assert!(handle(&store.bucket, event).await.is_ok());
    assert!(fit(&store.bucket, &request, &first()).await.is_err());
}
