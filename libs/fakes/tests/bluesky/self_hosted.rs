//! An account on a self-hosted server, and a page that its posts link to.

use std::net::SocketAddr;

use async_trait::async_trait;
use axum::Router;
use axum::response::{Html, IntoResponse, Redirect};
use axum::routing::get;
use domain::clock::Clock;
use domain::media::MimeType;
use domain::rules::Rule;
use fakes::bluesky::Bluesky;
use http::header::CONTENT_TYPE;
use platforms::conformance::adapter_harness::AdapterHarness;
use platforms::conformance::fake_platform::{Call, Decision, FakePlatform, InjectedFault, PublicPost};
use platforms::conformance::samples::sample;
use platforms::{Account, FieldValues};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use url::Url;

/// A server without a video service, and a page.
struct SelfHosted {
    bluesky: Bluesky,
    page: SocketAddr,
}

const PAGE: &str = r#"<!doctype html><html><head>
    <meta property="og:title" content="Tea &amp; biscuits"><meta name="description" content="All about tea">
    <meta property="og:image" content="tea.png"></head><body>Tea</body></html>"#;

#[async_trait]
impl FakePlatform for SelfHosted {
    async fn start(clock: Clock) -> Self {
        let picture = || async { ([(CONTENT_TYPE, "image/png")], sample(MimeType::Png, 1).bytes) };
        let pages = Router::new()
            .route("/about/tea", get(|| async { Html(PAGE) }))
            .route("/about/tea.png", get(picture))
            .route("/moved", get(|| async { Redirect::permanent("/about/tea") }))
            .route("/circle", get(|| async { Redirect::permanent("/circle") }))
            .route("/away", get(|| async { Redirect::permanent("http://127.0.0.1:1/") }))
            .route("/text", get(|| async { "just text" }))
            .route("/untitled", get(|| async { Html("<p>nothing to say").into_response() }));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let page = listener.local_addr().unwrap();
        let bluesky = Bluesky::start(clock).await;
        // It also looks like another server for the accounts of the same grants.
        let resource =
            json!({ "resource": format!("http://{page}"), "authorization_servers": [bluesky.issuer()] }).to_string();
        let pages = pages.route("/.well-known/oauth-protected-resource", get(|| async { resource }));
        tokio::spawn(async move { axum::serve(listener, pages).await });
        Self { bluesky, page }
    }

    fn name(&self) -> &'static str {
        self.bluesky.name()
    }

    fn addresses(&self) -> Vec<SocketAddr> {
        let mut addresses = self.bluesky.addresses();
        addresses.push(self.page);
        addresses
    }

    fn settings(&self) -> Value {
        let url = self.bluesky.pds();
        json!({ "plc": url, "resolver": url, "appview": url })
    }

    fn form_values(&self) -> FieldValues {
        self.bluesky.form_values()
    }

    async fn redirect_url(&self, url: &str, decision: Decision) -> Url {
        self.bluesky.redirect_url(url, decision).await
    }

    fn inject_fault(&self, call: Call, fault: InjectedFault, count: usize) {
        self.bluesky.inject_fault(call, fault, count);
    }

    fn echo_requests(&self) -> bool {
        self.bluesky.echo_requests()
    }

    fn revoke(&self) {
        self.bluesky.revoke();
    }

    fn end_access_tokens(&self) {
        self.bluesky.end_access_tokens();
    }

    fn public_posts(&self) -> Vec<PublicPost> {
        self.bluesky.public_posts()
    }

    fn grant_count(&self) -> usize {
        self.bluesky.grant_count()
    }

    fn call_count(&self, call: Call) -> usize {
        self.bluesky.call_count(call)
    }
}

async fn embed(harness: &AdapterHarness<SelfHosted>, account: &Account, text: &str) -> Value {
    let post = harness.due(account, text, Vec::new()).await;
    let published = harness.publish(&post).await.unwrap();
    harness.fake.bluesky.record(&published.platform_post_id).unwrap()["embed"].clone()
}

#[tokio::test]
async fn a_video_goes_to_the_accounts_own_server_within_its_limit() {
    let harness = AdapterHarness::<SelfHosted>::new().await;
    harness.fake.bluesky.change(|it| it.blob_limit = 5 << 20);
    let account = harness.connect().await;
    assert!(account.rules.rules.contains(&Rule::max_video_bytes(5 << 20)), "{:?}", account.rules);

    let takes_others = account.rules.rules.iter().any(
        |it| matches!(it, Rule::MimeTypes { types } if types.contains(&MimeType::Quicktime) || types.contains(&MimeType::Gif)),
    );
    assert!(!takes_others, "nobody makes MP4 of them here");

    // The first nonce has expired when the file is sent.
    harness.clock.advance(chrono::TimeDelta::minutes(30));
    let video = sample(MimeType::Mp4, 1);
    let post = harness.due(&account, "moving", vec![video.clone()]).await;
    harness.publish(&post).await.unwrap();

    assert_eq!(harness.fake.public_posts()[0].media[0].bytes, video.bytes);
    assert_eq!((harness.fake.call_count(Call::Upload), harness.fake.call_count(Call::Process)), (1, 0));
}

#[tokio::test]
async fn a_server_from_before_galleries_has_posts_of_four_pictures() {
    for (is_old, most) in [(false, 10_u8), (true, 4)] {
        let harness = AdapterHarness::<SelfHosted>::new().await;
        harness.fake.bluesky.change(|it| it.lacks_galleries = is_old);
        let account = harness.connect().await;
        assert!(account.rules.rules.contains(&Rule::max_images(most.into())), "{:?}", account.rules);

        let files = (1..=most).map(|number| sample(MimeType::Png, number)).collect();
        let post = harness.due(&account, "as many as it takes", files).await;
        harness.publish(&post).await.unwrap();

        assert_eq!(harness.fake.public_posts()[0].media.len(), usize::from(most));
    }
}

#[tokio::test]
async fn a_link_is_shown_as_its_page_wants() {
    let harness = AdapterHarness::<SelfHosted>::new().await;
    let account = harness.connect().await;
    for path in ["about/tea", "moved"] {
        let link = format!("http://{}/{path}", harness.fake.page);

        let embed = embed(&harness, &account, &format!("Look: {link}.")).await;

        assert_eq!(embed["$type"], "app.bsky.embed.external");
        let card = &embed["external"];
        assert_eq!(card["uri"], link);
        assert_eq!((&card["title"], &card["description"]), (&json!("Tea & biscuits"), &json!("All about tea")));
        assert_eq!(card["thumb"]["mimeType"], "image/png");
    }
}

#[tokio::test]
async fn without_a_picture_there_is_a_card_and_without_a_title_none() {
    let harness = AdapterHarness::<SelfHosted>::new().await;
    let account = harness.connect().await;
    let page = harness.fake.page;
    harness.fake.inject_fault(Call::Upload, InjectedFault::Unavailable, 1);
    let without_picture = embed(&harness, &account, &format!("http://{page}/about/tea")).await;
    assert_eq!(without_picture["external"]["title"], "Tea & biscuits");
    assert!(without_picture["external"].get("thumb").is_none());

    for path in ["text", "untitled", "circle", "away", "missing"] {
        let embed = embed(&harness, &account, &format!("{path} http://{page}/{path}")).await;
        assert_eq!(embed, Value::Null, "{path}");
    }
}

#[tokio::test]
async fn link_with_an_image_has_no_card() {
    let harness = AdapterHarness::<SelfHosted>::new().await;
    let account = harness.connect().await;
    let text = format!("http://{}/about/tea", harness.fake.page);
    let post = harness.due(&account, &text, vec![sample(MimeType::Jpeg, 1)]).await;
    let published = harness.publish(&post).await.unwrap();
    let record = harness.fake.bluesky.record(&published.platform_post_id).unwrap();
    assert_eq!(record["embed"]["$type"], "app.bsky.embed.images");
}

#[tokio::test]
async fn an_account_is_followed_to_a_server_that_takes_the_same_grant() {
    let harness = AdapterHarness::<SelfHosted>::new().await;
    harness.connect().await;
    let page = format!("http://{}", harness.fake.page);
    harness.fake.bluesky.change(|it| it.moved_to = Some(page));

    let renewed = harness.refresh().await.unwrap();

    assert_eq!(harness.publisher().host(&renewed), Some(harness.fake.page.to_string()));
}
