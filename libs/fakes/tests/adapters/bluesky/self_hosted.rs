//! An account on a self-hosted server, and cards of links.

use std::net::SocketAddr;

use axum::Router;
use axum::response::{Html, Redirect};
use axum::routing::get;
use domain::rules::Rule;
use fakes::bluesky::Bluesky;
use fakes::fake::wire;
use http::header::CONTENT_TYPE;

use super::record;
use crate::prelude::*;

const PAGE: &str = r#"<!doctype html><html><head>
    <meta property="og:title" content="Tea &amp; biscuits"><meta name="description" content="All about tea">
    <meta property="og:image" content="tea.png"></head><body>Tea</body></html>"#;

/// A harness whose server has no video service.
async fn self_hosted() -> AdapterHarness<Bluesky> {
    let settings = |it: &Bluesky| json!({ "plc": it.pds(), "resolver": it.pds(), "appview": it.pds() });
    AdapterHarness::with_settings(settings).await
}

async fn website() -> SocketAddr {
    let picture = || async { ([(CONTENT_TYPE, "image/png")], sample(MimeType::Png, 1).bytes) };
    let router = Router::new()
        .route("/about/tea", get(|| async { Html(PAGE) }))
        .route("/about/tea.png", get(picture))
        .route("/moved", get(|| async { Redirect::permanent("/about/tea") }))
        .route("/circle", get(|| async { Redirect::permanent("/circle") }))
        .route("/away", get(|| async { Redirect::permanent("http://127.0.0.1:1/") }))
        .route("/text", get(|| async { "just text" }))
        .route("/untitled", get(|| async { Html("<p>nothing to say") }));
    wire::serve(router).await
}

async fn embed(harness: &AdapterHarness<Bluesky>, text: &str, media: Vec<Sample>) -> Value {
    let account = harness.connect().await;
    record(harness, &account, text, media).await["embed"].take()
}

#[tokio::test]
async fn video_goes_to_the_accounts_own_server_within_its_limit() {
    let harness = self_hosted().await;
    harness.fake.change(|it| it.blob_limit = 5 << 20);
    let account = harness.connect().await;
    let rules = &account.rules.rules;
    assert!(rules.contains(&Rule::max_video_bytes(5 << 20)), "{rules:?}");
    let others = [MimeType::Quicktime, MimeType::Gif];
    let accepts_others =
        |it: &Rule| matches!(it, Rule::MimeTypes { types } if others.iter().any(|it| types.contains(it)));
    assert!(!rules.iter().any(accepts_others), "nothing converts them to MP4");

    // The first nonce has expired when the file is sent.
    harness.clock.advance(TimeDelta::minutes(30));
    let video = sample(MimeType::Mp4, 1);
    harness.deliver(&mut harness.post(&account, "moving", vec![video.clone()])).await.unwrap();

    assert_eq!(harness.fake.public_posts()[0].media[0].bytes, video.bytes);
    assert_eq!((harness.fake.call_count(Call::Upload), harness.fake.call_count(Call::Process)), (1, 0));
}

#[tokio::test]
async fn server_before_galleries_has_posts_of_four_images() {
    for (is_old, most) in [(false, 10_u8), (true, 4)] {
        let harness = self_hosted().await;
        harness.fake.change(|it| it.lacks_galleries = is_old);
        let account = harness.connect().await;
        assert!(account.rules.rules.contains(&Rule::max_images(most.into())), "{:?}", account.rules);

        let files = (1..=most).map(|number| sample(MimeType::Png, number)).collect();
        harness.deliver(&mut harness.post(&account, "as many as it takes", files)).await.unwrap();

        assert_eq!(harness.fake.public_posts()[0].media.len(), usize::from(most));
    }
}

#[tokio::test]
async fn link_has_the_card_of_its_page() {
    let page = website().await;
    let harness = AdapterHarness::<Bluesky>::with_other_servers(&[page]).await;
    for path in ["about/tea", "moved"] {
        let link = format!("http://{page}/{path}");

        let embed = embed(&harness, &format!("Look: {link}."), Vec::new()).await;

        assert_eq!(embed["$type"], "app.bsky.embed.external");
        let card = &embed["external"];
        assert_eq!(card["uri"], link);
        assert_eq!((&card["title"], &card["description"]), (&json!("Tea & biscuits"), &json!("All about tea")));
        assert_eq!(card["thumb"]["mimeType"], "image/png");
    }
}

#[tokio::test]
async fn card_needs_a_title_and_no_picture() {
    let page = website().await;
    let harness = AdapterHarness::<Bluesky>::with_other_servers(&[page]).await;
    let link = format!("http://{page}/about/tea");
    harness.fake.inject_fault(Call::Upload, InjectedFault::Unavailable, 1);
    let without_picture = embed(&harness, &link, Vec::new()).await;
    assert_eq!(without_picture["external"]["title"], "Tea & biscuits");
    assert!(without_picture["external"].get("thumb").is_none());

    for path in ["text", "untitled", "circle", "away", "missing"] {
        assert_eq!(embed(&harness, &format!("{path} http://{page}/{path}"), Vec::new()).await, Value::Null, "{path}");
    }
    let beside_a_picture = embed(&harness, &link, vec![sample(MimeType::Jpeg, 1)]).await;
    assert_eq!(beside_a_picture["$type"], "app.bsky.embed.images");
}

#[tokio::test]
async fn account_is_followed_to_a_server_that_accepts_the_same_grant() {
    let (listener, new_server) = wire::listen().await;
    let harness = AdapterHarness::<Bluesky>::with_other_servers(&[new_server]).await;
    let url = format!("http://{new_server}");
    let resource = json!({ "resource": url, "authorization_servers": [harness.fake.issuer()] }).to_string();
    let router = Router::new().route("/.well-known/oauth-protected-resource", get(|| async { resource }));
    wire::serve_on(listener, router);
    harness.connect().await;
    harness.fake.change(|it| it.moved_to = Some(url));

    let refreshed = harness.refresh().await.unwrap();

    assert_eq!(harness.publisher().host(&refreshed), Some(new_server.to_string()));
}
