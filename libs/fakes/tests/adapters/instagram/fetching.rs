//! Files that Instagram fetches or that the adapter uploads.

use fakes::fake::request_log::RecordedRequest;
use fakes::instagram::{ID, Instagram};
use fakes::meta::error::GraphError;

use super::by_facebook;
use crate::prelude::*;

/// The host of the files in these tests.
const HOST: &str = "127.0.0.1";

/// The calls that sent bytes.
fn uploads(fake: &Instagram<true>) -> Vec<RecordedRequest> {
    fake.request_log.all().into_iter().filter(|it| it.request_line.starts_with("POST /ig-api-upload/")).collect()
}

#[tokio::test]
async fn refused_host_is_tried_for_hours_with_growing_pauses() {
    for mime_type in [MimeType::Jpeg, MimeType::Mp4] {
        let (harness, account) = connected::<Instagram>().await;
        harness.fake.refuses_hosts(&[HOST]);
        let mut post = harness.post(&account, "a boat", vec![sample(mime_type, 1)]);
        let end = harness.clock.now() + TimeDelta::hours(6);

        let errors = harness.prepare_until(&mut post, end).await;

        let tries = harness.fake.call_count(Call::Upload);
        assert!((10..30).contains(&tries) && errors.len() == tries, "{tries} {errors:?}");
        let place = format!("file 1 of 1 ({})", mime_type.as_str());
        for error in &errors {
            let AttemptError::RetryLater { reason, .. } = error else { panic!("{error:?}") };
            for said in [&place, "Instagram could not fetch", "robots.txt", "tunnel", "check the public URL"] {
                assert!(reason.contains(said), "{said}: {reason}");
            }
        }
        harness.fake.refuses_hosts(&[]);
        harness.deliver(&mut post).await.unwrap();
        assert_eq!(harness.fake.public_posts().len(), 1);
    }
}

#[tokio::test]
async fn video_bytes_are_sent_to_accounts_connected_by_facebook() {
    let (video, picture) = (sample(MimeType::Mp4, 1), sample(MimeType::Jpeg, 2));
    for (kind, files) in [("reel", vec![video.clone()]), ("story", vec![video.clone()]), ("post", vec![video, picture])]
    {
        let harness = by_facebook().await;
        let account = harness.connect().await;
        let mut post = harness.post(&account, "a film", files.clone()).with(json!({ "kind": kind }));

        harness.deliver(&mut post).await.unwrap();

        assert_eq!(harness.fake.latest()["kind"], kind);
        assert_eq!(harness.fake.public_posts()[0].media[0].bytes, files[0].bytes);
        let [sent] = &uploads(&harness.fake)[..] else { panic!("{kind}") };
        let header = |name: &str| sent.headers.get(name).and_then(|it| it.to_str().ok()).unwrap_or_default();
        assert!(header("authorization").starts_with("OAuth "));
        assert_eq!((header("offset"), header("file_size")), ("0", files[0].bytes.len().to_string().as_str()));
        assert!(!sent.request_line.contains('?'), "the token and its proof are in no URL: {}", sent.request_line);
    }
}

#[tokio::test]
async fn upload_that_breaks_off_resumes_at_its_offset() {
    let harness = by_facebook().await;
    let account = harness.connect().await;
    let video = sample_with_size(MimeType::Mp4, 9 << 20);
    let mut post = harness.post(&account, "a film", vec![video.clone()]);
    harness.fake.breaks_uploads_after(5_000_000);

    harness.deliver(&mut post).await.unwrap();

    assert_eq!(harness.fake.public_posts()[0].media[0].bytes, video.bytes);
    let sent: Vec<_> = uploads(&harness.fake).iter().map(|it| it.size_bytes).collect();
    assert_eq!(sent, [9 << 20, (9 << 20) - 5_000_000]);
    assert_eq!(harness.fake.containers(), 1);
}

/// Meta marks this error as permanent, and accepts the same bytes hours later.
#[tokio::test]
async fn video_whose_bytes_fail_is_fetched_by_its_url() {
    let harness = by_facebook().await;
    let account = harness.connect().await;
    let failed = GraphError::upload(false, "ProcessingFailedError", "Request processing failed");
    harness.fake.refuses("ig-api-upload", failed);
    harness.deliver(&mut harness.post(&account, "a film", vec![sample(MimeType::Mp4, 1)])).await.unwrap();

    assert_eq!(harness.fake.public_posts().len(), 1);
    assert!(harness.fake.request_log.all().iter().any(|it| it.body.contains("video_url=")));
}

/// Facebook uploads reels by the same code.
#[tokio::test]
async fn token_goes_to_no_other_upload_host() {
    let (harness, other) = AdapterHarness::<Instagram<true>>::with_second_fake().await;
    let account = harness.connect().await;
    for uri in [
        format!("{}/ig-api-upload/v26.0/17", other.base_url()),
        "http://rupload.facebook.com/ig-api-upload/v26.0/17".to_owned(),
        "https://rupload.facebook.com.example/ig-api-upload/v26.0/17".to_owned(),
        "https://me@rupload.facebook.com/ig-api-upload/v26.0/17".to_owned(),
    ] {
        let made = GraphError::json(http::StatusCode::OK, json!({ "id": "17", "uri": uri }));
        harness.fake.refuses("media", made);
        let mut post = harness.post(&account, &uri, vec![sample(MimeType::Mp4, 1)]);
        let end = harness.clock.now() + TimeDelta::minutes(5);

        let errors = harness.prepare_until(&mut post, end).await;

        assert_matches!(&errors[..], [AttemptError::RetryLater { .. }], "{uri}: {errors:?}");
        harness.deliver(&mut post).await.unwrap();
    }
    assert!(other.request_log.all().is_empty());
}

#[tokio::test]
async fn account_that_meta_does_not_show_needs_reconnection() {
    let (harness, account) = connected::<Instagram>().await;
    let post = harness.due(&account, "prepared", vec![sample(MimeType::Jpeg, 1)]).await;
    let end = harness.clock.now() + TimeDelta::hours(1);

    // A first such error is treated as temporary.
    harness.fake.refuses("content_publishing_limit", GraphError::object_not_found(ID));
    let mut other = harness.post(&account, "another", vec![sample(MimeType::Jpeg, 1)]);
    let errors = harness.prepare_until(&mut other, end).await;
    assert_matches!(&errors[..], [AttemptError::RetryLater { .. }], "{errors:?}");

    harness.fake.hide_account();
    let unprepared = harness.post(&account, "a third", vec![sample(MimeType::Jpeg, 1)]);
    for error in [harness.publish(&post).await.unwrap_err(), harness.prepare(&unprepared).await.unwrap_err()] {
        assert_matches!(&error, AttemptError::Unauthorized { .. });
    }
}
