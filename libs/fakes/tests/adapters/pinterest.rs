//! Behavior specific to Pinterest.

use fakes::pinterest::{BOARD, Pinterest};

use crate::prelude::*;

async fn harness() -> (AdapterHarness<Pinterest>, Account) {
    let harness = AdapterHarness::new().await;
    let account = harness.connect().await;
    (harness, account)
}

#[tokio::test]
async fn boards_are_choices_and_those_for_advertisements_are_left_out() {
    let (harness, account) = harness().await;
    let choices = harness.choices(&account, "board").await.unwrap();

    assert_eq!(choices, [(BOARD.to_owned(), "Boats".to_owned())], "the second page has it");
}

#[tokio::test]
async fn pin_has_title_link_and_cover() {
    let (harness, account) = harness().await;
    let mut post = harness.post(&account, "First line\nand more", vec![sample(MimeType::Mp4, 1)]);
    post.options = options(&[
        ("board", text(BOARD)),
        ("cover_ms", OptionValue::Number(2_900)),
        ("link", text("https://example.com/")),
    ]);

    harness.deliver(&mut post).await.unwrap();

    let request = harness.fake.latest_request();
    assert_eq!((&request["title"], &request["link"]), (&json!("First line"), &json!("https://example.com/")));
    assert_eq!(request["media_source"]["cover_image_key_frame_time"], 2);
}

#[tokio::test]
async fn app_with_trial_access_or_a_picture_that_cannot_be_fetched_delays_the_pin() {
    let (harness, account) = harness().await;
    let post = harness.due(&account, "Hello", vec![sample(MimeType::Png, 1)]).await;
    let trial = json!({ "code": 29, "message": "Apps with Trial access may not create Pins in production." });
    let unreachable = json!({ "code": 1, "message": "Sorry! We were unable to reach the URL." });
    for (status, body, words) in [(403, trial, "Standard access"), (400, unreachable, "unable to reach the URL")] {
        harness.fake.refuses("/v5/pins", status, body);

        let refused = harness.publish(&post).await.unwrap_err();

        assert!(matches!(&refused, AttemptError::RetryLater { reason, .. } if reason.contains(words)), "{refused:?}");
    }
    harness.publish(&post).await.unwrap();
}
