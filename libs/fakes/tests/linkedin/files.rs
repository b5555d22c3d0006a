//! Pictures and videos, which are uploaded before the post.

use chrono::TimeDelta;
use domain::delivery::AttemptError;
use domain::media::MimeType;
use fakes::fake::request_log::RecordedRequest;
use fakes::linkedin::LinkedIn;
use platforms::Step;
use platforms::conformance::adapter_harness::AdapterHarness;
use platforms::conformance::fake_platform::{Call, FakePlatform};
use platforms::conformance::samples::sample;
use serde_json::json;

use super::harness;

/// The response of a proxy, a CDN or a firewall in front of LinkedIn.
const PAGE_OF_A_PROXY: &str = "<!DOCTYPE html>\n<html><body>Access denied</body></html>\n";

#[tokio::test]
async fn a_video_goes_up_in_parts_and_what_has_arrived_is_not_sent_again() {
    let (harness, account) = harness().await;
    harness.fake.cuts_into(100);
    let video = sample(MimeType::Mp4, 1);
    let parts = video.bytes.len().div_ceil(100);
    let mut post = harness.post(&account, "a film", vec![video.clone()]);
    harness.clock.skip_to(post.publish_at - harness.lead(std::slice::from_ref(&video.attachment)).unwrap());

    let Step::Again { progress, .. } = harness.prepare(&post).await.unwrap() else { panic!("it is not there yet") };
    post.progress = Some(progress);
    assert_eq!(harness.fake.call_count(Call::Upload), 0, "announced");
    // One part fails; the parts that arrived before it are kept.
    harness.fake.refuses("/dms-uploads/5", 500, json!({ "status": 500, "message": "Internal Server Error" }));

    harness.deliver(&mut post).await.unwrap();

    let sent = |part: usize| {
        let request_log = harness.fake.request_log.all();
        let is_part = |it: &&RecordedRequest| {
            it.request_line.starts_with("PUT ") && it.request_line.ends_with(&format!("/{part}"))
        };
        request_log.iter().filter(is_part).count()
    };
    assert!(6 < parts && (0..5).all(|it| sent(it) == 1) && sent(5) == 2, "only what was missing is sent again");
    assert_eq!(harness.fake.public_posts()[0].media[0].bytes, video.bytes);
    let name = &harness.fake.public_posts()[0].id;
    assert!(name.starts_with("urn:li:ugcPost:"), "{name}");
    let sent = harness.fake.request_log.all();
    let to_parts = sent.iter().filter(|it| it.request_line.starts_with("PUT "));
    assert!(to_parts.into_iter().all(|it| !it.headers.contains_key("authorization")), "the token stays here");
}

#[tokio::test]
async fn an_upload_that_took_too_long_begins_anew() {
    let (harness, account) = harness().await;
    let mut post = harness.post(&account, "a film", vec![sample(MimeType::Mp4, 1)]);
    let Step::Again { progress, .. } = harness.prepare(&post).await.unwrap() else { panic!("it is not there yet") };
    post.progress = Some(progress);
    harness.clock.advance(TimeDelta::hours(25));

    let over = harness.prepare(&post).await.unwrap_err();

    assert!(matches!(over, AttemptError::PreparationExpired { .. }), "{over:?}");
    post.progress = None;
    harness.deliver(&mut post).await.unwrap();
}

#[tokio::test]
async fn a_video_that_cannot_be_processed_is_refused_and_says_why() {
    let (harness, account) = harness().await;
    harness.fake.spoils_videos();
    let mut post = harness.post(&account, "a film", vec![sample(MimeType::Mp4, 1)]);

    let refused = harness.deliver(&mut post).await.unwrap_err();

    let AttemptError::Refused { reason } = &refused else { panic!("{refused:?}") };
    assert!(reason.contains("could not process the video: The format is not supported"), "{reason}");
    assert_eq!(harness.fake.call_count(Call::Publish), 0);
}

#[tokio::test]
async fn a_file_that_is_not_ready_is_waited_for_and_one_that_never_came_is_sent_again() {
    let (harness, account) = harness().await;
    let mut post = harness.due(&account, "soon", vec![sample(MimeType::Png, 1)]).await;
    let waiting = json!({ "status": 400, "code": "MEDIA_ASSET_WAITING_UPLOAD", "message": "urn:li:image:1" });
    harness.fake.refuses("/rest/posts", 400, waiting.clone());
    let soon = harness.publish(&post).await.unwrap_err();
    let at = harness.clock.now() + TimeDelta::seconds(5);
    assert!(matches!(soon, AttemptError::RetryLater { retry_at: Some(it), .. } if it == at), "{soon:?}");

    harness.clock.advance(TimeDelta::minutes(3));
    harness.fake.refuses("/rest/posts", 400, waiting);
    let before = harness.fake.call_count(Call::Upload);
    let passage = harness.deliver(&mut post).await.unwrap();
    assert!(matches!(passage.errors[..], [AttemptError::PreparationExpired { .. }]), "{:?}", passage.errors);
    assert_eq!(harness.fake.call_count(Call::Upload), before + 1);

    let mut bad = harness.due(&account, "never", vec![sample(MimeType::Png, 2)]).await;
    let failed = json!({ "status": 400, "code": "MEDIA_ASSET_PROCESSING_FAILED", "message": "urn:li:image:2" });
    harness.fake.refuses("/rest/posts", 400, failed);
    let refused = harness.deliver(&mut bad).await.unwrap_err();
    assert!(matches!(refused, AttemptError::Refused { .. }), "{refused:?}");
}

/// Upload URLs are signed, and report their expiry with a different error.
#[tokio::test]
async fn an_address_that_lets_nobody_in_says_nothing_of_the_account() {
    let (harness, account) = harness().await;
    for (mime_type, number) in [(MimeType::Png, 1), (MimeType::Mp4, 2)] {
        for status in [401, 403, 404, 410] {
            let mut post = harness.post(&account, &format!("{mime_type:?} {status}"), vec![sample(mime_type, number)]);
            harness.fake.refuses(
                "/dms-uploads",
                status,
                json!({ "status": status, "message": "the signature has expired" }),
            );

            let passage = harness.deliver(&mut post).await.unwrap();

            assert!(
                matches!(passage.errors[..], [AttemptError::PreparationExpired { .. }]),
                "{status}: {:?}",
                passage.errors
            );
        }
    }
}

/// LinkedIn still waits for the parts, so no earlier call has finalized the video.
#[tokio::test]
async fn first_finalize_that_is_refused_ends_the_post_with_linkedins_message() {
    let (harness, account) = harness().await;
    let mut post = harness.post(&account, "a film", vec![sample(MimeType::Mp4, 1)]);
    let refused = json!({ "status": 400, "code": "INVALID_VALUE_FOR_FIELD", "message": "/uploadedPartIds" });
    harness.fake.refuses("/rest/videos?action=finalizeUpload", 400, refused);

    let refused = harness.deliver(&mut post).await.unwrap_err();

    assert!(matches!(&refused, AttemptError::Refused { reason } if reason.contains("/uploadedPartIds")), "{refused:?}");
}

/// The worker of the first call died without storing its progress. LinkedIn returns the status of
/// the video.
#[tokio::test]
async fn finalize_that_a_dead_worker_made_is_recognized_by_the_status_of_the_video() {
    let (harness, account) = harness().await;
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

/// Upload URLs must be at hosts of LinkedIn. Otherwise another host would receive the file and the token.
#[tokio::test]
async fn a_file_goes_to_linkedin_alone() {
    let other = AdapterHarness::<LinkedIn>::new().await.fake;
    for mime_type in [MimeType::Png, MimeType::Mp4] {
        let harness = AdapterHarness::<LinkedIn>::with_other_servers(&other.addresses()).await;
        let account = harness.connect().await;
        harness.fake.set_upload_url(&other.base_url());
        let mut post = harness.post(&account, "not there", vec![sample(mime_type, 1)]);

        let error = loop {
            match harness.prepare(&post).await {
                Ok(Step::Again { progress, .. }) => post.progress = Some(progress),
                Ok(step) => panic!("{mime_type:?}: {step:?}"),
                Err(error) => break error,
            }
        };

        assert!(matches!(error, AttemptError::RetryLater { .. }), "{mime_type:?}: {error:?}");
    }
    assert!(other.request_log.all().is_empty(), "{:?}", other.request_log.all());
}

#[tokio::test]
async fn a_page_of_an_intermediary_does_not_end_an_upload() {
    let (harness, account) = harness().await;
    for (path, mime_type) in [
        ("/rest/images", MimeType::Png),
        ("/rest/videos?action=initialize", MimeType::Mp4),
        ("/rest/videos/", MimeType::Mp4),
        ("/rest/documents", MimeType::Pdf),
        ("/rest/documents/", MimeType::Pdf),
        ("/dms-uploads", MimeType::Pdf),
    ] {
        for status in [400, 401, 403, 404, 408, 413] {
            let mut post =
                harness.post(&account, &format!("{path} {mime_type:?} {status}"), vec![sample(mime_type, 1)]);
            let met = || harness.fake.request_log.all().iter().filter(|it| it.status == Some(status)).count();
            let before = met();
            harness.fake.refuses(path, status, json!(PAGE_OF_A_PROXY));

            let passage = harness.deliver(&mut post).await.unwrap();

            let is_passing = |it: &AttemptError| {
                matches!(it, AttemptError::RetryLater { .. } | AttemptError::PreparationExpired { .. })
            };
            assert!(passage.errors.iter().all(is_passing), "{path} {status}: {:?}", passage.errors);
            assert_eq!(met(), before + 1, "{path} {status}: one call met it");
        }
        harness.clock.advance(TimeDelta::days(1));
    }
}
