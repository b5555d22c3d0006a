//! Behavior specific to Pinterest.
#![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

use chrono::TimeDelta;
use domain::delivery::AttemptError;
use domain::media::{AltText, MimeType};
use domain::options::OptionValue;
use domain::testing::{a_connection, a_user};
use fakes::pinterest::{BOARD, Pinterest};
use platforms::ChoicesRequest;
use platforms::conformance::adapter_harness::AdapterHarness;
use platforms::conformance::fake_platform::FakePlatform;
use platforms::conformance::samples::sample;
use serde_json::json;

type PinterestHarness = AdapterHarness<Pinterest>;

#[tokio::test]
async fn boards_are_choices_and_those_for_advertisements_are_left_out() {
    let harness = PinterestHarness::new().await;
    let account = harness.connect().await;

    let mut connection = a_connection(&a_user());
    connection.profile = account.profile.clone();
    let credentials = &account.credentials;
    let asked = ChoicesRequest { option: "board", query: None, connection: &connection, credentials };
    let choices = harness.connector().choices(&asked, harness.clock.now()).await.unwrap();

    let choices: Vec<_> = choices.iter().map(|it| (it.value.as_str(), it.label.as_str())).collect();
    assert_eq!(choices, [(BOARD, "Boats")], "the second page has it");
}

#[tokio::test]
async fn pin_has_title_link_and_cover() {
    let harness = PinterestHarness::new().await;
    let account = harness.connect().await;
    let mut post = harness.post(&account, "First line\nand more", vec![sample(MimeType::Mp4, 1)]);
    let link = ("link".to_owned(), OptionValue::Text("https://example.com/".to_owned()));
    let cover = ("cover_ms".to_owned(), OptionValue::Number(2_900));
    let board = ("board".to_owned(), OptionValue::Text(BOARD.to_owned()));
    post.options = [board, cover, link].into_iter().collect();

    harness.deliver(&mut post).await.unwrap();

    let request = harness.fake.latest_request();
    assert_eq!((&request["title"], &request["link"]), (&json!("First line"), &json!("https://example.com/")));
    assert_eq!(request["media_source"]["cover_image_key_frame_time"], 2);
}

/// Pinterest's OpenAPI description has one `alt_text` for each pin, whatever its media source.
#[tokio::test]
async fn alternative_text_of_a_video_is_that_of_its_pin() {
    let harness = PinterestHarness::new().await;
    let account = harness.connect().await;
    let mut video = sample(MimeType::Mp4, 1);
    video.attachment.alt_text = Some(AltText::parse("A boat leaves the harbor.").unwrap());
    let mut post = harness.post(&account, "Hello", vec![video]);

    harness.deliver(&mut post).await.unwrap();

    let shown: Vec<_> = harness.fake.public_posts().into_iter().flat_map(|it| it.media).map(|it| it.alt_text).collect();
    assert_eq!(shown, [Some("A boat leaves the harbor.".to_owned())]);
}

#[tokio::test]
async fn app_with_trial_access_is_no_fault_of_the_post() {
    let harness = PinterestHarness::new().await;
    let account = harness.connect().await;
    let mut post = harness.post(&account, "Hello", vec![sample(MimeType::Png, 1)]);
    harness.prepare_all(&mut post, &mut Vec::new()).await.unwrap();
    harness.clock.skip_to(post.publish_at);
    let trial = json!({ "code": 29, "message": "Apps with Trial access may not create Pins in production." });
    harness.fake.refuses("/v5/pins", 403, trial);

    let refused = harness.publish(&post).await.unwrap_err();

    assert!(
        matches!(&refused, AttemptError::RetryLater { reason, .. } if reason.contains("Standard access")),
        "{refused:?}"
    );
}

#[tokio::test]
async fn picture_that_pinterest_cannot_fetch_is_tried_again() {
    let harness = PinterestHarness::new().await;
    let account = harness.connect().await;
    let unreachable = json!({ "code": 1, "message": "Sorry! We were unable to reach the URL." });
    harness.fake.refuses("/v5/pins", 400, unreachable);
    let mut post = harness.post(&account, "Hello", vec![sample(MimeType::Png, 1)]);

    let passage = harness.deliver(&mut post).await.unwrap();

    assert!(matches!(passage.errors.as_slice(), [AttemptError::RetryLater { .. }]), "{:?}", passage.errors);
}

#[tokio::test]
async fn video_is_sent_to_pinterest_alone() {
    let harness = PinterestHarness::new().await;
    let account = harness.connect().await;
    harness.fake.set_upload_base_url("http://127.0.0.1:9/storage");
    let post = harness.post(&account, "Hello", vec![sample(MimeType::Mp4, 1)]);
    harness.clock.skip_to(post.publish_at - TimeDelta::minutes(1));

    let refused = harness.prepare(&post).await.unwrap_err();

    assert!(
        matches!(&refused, AttemptError::RetryLater { reason, .. } if reason.contains("could not be read")),
        "{refused:?}"
    );
}
