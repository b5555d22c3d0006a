//! The look-up of a page's post whose response was lost.

use fakes::linkedin::Community;

use super::LinkedIn;
use crate::prelude::*;

#[tokio::test]
async fn edited_candidate_is_neither_claimed_nor_sent_again() {
    let (harness, account) = connected::<LinkedIn<Community>>().await;
    let (post, since) = lost_post(&harness, &account, "lost and edited", Vec::new(), InjectedFault::LoseResponse).await;
    harness.fake.edit_latest("quite different");

    assert_matches!(harness.resolve(&post, since).await, Resolution::Pending { .. });
}

#[tokio::test]
async fn error_of_an_unreadable_page_says_where_to_look() {
    let denied = json!({ "status": 403, "code": "ACCESS_DENIED", "message": "no" });
    for may_be_read_before in [true, false] {
        let (harness, account) = connected::<LinkedIn<Community>>().await;
        if !may_be_read_before {
            harness.fake.refuses("/rest/posts", 403, denied.clone());
        }
        let post = harness.due(&account, "lost", vec![sample(MimeType::Png, 1)]).await;
        let since = harness.lose_outcome(&post, InjectedFault::LoseResponse).await;
        harness.fake.refuses("/rest/posts", 403, denied.clone());

        let answer = harness.resolve(&post, since).await;

        let part = if may_be_read_before { "role" } else { "were not listed" };
        assert_matches!(answer, Resolution::Undeterminable { advice } if advice.contains(part));
    }
}

/// The list is also unreadable before the call; the post is still published.
#[tokio::test]
async fn unreadable_list_delays_no_post() {
    let (harness, account) = connected::<LinkedIn<Community>>().await;
    let mut post = harness.post(&account, "out", Vec::new());
    harness.clock.skip_to(post.publish_at);
    harness.fake.inject_fault(Call::LookUp, InjectedFault::Unavailable, 1);
    assert_matches!(harness.prepare(&post).await, Err(AttemptError::RetryLater { .. }));
    harness.clock.advance(TimeDelta::minutes(2));
    harness.fake.inject_fault(Call::LookUp, InjectedFault::Unavailable, 1);

    harness.deliver(&mut post).await.unwrap();

    assert_eq!(harness.fake.call_count(Call::LookUp), 2);
    assert_eq!(harness.fake.public_posts().len(), 1);
}

/// The page's list lags: the adapter sends the post again, and LinkedIn's error names the first
/// post.
#[tokio::test]
async fn refused_duplicate_proves_that_the_first_call_published() {
    let (harness, account) = connected::<LinkedIn<Community>>().await;
    let (post, _) = lost_post(&harness, &account, "there already", Vec::new(), InjectedFault::LoseResponse).await;

    let published = harness.publish(&post).await.unwrap();

    assert_eq!(published.platform_post_id, harness.fake.public_posts()[0].id);
    assert_eq!(harness.fake.public_posts().len(), 1);
    // Another post with the same text is a different post.
    let (other, _) = lost_post(&harness, &account, "there already", Vec::new(), InjectedFault::CutBefore).await;
    assert_matches!(harness.publish(&other).await, Err(AttemptError::Refused { .. }));
}
