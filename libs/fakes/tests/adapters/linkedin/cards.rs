//! The card of a link.

use std::net::SocketAddr;

use axum::Router;
use axum::response::Html;
use axum::routing::get;
use fakes::fake::wire;
use fakes::linkedin::LinkedIn;

use crate::prelude::*;

const PAGE: &str = "<html><head><meta property='og:title' content='Tea &amp; biscuits'>\
                    <meta name=description content='All about tea'><meta property=og:image content=/tea></head></html>";

/// A website: a page with a card, one without, and one whose picture is invalid.
async fn website() -> SocketAddr {
    let picture = |mime_type| get(move || async move { sample(mime_type, 1).bytes });
    let bare = PAGE.replace("/tea", "/bare");
    let router = Router::new()
        .route("/", get(|| async { Html(PAGE) }))
        .route("/none", get(|| async { Html("<html><body>Welcome</body></html>") }))
        .route("/webp", get(|| async { Html(bare) }))
        .route("/tea", picture(MimeType::Png))
        .route("/bare", picture(MimeType::Webp));
    wire::serve(router).await
}

async fn shown(harness: &AdapterHarness<LinkedIn>, text: &str, given: Value) -> Value {
    let account = harness.connect().await;
    harness.deliver(&mut harness.post(&account, text, Vec::new()).with(given)).await.unwrap();
    harness.fake.latest_content()
}

#[tokio::test]
async fn first_link_has_a_card_with_its_image() {
    let website = website().await;
    let harness = AdapterHarness::<LinkedIn>::with_other_servers(&[website]).await;

    let mut content = shown(&harness, &format!("read http://{website}/ and http://{website}/none"), json!({})).await;

    let thumbnail = content["article"]["thumbnail"].take();
    assert!(thumbnail.as_str().unwrap().starts_with("urn:li:image:"), "{thumbnail}");
    let expected = json!({
        "source": format!("http://{website}/"), "title": "Tea & biscuits", "description": "All about tea",
        "thumbnail": null,
    });
    assert_eq!(content["article"], expected);
}

#[tokio::test]
async fn card_can_have_another_link_or_be_left_out() {
    let website = website().await;
    let (with, without) = (format!("http://{website}/"), format!("http://{website}/none"));
    let named = |link: &str| json!({ "link": link });
    let title = |content: &Value| content["article"]["title"].as_str().map(str::to_owned);
    for (text, options, expected) in [
        (format!("read {without}"), json!({}), None),
        (format!("see {with}"), json!({ "link_preview": false }), None),
        ("no link in here".to_owned(), named(&with), Some("Tea & biscuits".to_owned())),
        // LinkedIn requires a title.
        ("and neither in here".to_owned(), named(&without), Some("127.0.0.1".to_owned())),
        ("unread".to_owned(), named("http://169.254.169.254/latest"), Some("169.254.169.254".to_owned())),
    ] {
        let harness = AdapterHarness::<LinkedIn>::with_other_servers(&[website]).await;
        let content = shown(&harness, &text, options).await;
        assert_eq!(title(&content), expected, "{text}");
    }
}

#[tokio::test]
async fn unsupported_image_of_a_card_is_left_out() {
    let website = website().await;
    let harness = AdapterHarness::<LinkedIn>::with_other_servers(&[website]).await;

    let content = shown(&harness, &format!("see http://{website}/webp"), json!({})).await;

    assert_eq!(content["article"]["title"], "Tea & biscuits");
    assert!(content["article"].get("thumbnail").is_none() && harness.fake.call_count(Call::Upload) == 0, "{content}");
}
