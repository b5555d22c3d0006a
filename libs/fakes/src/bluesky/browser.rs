//! The user's browser.

use http::header::{LOCATION, ORIGIN, REFERER};
use platforms::conformance::fake_platform::Decision;
use url::Url;

/// Opens the page, submits the decision, and returns the redirect target.
pub(super) async fn decide(browser: &reqwest::Client, url: &str, decision: Decision) -> Url {
    let page = Url::parse(url).expect("a person is sent to a URL");
    let shown = browser.get(page.clone()).send().await.expect("the page can be reached");
    let status = shown.status();
    let shown = shown.text().await.unwrap_or_default();
    assert!(status.is_success(), "the page shows an error: {status} {shown}");

    let button = match decision {
        Decision::Allow => "accept",
        Decision::Deny => "reject",
    };
    let mut click = page.clone();
    click.set_path(&format!("{}/{button}", page.path()));
    let origin = page.origin().ascii_serialization();
    let clicked = browser.post(click).header(ORIGIN, origin).header(REFERER, url).send().await;
    let clicked = clicked.expect("the page can be reached");
    let location = clicked.headers().get(LOCATION).and_then(|it| it.to_str().ok()).map(str::to_owned);
    let Some(location) = location else { panic!("no way back: {}", clicked.text().await.unwrap_or_default()) };
    Url::parse(&location).expect("the way back is a URL")
}
