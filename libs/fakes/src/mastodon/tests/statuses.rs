//! Statuses, and the server's description of itself.

use chrono::TimeDelta;
use domain::clock::Clock;
use domain::testing::noon;
use platforms::conformance::fake_platform::{Call, FakePlatform};
use serde_json::{Value, json};

use super::{Visit, error, read, refused};
use crate::fake::wire::browser;
use crate::mastodon::{Flavor, Server};

#[tokio::test]
async fn text_length_follows_the_counting_of_the_server() {
    let mastodon = Visit::usual().await;
    let go_to_social = Visit::start_connected(Flavor::GoToSocial, "write:statuses").await;
    let url = format!("https://example.com/{}", "a".repeat(5000));
    let rest = "é".repeat(476);

    let fits = mastodon.publish(&json!({"status": format!("{url} {rest}")})).await;
    let long = mastodon.publish(&json!({"status": format!("{url} {rest}!")})).await;
    let warned = mastodon.publish(&json!({"status": format!("{url} {rest}"), "spoiler_text": "!"})).await;
    let family = mastodon.publish(&json!({"status": "👨‍👩‍👧‍👦".repeat(500)})).await;
    let there = go_to_social.publish(&json!({"status": url})).await;

    assert_eq!(fits.0, 200, "{}", fits.1);
    assert_eq!(error(long), refused(422, "Validation failed: Text character limit of 500 exceeded"));
    assert_eq!(error(warned), refused(422, "Validation failed: Text character limit of 500 exceeded"));
    assert_eq!(family.0, 200, "{}", family.1);
    assert_eq!(error(there), refused(422, "Validation failed: Text character limit of 5000 exceeded"));
}

#[tokio::test]
async fn status_needs_text_or_media() {
    let harness = Visit::usual().await;
    let pixelfed = Visit::start_connected(Flavor::Pixelfed, "read write").await;
    let picture = harness.picture().await;

    let blank = harness.publish(&json!({"status": " \n", "media_ids": []})).await;
    let shown = harness.publish(&json!({"media_ids": [picture]})).await;
    let said = pixelfed.publish(&json!({"status": "words only"})).await;

    assert_eq!(error(blank), refused(422, "Validation failed: Text can't be blank"));
    assert_eq!(shown.0, 200, "{}", shown.1);
    assert_eq!(error(said), refused(422, "Validation failed: Media can't be blank"));
}

#[tokio::test]
async fn repeated_key_returns_the_first_status_for_an_hour() {
    let harness = Visit::usual().await;
    let status = json!({"status": "once", "media_ids": [harness.picture().await]});
    let publish = async || {
        let request = harness.post("/api/v1/statuses").header("Idempotency-Key", "target-1").json(&status);
        read(request.send().await.unwrap()).await
    };

    let first = publish().await;
    harness.clock.advance(TimeDelta::minutes(59));
    let again = publish().await;
    harness.clock.advance(TimeDelta::minutes(1));
    let late = publish().await;

    assert_eq!((first.0, &first.1["id"]), (again.0, &again.1["id"]));
    assert_eq!(late.0, 422, "its picture is attached");
    assert_eq!(harness.server.public_posts().len(), 1);
}

#[tokio::test]
async fn gotosocial_ignores_idempotency_keys() {
    let harness = Visit::start_connected(Flavor::GoToSocial, "write:statuses").await;

    for _ in 0..2 {
        let request = harness.post("/api/v1/statuses").header("Idempotency-Key", "target-1");
        assert_eq!(request.json(&json!({"status": "twice"})).send().await.unwrap().status(), 200);
    }

    assert_eq!(harness.server.public_posts().len(), 2);
}

#[tokio::test]
async fn public_statuses_are_listed_newest_first_without_token() {
    let mut harness = Visit::usual().await;
    let mut ids = Vec::new();
    for number in 0..45 {
        let visibility = if number == 44 { "private" } else { "public" };
        let (_, status) = harness.publish(&json!({"status": format!("<{number}>"), "visibility": visibility})).await;
        ids.push(status["id"].clone());
        harness.clock.advance(TimeDelta::seconds(1));
    }
    let list = async |harness: &Visit, query: &str| {
        let path = format!("/api/v1/accounts/109348293842938471/statuses?{query}");
        let page = harness.get(&path).send().await.unwrap().json::<Vec<Value>>().await.unwrap();
        page.into_iter().map(|it| it["id"].clone()).collect::<Vec<_>>()
    };
    let backwards = |from: usize, to: usize| ids[to..=from].iter().rev().cloned().collect::<Vec<_>>();

    assert_eq!(list(&harness, "").await, backwards(44, 25));
    harness.token = "nobody".to_owned();
    assert_eq!(list(&harness, "exclude_reblogs=true").await, backwards(43, 24));
    assert_eq!(list(&harness, "limit=80").await, backwards(43, 4));
    let (max, min) = (ids[10].as_str().unwrap(), ids[20].as_str().unwrap());
    assert_eq!(list(&harness, &format!("limit=3&max_id={max}")).await, backwards(9, 7));
    assert_eq!(list(&harness, &format!("limit=3&min_id={min}")).await, backwards(23, 21));
    let public = harness.server.public_posts();
    assert_eq!((public.len(), public[0].text.as_str()), (44, "<0>"));
}

#[tokio::test]
async fn status_is_html_and_its_source_is_unchanged() {
    let harness = Visit::usual().await;
    let (_, status) = harness.publish(&json!({"status": " a & b\nc", "media_ids": [harness.picture().await]})).await;

    let source = harness.get(&format!("/api/v1/statuses/{}/source", status["id"].as_str().unwrap()));
    let (_, source) = read(source.send().await.unwrap()).await;

    assert_eq!(status["content"], "<p>a &amp; b<br />c</p>");
    assert_eq!(status["created_at"], noon().format("%Y-%m-%dT%H:%M:%S.000Z").to_string());
    assert_eq!(status["media_attachments"].as_array().unwrap().len(), 1);
    assert_eq!(source["text"], "a & b\nc");
    assert_eq!(harness.server.call_count(Call::LookUp), 1);
}

#[tokio::test]
async fn instance_description_depends_on_the_flavor() {
    let ask = async |flavor, path: &str| {
        let server = Server::start_as(flavor, Clock::manual(noon())).await;
        read(browser().get(format!("{}{path}", server.base_url())).send().await.unwrap()).await
    };

    let (_, mastodon) = ask(Flavor::Mastodon, "/api/v2/instance").await;
    let (_, old) = ask(Flavor::OldMastodon, "/api/v1/instance").await;
    let (_, pleroma) = ask(Flavor::Pleroma, "/api/v1/instance").await;

    assert_eq!(mastodon["version"], "4.7.3");
    assert_eq!(mastodon["configuration"]["media_attachments"]["video_size_limit"], 103_809_024);
    assert_eq!(old["configuration"]["statuses"]["characters_reserved_per_url"], 23);
    assert_eq!((&pleroma["max_toot_chars"], &pleroma["configuration"]), (&json!(5000), &Value::Null));
    assert_eq!(ask(Flavor::Pleroma, "/api/v2/instance").await.0, 404);
    assert_eq!(ask(Flavor::Pixelfed, "/api/v2/instance").await.0, 404);
}
