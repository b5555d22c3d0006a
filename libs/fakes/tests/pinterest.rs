//! Behavior specific to Pinterest.
#![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

use chrono::TimeDelta;
use domain::delivery::AttemptError;
use domain::media::{AltText, MimeType};
use domain::options::OptionValue;
use domain::testing::{a_connection, a_user};
use fakes::fake::wire::browser;
use fakes::pinterest::{BOARD, Pinterest};
use platforms::ChoicesRequest;
use platforms::conformance::adapter_harness::AdapterHarness;
use platforms::conformance::fake_platform::FakePlatform;
use platforms::conformance::samples::sample;
use secrecy::ExposeSecret;
use serde_json::{Value, json};

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

/// By the OpenAPI description of `PinMediaSourceImagesURL` and the form POST of S3.
#[tokio::test]
async fn fake_refuses_unknown_fields_of_pictures_and_incomplete_forms() {
    let harness = PinterestHarness::new().await;
    let account = harness.connect().await;
    let token = account.credentials.access_token.expose_secret();
    let ask = async |path: &str, body: Value| {
        let request = browser().post(format!("{}{path}", harness.fake.base_url())).bearer_auth(token).json(&body);
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.json::<Value>().await.unwrap())
    };

    let items = [json!({ "url": "http://127.0.0.1:9/1" }), json!({ "url": "http://127.0.0.1:9/2", "alt_text": "a" })];
    let source = json!({ "source_type": "multiple_image_urls", "index": 0, "items": items });
    let (status, refusal) = ask("/v5/pins", json!({ "board_id": BOARD, "media_source": source })).await;
    let message = refusal["message"].as_str().unwrap();
    assert!(status == 400 && message.starts_with("items: Additional properties are not allowed"), "{refusal}");

    let (_, media) = ask("/v5/media", json!({ "media_type": "video" })).await;
    let parameters = media["upload_parameters"].as_object().unwrap();
    let upload = async |changed: &str, value: Option<&str>| {
        let mut form = Vec::new();
        for (name, said) in parameters {
            let said = if name == changed { value } else { said.as_str() };
            let Some(said) = said else { continue };
            let part = format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{said}\r\n");
            form.extend_from_slice(part.as_bytes());
        }
        form.extend_from_slice(b"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.mp4\"\r\n\r\n");
        form.extend_from_slice(&sample(MimeType::Mp4, 1).bytes);
        form.extend_from_slice(b"\r\n--b--\r\n");
        let request = browser().post(media["upload_url"].as_str().unwrap());
        let request = request.header("content-type", "multipart/form-data; boundary=b").body(form);
        request.send().await.unwrap().status().as_u16()
    };
    for name in parameters.keys() {
        assert_eq!((upload(name, None).await, upload(name, Some("another")).await), (403, 403), "{name}");
    }
    assert_eq!(upload("none of them", None).await, 204);
}
