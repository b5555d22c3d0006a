//! Pictures and videos, which are uploaded before the post.

use fakes::linkedin::LinkedIn;

use crate::prelude::*;

#[tokio::test]
async fn video_is_uploaded_in_parts_without_the_token() {
    let (harness, account) = connected::<LinkedIn>().await;
    harness.fake.cuts_into(100);
    let video = sample(MimeType::Mp4, 1);

    harness.deliver(&mut harness.post(&account, "a film", vec![video.clone()])).await.unwrap();

    assert_eq!(harness.fake.public_posts()[0].media[0].bytes, video.bytes);
    let sent = harness.fake.request_log.all();
    let parts: Vec<_> = sent.iter().filter(|it| it.request_line.starts_with("PUT ")).collect();
    assert_eq!(parts.len(), video.bytes.len().div_ceil(100));
    assert!(parts.iter().all(|it| !it.headers.contains_key("authorization")));
}

#[tokio::test]
async fn file_that_cannot_be_processed_is_refused_with_the_reason() {
    for (mime_type, expected) in [
        (MimeType::Mp4, "could not process the video: The format is not supported"),
        (MimeType::Pdf, "could not process the document; export it as a PDF again"),
    ] {
        let (harness, account) = connected::<LinkedIn>().await;
        harness.fake.spoils_videos();

        let refused = harness.deliver(&mut harness.post(&account, "a file", vec![sample(mime_type, 1)])).await;

        assert_refused(refused, expected);
        assert_eq!(harness.fake.call_count(Call::Publish), 0);
    }
}

/// LinkedIn documents for images that the token of a member may not read them.
#[tokio::test]
async fn document_is_posted_if_its_status_is_denied_and_uploaded_again_if_it_is_missing() {
    for (status, code, uploads) in [(403, "ACCESS_DENIED", 1), (404, "NOT_FOUND", 2)] {
        let (harness, account) = connected::<LinkedIn>().await;
        let body = json!({ "status": status, "serviceErrorCode": 100, "code": code, "message": "No." });
        harness.fake.refuses("/rest/documents/", status, body);

        harness.deliver(&mut harness.post(&account, "our plan", vec![sample(MimeType::Pdf, 1)])).await.unwrap();

        assert_eq!((harness.fake.public_posts().len(), harness.fake.call_count(Call::Upload)), (1, uploads), "{code}");
    }
}

#[tokio::test]
async fn file_still_awaited_after_minutes_is_sent_again() {
    let (harness, account) = connected::<LinkedIn>().await;
    let mut post = harness.due(&account, "soon", vec![sample(MimeType::Png, 1)]).await;
    let waiting = json!({ "status": 400, "code": "MEDIA_ASSET_WAITING_UPLOAD", "message": "urn:li:image:1" });
    harness.fake.refuses("/rest/posts", 400, waiting.clone());
    let soon = harness.publish(&post).await.unwrap_err();
    let at = harness.clock.now() + TimeDelta::seconds(5);
    assert_matches!(&soon, AttemptError::RetryLater { retry_at: Some(it), .. } if *it == at);

    harness.clock.advance(TimeDelta::minutes(3));
    harness.fake.refuses("/rest/posts", 400, waiting);
    let delivery = harness.deliver(&mut post).await.unwrap();

    assert!(matches!(delivery.errors[..], [AttemptError::PreparationExpired { .. }]), "{:?}", delivery.errors);
    assert_eq!(harness.fake.call_count(Call::Upload), 2);
}

/// LinkedIn still waits for the parts, so no earlier call has finalized the video.
#[tokio::test]
async fn refused_finalize_fails_the_post_with_the_message() {
    let (harness, account) = connected::<LinkedIn>().await;
    let mut post = harness.post(&account, "a film", vec![sample(MimeType::Mp4, 1)]);
    let refused = json!({ "status": 400, "code": "INVALID_VALUE_FOR_FIELD", "message": "/uploadedPartIds" });
    harness.fake.refuses("/rest/videos?action=finalizeUpload", 400, refused);

    assert_refused(harness.deliver(&mut post).await, "/uploadedPartIds");
}

/// The worker of the first call died without storing its progress. LinkedIn returns the status of
/// the video.
#[tokio::test]
async fn finalize_of_a_dead_worker_is_recognized_by_the_video_status() {
    let (harness, account) = connected::<LinkedIn>().await;
    let mut post = harness.post(&account, "a film", vec![sample(MimeType::Mp4, 1)]);
    let finalized = |harness: &AdapterHarness<LinkedIn>| {
        harness.fake.request_log.all().iter().filter(|it| it.request_line.ends_with("finalizeUpload")).count()
    };
    loop {
        let Step::Again { progress, at } = harness.prepare(&post).await.unwrap() else { panic!() };
        if finalized(&harness) == 1 {
            break;
        }
        post.progress = Some(progress);
        harness.clock.skip_to(at);
    }
    harness.clock.advance(TimeDelta::seconds(90));

    harness.deliver(&mut post).await.unwrap();

    assert_eq!((finalized(&harness), harness.fake.public_posts().len()), (2, 1));
}
