//! Rate limits and injected faults.

use chrono::{DateTime, TimeDelta, Utc};
use domain::testing::noon;
use platforms::conformance::fake_platform::{Call, FakePlatform, InjectedFault};
use reqwest::Response;
use serde_json::json;

use super::{PNG, Visit, error, part, post_json, read, refused};
use crate::mastodon::Flavor;

#[tokio::test]
async fn rate_limits_are_returned_until_their_window_ends() {
    let harness = Visit::usual().await;
    let ask = async || harness.get("/api/v1/accounts/verify_credentials").send().await.unwrap();
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
    harness.clock.skip_to(reset);
    assert_eq!(ask().await.status(), 200);
}

#[tokio::test]
async fn upload_limit_is_30_per_half_hour() {
    let harness = Visit::usual().await;
    for _ in 0..30 {
        harness.picture().await;
    }

    assert_eq!(error(harness.upload(&part("image/png"), PNG).await), refused(429, "Too many requests"));
    harness.clock.advance(TimeDelta::minutes(30));
    harness.picture().await;
}

#[tokio::test]
async fn app_limit_is_5_per_ten_minutes() {
    let harness = Visit::usual().await;
    let app = json!({"client_name": "Us", "redirect_uris": "https://us.example/callback", "scopes": "read"});
    // The harness has registered one.
    for _ in 1..5 {
        assert_eq!(post_json(&harness.server, "/api/v1/apps", &app).await.status(), 200);
    }

    let refusal = post_json(&harness.server, "/api/v1/apps", &app).await;
    assert_eq!(error(read(refusal).await), refused(429, "Too many requests"));
    harness.clock.advance(TimeDelta::minutes(10));
    assert_eq!(post_json(&harness.server, "/api/v1/apps", &app).await.status(), 200);
}

#[tokio::test]
async fn faulty_call_is_counted_whether_it_runs_or_not() {
    let harness = Visit::usual().await;
    let publish = async |fault| {
        harness.server.inject_fault(Call::Publish, fault, 1);
        let sent = harness.post("/api/v1/statuses").json(&json!({"status": "hello"})).send().await;
        (sent.ok().map(|it| it.status().as_u16()), harness.server.public_posts().len())
    };

    assert_eq!(publish(InjectedFault::CutBefore).await, (None, 0));
    assert_eq!(publish(InjectedFault::LoseResponse).await, (None, 1));
    assert_eq!(publish(InjectedFault::ServerError).await, (Some(500), 1));
    assert_eq!(publish(InjectedFault::ServerErrorAfter).await, (Some(500), 2));
    assert_eq!(publish(InjectedFault::Unavailable).await, (Some(503), 2));
    assert_eq!(publish(InjectedFault::HtmlPage).await, (Some(200), 2));
    assert_eq!(publish(InjectedFault::Refused).await, (Some(422), 2));
    assert_eq!(harness.publish(&json!({"status": "hello"})).await.0, 200);
    assert_eq!(harness.server.call_count(Call::Publish), 8);
}

#[tokio::test]
async fn rate_limit_reset_has_the_format_of_its_server() {
    let limited = async |flavor| {
        let harness = Visit::start_connected(flavor, "read write").await;
        harness.server.inject_fault(
            Call::Publish,
            InjectedFault::RateLimited { retry_after: TimeDelta::seconds(90) },
            1,
        );
        let answer = harness.post("/api/v1/statuses").json(&json!({"status": "hello"})).send().await.unwrap();
        (answer.status().as_u16(), answer.headers()["x-ratelimit-reset"].to_str().unwrap().to_owned())
    };
    let end = noon() + TimeDelta::seconds(90);

    assert_eq!(limited(Flavor::Mastodon).await, (429, end.format("%Y-%m-%dT%H:%M:%S.000000Z").to_string()));
    assert_eq!(limited(Flavor::GoToSocial).await, (429, end.timestamp().to_string()));
}
