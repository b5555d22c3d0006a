//! Pages that a proxy or firewall sends instead of Facebook's response, and invalid ids and upload
//! URLs.

use domain::delivery::AttemptError;
use domain::media::MimeType;
use fakes::facebook::Facebook;
use platforms::conformance::adapter_harness::AdapterHarness;
use platforms::conformance::fake_platform::FakePlatform;
use platforms::conformance::samples::sample;
use serde_json::json;

use crate::{a_post, harness};

const PAGE: &str = "<html><h1>Request blocked</h1></html>";

#[tokio::test]
async fn a_page_of_a_proxy_ends_no_video() {
    for status in [400, 401, 403, 404, 408, 413] {
        let (harness, account) = harness().await;
        for call in ["POST /video_reels", "POST /video-upload"] {
            harness.fake.refuses(call, status, PAGE.into());
        }
        let mut post = a_post(&harness, &account, vec![sample(MimeType::Mp4, 1)], &[("kind", "reel")]);

        harness.deliver(&mut post).await.unwrap();

        assert_eq!(harness.fake.public_posts().len(), 1, "{status}");
    }
}

#[tokio::test]
async fn the_token_goes_to_no_other_upload_host() {
    let (harness, other) = AdapterHarness::<Facebook>::with_second_fake().await;
    let account = harness.connect().await;
    for url in [
        format!("{}/video-upload/v26.0/17", other.base_url()),
        "http://rupload.facebook.com/video-upload/v26.0/17".to_owned(),
        "https://rupload.facebook.com.example/video-upload/v26.0/17".to_owned(),
    ] {
        harness.fake.refuses("POST /video_reels", 200, json!({ "video_id": "17", "upload_url": url }));
        let mut post = a_post(&harness, &account, vec![sample(MimeType::Mp4, 1)], &[("kind", "reel")]);
        post.text = url;
        let mut errors = Vec::new();

        harness.prepare_all(&mut post, &mut errors).await.unwrap();

        assert!(matches!(errors[..], [AttemptError::RetryLater { .. }]), "{errors:?}");
    }
    assert!(other.request_log.all().is_empty());
}

#[tokio::test]
async fn ids_that_are_none_become_no_part_of_a_path() {
    let (harness, account) = harness().await;
    for id in ["../me", "17_18/comments", "", "17?x=y", "me"] {
        let post = harness.due(&account, &format!("{id} text"), Vec::new()).await;
        harness.fake.refuses("POST /feed", 200, json!({ "id": id }));
        let error = harness.publish(&post).await.unwrap_err();
        assert!(matches!(error, AttemptError::Unknown { .. }), "{id}: {error:?}");

        let mut story = a_post(&harness, &account, vec![sample(MimeType::Jpeg, 1)], &[("kind", "story")]);
        harness.prepare_all(&mut story, &mut Vec::new()).await.unwrap();
        harness.fake.refuses("POST /photo_stories", 200, json!({ "success": true, "post_id": id }));
        let error = harness.publish(&story).await.unwrap_err();
        assert!(matches!(error, AttemptError::Unknown { .. }), "{id}: {error:?}");
    }
}
