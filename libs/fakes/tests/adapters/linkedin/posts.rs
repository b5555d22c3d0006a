//! Posts of members.

use chrono::{Days, NaiveTime};
use domain::text::PostText;

use super::{harness, harness_with};
use crate::prelude::*;

fn visibility_option(whom: &str) -> Options {
    options(&[("visibility", text(whom))])
}

#[tokio::test]
async fn a_member_may_post_for_their_connections_and_a_page_has_none() {
    let (harness, account) = harness().await;
    for (text, options, visibility) in [
        ("for all", Options::default(), "PUBLIC"),
        ("for friends", visibility_option("connections"), "CONNECTIONS"),
        ("for everyone", visibility_option("public"), "PUBLIC"),
    ] {
        let mut post = harness.post(&account, text, Vec::new());
        post.options = options;
        let published = harness.deliver(&mut post).await.unwrap().published;
        assert_eq!(harness.fake.latest_visibility().as_deref(), Some(visibility));
        let name = published.platform_post_id;
        assert_eq!(published.url, Some(format!("https://www.linkedin.com/feed/update/{name}/")));
    }

    let (harness, page) = harness_with::<fakes::linkedin::Community>().await;
    let text = PostText::parse("for friends").unwrap();
    let errors = |account: &Account, whom| account.rules.breaches(&text, &[], &visibility_option(whom)).len();
    assert_eq!((errors(&page, "connections"), errors(&page, "public")), (1, 0), "told when it is scheduled");
    assert_eq!(errors(&account, "connections"), 0);
    let mut post = harness.post(&page, "for friends", Vec::new());
    post.options = visibility_option("connections");
    let refused = harness.deliver(&mut post).await.unwrap_err();
    assert!(matches!(&refused, AttemptError::Refused { reason } if reason.contains("visibility")), "{refused:?}");
    assert_eq!(harness.fake.call_count(Call::Publish), 0);
}

#[tokio::test]
async fn a_day_that_is_used_up_is_tried_twice_and_then_waited_for() {
    let (harness, account) = harness().await;
    let post = harness.due(&account, "patience", Vec::new()).await;
    let midnight = (harness.clock.now().date_naive() + Days::new(1)).and_time(NaiveTime::MIN).and_utc();
    let limited = InjectedFault::RateLimited { retry_after: TimeDelta::seconds(1) };
    for (wait, expected) in [(0, None), (6, None), (10, Some(midnight))] {
        harness.clock.advance(TimeDelta::seconds(wait));
        harness.fake.inject_fault(Call::Publish, limited, 1);
        let error = harness.publish(&post).await.unwrap_err();
        assert!(
            matches!(error, AttemptError::RetryLater { retry_at, .. } if retry_at == expected),
            "{wait}: {error:?}"
        );
    }
}
