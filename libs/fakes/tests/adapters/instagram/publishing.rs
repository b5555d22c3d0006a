//! The publish call, its look-up, and its follow-ups.

use fakes::meta::error::GraphError;

use super::Instagram;
use crate::prelude::*;

#[tokio::test]
async fn missing_or_expired_container_is_created_again() {
    for is_old in [false, true] {
        let (harness, account) = connected::<Instagram>().await;
        let mut post = harness.due(&account, "hello", vec![sample(MimeType::Jpeg, 1)]).await;
        if is_old {
            harness.clock.advance(TimeDelta::hours(24));
        } else {
            harness.fake.forgets_containers();
        }
        assert_matches!(harness.publish(&post).await, Err(AttemptError::PreparationExpired { .. }));
        harness.deliver(&mut post).await.unwrap();
        assert_eq!(harness.fake.public_posts().len(), 1);
    }
}

/// Of two calls with one container, only the first publishes; the look-up finds its post.
#[tokio::test]
async fn second_call_publishes_nothing() {
    let (harness, account) = connected::<Instagram>().await;
    let post = harness.due(&account, "hello", vec![sample(MimeType::Jpeg, 1)]).await;
    let since = harness.clock.now();
    let published = harness.publish(&post).await.unwrap();

    assert_matches!(harness.publish(&post).await, Err(AttemptError::Unknown { may_still_run: false, .. }));
    assert_eq!(harness.resolve(&post, since).await, Resolution::Found(published));
    assert_eq!(harness.fake.public_posts().len(), 1);
}

#[tokio::test]
async fn public_post_that_is_not_listed_is_reported_without_a_url() {
    let (harness, account) = connected::<Instagram>().await;
    harness.fake.lists_after(TimeDelta::days(1));
    let post = harness.due(&account, "hello", vec![sample(MimeType::Jpeg, 1)]).await;
    let since = harness.lose_outcome(&post, InjectedFault::LoseResponse).await;

    assert_matches!(harness.resolve(&post, since).await, Resolution::Pending { .. });
    harness.clock.advance(TimeDelta::minutes(11));
    assert_matches!(harness.resolve(&post, since).await, Resolution::Found(it) if it.url.is_none());
}

/// Stories are in a separate list, and have no text to compare.
#[tokio::test]
async fn lost_story_is_found_among_stories() {
    let (harness, account) = connected::<Instagram>().await;
    harness.fake.publish_manual_post("");
    let story =
        || harness.post(&account, "not shown", vec![sample(MimeType::Jpeg, 1)]).with(json!({ "kind": "story" }));
    let earlier = harness.deliver(&mut story()).await.unwrap().published;
    let mut post = story();
    post.publish_at = harness.clock.now() + TimeDelta::minutes(10);
    harness.fake.inject_fault(Call::Publish, InjectedFault::LoseResponse, 1);

    let found = harness.deliver(&mut post).await.unwrap().published;

    assert_ne!(found.platform_post_id, earlier.platform_post_id);
    assert_eq!(harness.fake.public_posts().last().unwrap().id, found.platform_post_id);
    assert_eq!(harness.fake.public_posts().len(), 3);
}

#[tokio::test]
async fn comment_is_published_once_the_post_is_available() {
    let (harness, account) = connected::<Instagram>().await;
    let mut post = harness.post(&account, "hello", vec![sample(MimeType::Jpeg, 1)]);
    let published = harness.deliver(&mut post).await.unwrap().published;
    let comment = harness.comment(&account, &published, "#boats");

    harness.fake.refuses("comments", GraphError::object_not_found("17"));
    assert_matches!(harness.publish(&comment).await, Err(AttemptError::RetryLater { .. }));
    harness.fake.refuses("comments", GraphError::permission("instagram_business_manage_comments"));
    let refused = harness.publish(&comment).await.unwrap_err();
    let actual = "Instagram does not permit comments: connect the account again";
    assert_matches!(&refused, AttemptError::Refused { reason } if reason.starts_with(actual));
    harness.fake.refuses("comments", GraphError::unknown());
    assert_matches!(harness.publish(&comment).await, Err(AttemptError::Unknown { .. }));
    harness.fake.refuses("comments", GraphError::permission("instagram_business_manage_comments"));
    assert_matches!(harness.resolve(&comment, harness.clock.now()).await, Resolution::Undeterminable { .. });
    harness.fake.add_comment_of_visitor("#boats");
    assert_eq!(harness.resolve(&comment, harness.clock.now()).await, Resolution::NotFound);

    harness.publish(&comment).await.unwrap();

    assert_eq!(harness.fake.latest()["comments"], serde_json::json!(["#boats", "#boats"]));
}
