//! Files that Instagram fetches or that the adapter uploads, and the meaning of their errors.

use chrono::TimeDelta;
use domain::delivery::AttemptError;
use domain::media::MimeType;
use fakes::instagram::{ID, Instagram};
use fakes::meta::error::GraphError;
use platforms::conformance::adapter_harness::AdapterHarness;
use platforms::conformance::fake_platform::{Call, FakePlatform};
use platforms::conformance::samples::{Sample, sample};
use serde_json::json;

use super::{by_facebook, harness};

/// The host of the files in these tests.
const HOST: &str = "127.0.0.1";

fn long_video() -> Sample {
    let mut video = sample(MimeType::Mp4, 1);
    video.bytes.resize(9 << 20, 0);
    video.attachment.size_bytes = 9 << 20;
    video
}

fn busy_reasons(errors: &[AttemptError]) -> Vec<&str> {
    let reasons = errors.iter().map(|it| match it {
        AttemptError::RetryLater { reason, .. } => reason.as_str(),
        other => panic!("{other:?}"),
    });
    reasons.collect()
}

#[tokio::test]
async fn a_refused_host_is_tried_for_hours_with_growing_pauses() {
    for mime_type in [MimeType::Jpeg, MimeType::Mp4] {
        let (harness, account) = harness().await;
        harness.fake.refuses_hosts(&[HOST]);
        let mut post = harness.post(&account, "a boat", vec![sample(mime_type, 1)]);
        let end = harness.clock.now() + TimeDelta::hours(6);

        let errors = harness.prepare_until(&mut post, end).await;

        let reasons = busy_reasons(&errors);
        let tries = harness.fake.call_count(Call::Upload);
        assert!((10..30).contains(&tries) && reasons.len() == tries, "{tries} {reasons:?}");
        let place = format!("file 1 of 1 ({})", mime_type.as_str());
        for said in [place.as_str(), "Instagram could not fetch", "robots.txt", "tunnel", "check the public URL"] {
            assert!(reasons[0].contains(said), "{said}: {}", reasons[0]);
        }
        harness.fake.refuses_hosts(&[]);
        harness.deliver(&mut post).await.unwrap();
        assert_eq!(harness.fake.public_posts().len(), 1);
    }
}

#[tokio::test]
async fn a_suspicion_of_spam_is_waited_out_for_hours() {
    let (harness, account) = harness().await;
    harness.fake.fail_containers(Some(2_207_001));
    let began = harness.clock.now();
    let mut post = harness.post(&account, "a film", vec![sample(MimeType::Mp4, 1)]);
    let errors = harness.prepare_until(&mut post, began + TimeDelta::hours(24)).await;
    assert!(matches!(
        errors[..],
        [AttemptError::RetryLater { .. }, AttemptError::RetryLater { .. }, AttemptError::Refused { .. }]
    ));
    assert!(began + TimeDelta::hours(3) < harness.clock.now());
}

#[tokio::test]
async fn by_facebook_a_video_is_sent_as_bytes() {
    let harness = by_facebook().await;
    let account = harness.connect().await;
    harness.fake.refuses_hosts(&[HOST]);
    let video = sample(MimeType::Mp4, 1);
    let mut post = harness.post(&account, "a film", vec![video.clone()]);

    harness.deliver(&mut post).await.unwrap();

    assert_eq!(harness.fake.public_posts()[0].media[0].bytes, video.bytes);
    assert_eq!(harness.fake.latest()["kind"], "reel");
    let calls = harness.fake.request_log.all();
    let sent: Vec<_> = calls.iter().filter(|it| it.request_line.starts_with("POST /ig-api-upload/")).collect();
    let [sent] = sent[..] else { panic!("{sent:?}") };
    let header = |name: &str| sent.headers.get(name).and_then(|it| it.to_str().ok()).unwrap_or_default();
    assert!(header("authorization").starts_with("OAuth "));
    assert_eq!((header("offset"), header("file_size")), ("0", video.bytes.len().to_string().as_str()));
    assert!(!sent.request_line.contains('?'), "the token and its proof are in no address: {}", sent.request_line);
    assert!(calls.iter().all(|it| !it.body.contains("video_url")));
}

#[tokio::test]
async fn videos_in_carousels_and_stories_are_sent_as_bytes() {
    let harness = by_facebook().await;
    let account = harness.connect().await;
    let mut post = harness.post(&account, "both", vec![sample(MimeType::Mp4, 1), sample(MimeType::Jpeg, 2)]);
    harness.deliver(&mut post).await.unwrap();
    let mut post = harness.post(&account, "a story", vec![sample(MimeType::Mp4, 3)]);
    post.options = super::options(&[("kind", super::text("story"))]);
    harness.deliver(&mut post).await.unwrap();

    let public = harness.fake.public_posts();
    let types: Vec<_> = public[0].media.iter().map(|it| it.mime_type).collect();
    assert_eq!(types, [MimeType::Mp4, MimeType::Jpeg]);
    assert_eq!(harness.fake.latest()["kind"], "story");
    let sent =
        harness.fake.request_log.all().iter().filter(|it| it.request_line.starts_with("POST /ig-api-upload/")).count();
    assert_eq!(sent, 2);
}

#[tokio::test]
async fn an_upload_that_breaks_off_resumes_at_its_offset() {
    let harness = by_facebook().await;
    let account = harness.connect().await;
    let video = long_video();
    let mut post = harness.post(&account, "a film", vec![video.clone()]);
    harness.fake.breaks_uploads_after(5_000_000);

    harness.deliver(&mut post).await.unwrap();

    assert_eq!(harness.fake.public_posts()[0].media[0].bytes, video.bytes);
    let calls = harness.fake.request_log.all();
    let sent = calls.iter().filter(|it| it.request_line.starts_with("POST /ig-api-upload/")).map(|it| it.size_bytes);
    assert_eq!(sent.collect::<Vec<_>>(), [9 << 20, (9 << 20) - 5_000_000]);
    assert_eq!(harness.fake.containers(), 1);
}

/// Meta marks this error as permanent, and accepts the same bytes hours later.
#[tokio::test]
async fn a_video_whose_bytes_fail_is_fetched_by_its_url() {
    let harness = by_facebook().await;
    let account = harness.connect().await;
    harness
        .fake
        .refuses("ig-api-upload", GraphError::upload(false, "ProcessingFailedError", "Request processing failed"));
    let mut post = harness.post(&account, "a film", vec![sample(MimeType::Mp4, 1)]);

    harness.deliver(&mut post).await.unwrap();

    assert_eq!(harness.fake.public_posts().len(), 1);
    assert!(harness.fake.request_log.all().iter().any(|it| it.body.contains("video_url=")));
}

#[tokio::test]
async fn bytes_that_are_refused_each_time_end_the_post_in_metas_message() {
    let harness = by_facebook().await;
    let account = harness.connect().await;
    harness.fake.refuses_hosts(&[HOST]);
    for _ in 0..8 {
        harness.fake.refuses("ig-api-upload", GraphError::upload(false, "InvalidRequestError", "The file is empty"));
    }
    let mut post = harness.post(&account, "a film", vec![sample(MimeType::Mp4, 1)]);
    let end = harness.clock.now() + TimeDelta::hours(24);

    let errors = harness.prepare_until(&mut post, end).await;

    let Some(AttemptError::Refused { reason }) = errors.last() else { panic!("{errors:?}") };
    assert!(reason.starts_with("file 1 of 1 (video/mp4)") && reason.contains("The file is empty"), "{reason}");
}

#[tokio::test]
async fn the_token_goes_to_no_other_upload_host() {
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

        assert!(matches!(errors[..], [AttemptError::RetryLater { .. }]), "{uri}: {errors:?}");
        harness.deliver(&mut post).await.unwrap();
    }
    assert!(other.request_log.all().is_empty());
}

#[tokio::test]
async fn an_account_that_is_not_to_be_seen_needs_reconnection() {
    let (harness, account) = harness().await;
    let mut post = harness.due(&account, "prepared", vec![sample(MimeType::Jpeg, 1)]).await;
    let end = harness.clock.now() + TimeDelta::hours(1);

    // A first such error is treated as temporary.
    harness.fake.refuses("content_publishing_limit", GraphError::object_not_found(ID));
    let mut other = harness.post(&account, "another", vec![sample(MimeType::Jpeg, 1)]);
    let errors = harness.prepare_until(&mut other, end).await;
    assert!(matches!(errors[..], [AttemptError::RetryLater { .. }]), "{errors:?}");

    harness.fake.hide_account();
    let error = harness.publish(&post).await.unwrap_err();
    assert!(matches!(error, AttemptError::Unauthorized { .. }), "{error:?}");
    post.progress = None;
    let error = harness.prepare(&post).await.unwrap_err();
    assert!(matches!(error, AttemptError::Unauthorized { .. }), "{error:?}");
}

#[tokio::test]
async fn ids_that_are_none_become_no_part_of_a_path() {
    let (harness, account) = harness().await;
    let made = |id: &str| GraphError::json(http::StatusCode::OK, json!({ "id": id }));
    for id in ["../me", "17/../18", "", "17?x=y", "me", &"1".repeat(200)] {
        harness.fake.refuses("media", made(id));
        let mut post = harness.post(&account, &format!("{id} container"), vec![sample(MimeType::Jpeg, 1)]);
        let end = harness.clock.now() + TimeDelta::minutes(5);
        let errors = harness.prepare_until(&mut post, end).await;
        assert!(matches!(errors[..], [AttemptError::RetryLater { .. }]), "{id}: {errors:?}");

        let post = harness.due(&account, &format!("{id} post"), vec![sample(MimeType::Jpeg, 1)]).await;
        harness.fake.refuses("media_publish", made(id));
        let error = harness.publish(&post).await.unwrap_err();
        assert!(matches!(error, AttemptError::Unknown { .. }), "{id}: {error:?}");
    }
}
