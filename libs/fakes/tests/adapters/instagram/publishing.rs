//! The publish call, its look-up, and its follow-ups.

use fakes::meta::error::GraphError;

use super::harness;
use crate::prelude::*;

#[tokio::test]
async fn a_container_that_is_forgotten_or_too_old_is_made_anew() {
    for is_old in [false, true] {
        let (harness, account) = harness().await;
        let mut post = harness.due(&account, "hello", vec![sample(MimeType::Jpeg, 1)]).await;
        if is_old {
            harness.clock.advance(TimeDelta::hours(24));
        } else {
            harness.fake.forgets_containers();
        }
        let error = harness.publish(&post).await.unwrap_err();
        assert!(matches!(error, AttemptError::PreparationExpired { .. }), "{error:?}");
        harness.deliver(&mut post).await.unwrap();
        assert_eq!(harness.fake.public_posts().len(), 1);
    }
}

/// Of two calls with one container, only the first publishes; the look-up finds its post.
#[tokio::test]
async fn second_call_publishes_nothing() {
    let (harness, account) = harness().await;
    let post = harness.due(&account, "hello", vec![sample(MimeType::Jpeg, 1)]).await;
    let since = harness.clock.now();
    let published = harness.publish(&post).await.unwrap();

    let error = harness.publish(&post).await.unwrap_err();

    assert!(matches!(error, AttemptError::Unknown { may_still_run: false, .. }), "{error:?}");
    assert_eq!(harness.resolve(&post, since).await, Resolution::Found(published));
    assert_eq!(harness.fake.public_posts().len(), 1);
}

#[tokio::test]
async fn what_is_public_and_not_listed_yet_is_waited_for_and_then_reported_without_a_link() {
    let (harness, account) = harness().await;
    harness.fake.lists_after(TimeDelta::days(1));
    let post = harness.due(&account, "hello", vec![sample(MimeType::Jpeg, 1)]).await;
    let since = harness.lose_outcome(&post, InjectedFault::LoseResponse).await;

    assert!(matches!(harness.resolve(&post, since).await, Resolution::Pending { .. }));
    harness.clock.advance(TimeDelta::minutes(11));
    let found = harness.resolve(&post, since).await;

    assert!(matches!(&found, Resolution::Found(it) if it.url.is_none()), "{found:?}");
}

/// Stories are in a separate list, and have no text to compare.
#[tokio::test]
async fn a_story_whose_answer_was_lost_is_found_among_stories() {
    let (harness, account) = harness().await;
    harness.fake.publish_manual_post("");
    let mut first = harness.post(&account, "not shown", vec![sample(MimeType::Jpeg, 1)]);
    first.options = options(&[("kind", text("story"))]);
    let earlier = harness.deliver(&mut first).await.unwrap().published;
    let mut post = harness.post(&account, "not shown", vec![sample(MimeType::Jpeg, 1)]);
    post.options = options(&[("kind", text("story"))]);
    post.publish_at = harness.clock.now() + TimeDelta::minutes(10);
    harness.fake.inject_fault(Call::Publish, InjectedFault::LoseResponse, 1);

    let found = harness.deliver(&mut post).await.unwrap().published;

    assert_ne!(found.platform_post_id, earlier.platform_post_id);
    assert_eq!(harness.fake.public_posts().last().unwrap().id, found.platform_post_id);
    assert_eq!(harness.fake.public_posts().len(), 3);
}

#[tokio::test]
async fn comment_is_published_once_the_post_is_available() {
    let (harness, account) = harness().await;
    let mut post = harness.post(&account, "hello", vec![sample(MimeType::Jpeg, 1)]);
    let published = harness.deliver(&mut post).await.unwrap().published;
    let comment = harness.comment(&account, &published, "#boats");

    harness.fake.refuses("comments", GraphError::object_not_found("17"));
    let refused = harness.publish(&comment).await.unwrap_err();
    assert!(matches!(refused, AttemptError::RetryLater { .. }), "{refused:?}");
    harness.fake.refuses("comments", GraphError::permission("instagram_business_manage_comments"));
    let refused = harness.publish(&comment).await.unwrap_err();
    let actual = "Instagram does not permit comments: connect the account again";
    assert!(matches!(&refused, AttemptError::Refused { reason } if reason.starts_with(actual)), "{refused:?}");
    harness.fake.refuses("comments", GraphError::unknown());
    let unknown = harness.publish(&comment).await.unwrap_err();
    assert!(matches!(unknown, AttemptError::Unknown { .. }), "{unknown:?}");
    harness.fake.refuses("comments", GraphError::permission("instagram_business_manage_comments"));
    let looked_up = harness.resolve(&comment, harness.clock.now()).await;
    assert!(matches!(looked_up, Resolution::Undeterminable { .. }), "{looked_up:?}");
    harness.fake.add_comment_of_visitor("#boats");
    assert_eq!(harness.resolve(&comment, harness.clock.now()).await, Resolution::NotFound);

    harness.publish(&comment).await.unwrap();

    assert_eq!(harness.fake.latest()["comments"], serde_json::json!(["#boats", "#boats"]));
}
