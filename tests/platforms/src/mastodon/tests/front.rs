//! Limits, and calls in trouble.

use chrono::{DateTime, TimeDelta, Utc};
use domain::testing::noon;
use platforms::conformance::network::{Call, InjectedFault, Network};
use reqwest::Response;
use serde_json::json;

use super::{PNG, Visit, error, part, post_json, read, refused};
use crate::mastodon::Flavor;

#[tokio::test]
async fn rate_limits_are_returned_until_their_window_ends() {
    let visit = Visit::usual().await;
    let ask = async || visit.get("/api/v1/accounts/verify_credentials").send().await.unwrap();
    let header = |response: &Response, name: &str| response.headers()[name].to_str().unwrap().to_owned();

    let first = ask().await;
    for _ in 1..300 {
        ask().await;
    }
    let last = ask().await;

    assert_eq!(header(&first, "x-ratelimit-limit"), "300");
    assert_eq!(header(&first, "x-ratelimit-remaining"), "299");
    assert_eq!(last.status(), 429);
    let reset: DateTime<Utc> = header(&last, "x-ratelimit-reset").parse().unwrap();
    assert!(noon() < reset && reset <= noon() + TimeDelta::minutes(5));
    assert_eq!(error(read(last).await), refused(429, "Too many requests"));
    visit.clock.skip_to(reset);
    assert_eq!(ask().await.status(), 200);
}

#[tokio::test]
async fn thirty_files_in_half_an_hour_are_enough() {
    let visit = Visit::usual().await;
    for _ in 0..30 {
        visit.picture().await;
    }

    assert_eq!(error(visit.upload(&part("image/png"), PNG).await), refused(429, "Too many requests"));
    visit.clock.advance(TimeDelta::minutes(30));
    visit.picture().await;
}

#[tokio::test]
async fn five_apps_in_ten_minutes_are_enough() {
    let visit = Visit::usual().await;
    let app = json!({"client_name": "Us", "redirect_uris": "https://us.example/callback", "scopes": "read"});
    // The visit has registered one.
    for _ in 1..5 {
        assert_eq!(post_json(&visit.server, "/api/v1/apps", &app).await.status(), 200);
    }

    let refusal = post_json(&visit.server, "/api/v1/apps", &app).await;
    assert_eq!(error(read(refusal).await), refused(429, "Too many requests"));
    visit.clock.advance(TimeDelta::minutes(10));
    assert_eq!(post_json(&visit.server, "/api/v1/apps", &app).await.status(), 200);
}

#[tokio::test]
async fn a_call_in_trouble_is_done_or_not_and_counted_anyway() {
    let visit = Visit::usual().await;
    let publish = async |trouble| {
        visit.server.trouble(Call::Publish, trouble, 1);
        let sent = visit.post("/api/v1/statuses").json(&json!({"status": "hello"})).send().await;
        (sent.ok().map(|it| it.status().as_u16()), visit.server.public().len())
    };

    assert_eq!(publish(InjectedFault::CutBefore).await, (None, 0));
    assert_eq!(publish(InjectedFault::LoseAnswer).await, (None, 1));
    assert_eq!(publish(InjectedFault::Broken).await, (Some(500), 1));
    assert_eq!(publish(InjectedFault::BrokenAfter).await, (Some(500), 2));
    assert_eq!(publish(InjectedFault::Unavailable).await, (Some(503), 2));
    assert_eq!(publish(InjectedFault::Gibberish).await, (Some(200), 2));
    assert_eq!(publish(InjectedFault::Unwanted).await, (Some(422), 2));
    assert_eq!(visit.publish(&json!({"status": "hello"})).await.0, 200);
    assert_eq!(visit.server.calls(Call::Publish), 8);
}

#[tokio::test]
async fn the_end_of_a_limit_is_written_as_each_server_writes_it() {
    let limited = async |flavor| {
        let visit = Visit::friend(flavor, "read write").await;
        visit.server.trouble(Call::Publish, InjectedFault::Limited { retry_after: TimeDelta::seconds(90) }, 1);
        let answer = visit.post("/api/v1/statuses").json(&json!({"status": "hello"})).send().await.unwrap();
        (answer.status().as_u16(), answer.headers()["x-ratelimit-reset"].to_str().unwrap().to_owned())
    };
    let end = noon() + TimeDelta::seconds(90);

    assert_eq!(limited(Flavor::Mastodon).await, (429, end.format("%Y-%m-%dT%H:%M:%S.000000Z").to_string()));
    assert_eq!(limited(Flavor::GoToSocial).await, (429, end.timestamp().to_string()));
}
