//! Statuses, and how a server describes itself.

use chrono::TimeDelta;
use domain::clock::Clock;
use domain::testing::noon;
use platforms::conformance::network::{Call, Network};
use serde_json::{Value, json};

use super::{Visit, error, read, refused};
use crate::fake::wire::browser;
use crate::mastodon::{Flavor, Server};

#[tokio::test]
async fn a_text_is_counted_as_the_server_counts() {
    let mastodon = Visit::usual().await;
    let go_to_social = Visit::friend(Flavor::GoToSocial, "write:statuses").await;
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
async fn a_status_says_or_shows_something() {
    let visit = Visit::usual().await;
    let pixelfed = Visit::friend(Flavor::Pixelfed, "read write").await;
    let picture = visit.picture().await;

    let blank = visit.publish(&json!({"status": " \n", "media_ids": []})).await;
    let shown = visit.publish(&json!({"media_ids": [picture]})).await;
    let said = pixelfed.publish(&json!({"status": "words only"})).await;

    assert_eq!(error(blank), refused(422, "Validation failed: Text can't be blank"));
    assert_eq!(shown.0, 200, "{}", shown.1);
    assert_eq!(error(said), refused(422, "Validation failed: Media can't be blank"));
}

#[tokio::test]
async fn a_repeated_key_gets_the_first_status_for_an_hour() {
    let visit = Visit::usual().await;
    let status = json!({"status": "once", "media_ids": [visit.picture().await]});
    let publish = async || {
        let request = visit.post("/api/v1/statuses").header("Idempotency-Key", "target-1").json(&status);
        read(request.send().await.unwrap()).await
    };

    let first = publish().await;
    visit.clock.advance(TimeDelta::minutes(59));
    let again = publish().await;
    visit.clock.advance(TimeDelta::minutes(1));
    let late = publish().await;

    assert_eq!((first.0, &first.1["id"]), (again.0, &again.1["id"]));
    assert_eq!(late.0, 422, "its picture is attached");
    assert_eq!(visit.server.public().len(), 1);
}

#[tokio::test]
async fn go_to_social_knows_no_keys() {
    let visit = Visit::friend(Flavor::GoToSocial, "write:statuses").await;

    for _ in 0..2 {
        let request = visit.post("/api/v1/statuses").header("Idempotency-Key", "target-1");
        assert_eq!(request.json(&json!({"status": "twice"})).send().await.unwrap().status(), 200);
    }

    assert_eq!(visit.server.public().len(), 2);
}

#[tokio::test]
async fn statuses_are_read_newest_first_by_everybody() {
    let mut visit = Visit::usual().await;
    let mut ids = Vec::new();
    for number in 0..45 {
        let visibility = if number == 44 { "private" } else { "public" };
        let (_, status) = visit.publish(&json!({"status": format!("<{number}>"), "visibility": visibility})).await;
        ids.push(status["id"].clone());
        visit.clock.advance(TimeDelta::seconds(1));
    }
    let list = async |visit: &Visit, query: &str| {
        let path = format!("/api/v1/accounts/109348293842938471/statuses?{query}");
        let page = visit.get(&path).send().await.unwrap().json::<Vec<Value>>().await.unwrap();
        page.into_iter().map(|it| it["id"].clone()).collect::<Vec<_>>()
    };
    let backwards = |from: usize, to: usize| ids[to..=from].iter().rev().cloned().collect::<Vec<_>>();

    assert_eq!(list(&visit, "").await, backwards(44, 25));
    visit.token = "nobody".to_owned();
    assert_eq!(list(&visit, "exclude_reblogs=true").await, backwards(43, 24));
    assert_eq!(list(&visit, "limit=80").await, backwards(43, 4));
    let (max, min) = (ids[10].as_str().unwrap(), ids[20].as_str().unwrap());
    assert_eq!(list(&visit, &format!("limit=3&max_id={max}")).await, backwards(9, 7));
    assert_eq!(list(&visit, &format!("limit=3&min_id={min}")).await, backwards(23, 21));
    let public = visit.server.public();
    assert_eq!((public.len(), public[0].text.as_str()), (44, "<0>"));
}

#[tokio::test]
async fn a_status_is_shown_as_html_and_its_source_as_it_was() {
    let visit = Visit::usual().await;
    let (_, status) = visit.publish(&json!({"status": " a & b\nc", "media_ids": [visit.picture().await]})).await;

    let source = visit.get(&format!("/api/v1/statuses/{}/source", status["id"].as_str().unwrap()));
    let (_, source) = read(source.send().await.unwrap()).await;

    assert_eq!(status["content"], "<p>a &amp; b<br />c</p>");
    assert_eq!(status["created_at"], noon().format("%Y-%m-%dT%H:%M:%S.000Z").to_string());
    assert_eq!(status["media_attachments"].as_array().unwrap().len(), 1);
    assert_eq!(source["text"], "a & b\nc");
    assert_eq!(visit.server.calls(Call::LookUp), 1);
}

#[tokio::test]
async fn instances_describe_themselves_in_their_ways() {
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
