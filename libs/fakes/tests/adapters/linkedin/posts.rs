//! Posts of members, and the first comment.

use chrono::{Days, NaiveTime};
use domain::text::PostText;
use fakes::linkedin::{Advertising, Community, LinkedIn, Products, SelfServe};

use crate::prelude::*;

fn visible_to(whom: &str) -> Value {
    json!({ "visibility": whom })
}

#[tokio::test]
async fn only_members_can_post_to_their_connections() {
    let (harness, account) = connected::<LinkedIn>().await;
    for (text, given, visibility) in [
        ("for all", json!({}), "PUBLIC"),
        ("for friends", visible_to("connections"), "CONNECTIONS"),
        ("for everyone", visible_to("public"), "PUBLIC"),
    ] {
        let mut post = harness.post(&account, text, Vec::new()).with(given);
        let published = harness.deliver(&mut post).await.unwrap().published;
        assert_eq!(harness.fake.latest_visibility().as_deref(), Some(visibility));
        let name = published.platform_post_id;
        assert_eq!(published.url, Some(format!("https://www.linkedin.com/feed/update/{name}/")));
    }

    let (harness, page) = connected::<LinkedIn<Community>>().await;
    let text = PostText::parse("for friends").unwrap();
    let errors = |account: &Account, whom| account.rules.breaches(&text, &[], &options(visible_to(whom))).len();
    assert_eq!((errors(&page, "connections"), errors(&page, "public")), (1, 0), "told when it is scheduled");
    assert_eq!(errors(&account, "connections"), 0);
    let mut post = harness.post(&page, "for friends", Vec::new()).with(visible_to("connections"));
    assert_refused(harness.deliver(&mut post).await, "visibility");
    assert_eq!(harness.fake.call_count(Call::Publish), 0);
}

#[tokio::test]
async fn exhausted_daily_quota_delays_the_post_after_two_attempts() {
    let (harness, account) = connected::<LinkedIn>().await;
    let post = harness.due(&account, "patience", Vec::new()).await;
    let midnight = (harness.clock.now().date_naive() + Days::new(1)).and_time(NaiveTime::MIN).and_utc();
    let limited = InjectedFault::RateLimited { retry_after: TimeDelta::seconds(1) };
    for (wait, expected) in [(0, None), (6, None), (10, Some(midnight))] {
        harness.clock.advance(TimeDelta::seconds(wait));
        harness.fake.inject_fault(Call::Publish, limited, 1);
        assert_matches!(harness.publish(&post).await, Err(AttemptError::RetryLater { retry_at, .. })
            if retry_at == expected, "{wait}");
    }
}

const COMMENT: &str = "More (and #more) at https://example.com/a_b";

#[tokio::test]
async fn failed_comment_ends_no_grant_and_is_not_repeated() {
    let (harness, account) = connected::<LinkedIn<Community>>().await;
    let published = publish_text(&harness, &account, "the lamp is lit").await;
    let comment = harness.comment(&account, &published, COMMENT);
    for (status, outcome) in
        [(403, "Refused"), (404, "RetryLater"), (429, "RetryLater"), (400, "Refused"), (503, "Unknown")]
    {
        harness.fake.refuses("/rest/socialActions", status, json!({ "status": status, "message": "no" }));
        let error = harness.publish(&comment).await.unwrap_err();
        assert!(format!("{error:?}").starts_with(outcome), "{status}: {error:?}");
    }
    assert!(LinkedIn::comments(&harness.fake).is_empty());

    harness.fake.refuses("/rest/socialActions", 403, json!({ "status": 403, "message": "no" }));
    assert_matches!(harness.resolve(&comment, harness.clock.now()).await, Resolution::Undeterminable { .. });
}

/// Only the product "Community Management API" includes the scopes for comments.
#[tokio::test]
async fn app_without_comment_permission_gets_an_error() {
    may_not_comment::<SelfServe>().await;
    may_not_comment::<Advertising>().await;
}

async fn may_not_comment<P: Products>() {
    let (harness, account) = connected::<LinkedIn<P>>().await;
    let published = publish_text(&harness, &account, "the lamp is lit").await;
    let comment = harness.comment(&account, &published, COMMENT);

    assert_matches!(harness.publish(&comment).await, Err(AttemptError::Refused { .. }));
    assert_matches!(harness.resolve(&comment, harness.clock.now()).await, Resolution::Undeterminable { .. });
    assert_eq!(harness.fake.public_posts().len(), 1);
}
