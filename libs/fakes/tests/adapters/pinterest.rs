//! Behavior specific to Pinterest.

use fakes::pinterest::{BOARD, Pinterest};

use crate::prelude::*;

#[tokio::test]
async fn choices_are_boards_without_those_for_advertisements() {
    let (harness, account) = connected::<Pinterest>().await;
    let choices = harness.choices(&account, "board").await.unwrap();

    assert_eq!(choices, [(BOARD.to_owned(), "Boats".to_owned())], "the second page has it");
}

#[tokio::test]
async fn pin_has_title_link_and_cover() {
    let (harness, account) = connected::<Pinterest>().await;
    let mut post = harness.post(&account, "First line\nand more", vec![sample(MimeType::Mp4, 1)]).with(json!({
        "board": BOARD, "cover_ms": 2_900, "link": "https://example.com/",
    }));

    harness.deliver(&mut post).await.unwrap();

    let request = harness.fake.latest_request();
    assert_eq!((&request["title"], &request["link"]), (&json!("First line"), &json!("https://example.com/")));
    assert_eq!(request["media_source"]["cover_image_key_frame_time"], 2);
}

#[tokio::test]
async fn trial_access_or_an_unreachable_image_delays_the_pin() {
    let (harness, account) = connected::<Pinterest>().await;
    let post = harness.due(&account, "Hello", vec![sample(MimeType::Png, 1)]).await;
    let trial = json!({ "code": 29, "message": "Apps with Trial access may not create Pins in production." });
    let unreachable = json!({ "code": 1, "message": "Sorry! We were unable to reach the URL." });
    for (status, body, words) in [(403, trial, "Standard access"), (400, unreachable, "unable to reach the URL")] {
        harness.fake.refuses("/v5/pins", status, body);

        assert_matches!(harness.publish(&post).await, Err(AttemptError::RetryLater { reason, .. })
            if reason.contains(words));
    }
    harness.publish(&post).await.unwrap();
}
