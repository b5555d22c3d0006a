//! The look-up of a page's post whose response was lost.

use fakes::linkedin::Community;

use super::harness_with;
use crate::prelude::*;

#[tokio::test]
async fn edited_candidate_is_neither_claimed_nor_sent_again() {
    let (harness, account) = harness_with::<Community>().await;
    let post = harness.due(&account, "lost and edited", Vec::new()).await;
    let since = harness.lose_outcome(&post, InjectedFault::LoseResponse).await;
    harness.fake.edit_latest("quite different");

    let answer = harness.resolve(&post, since).await;

    assert!(matches!(answer, Resolution::Pending { .. }), "{answer:?}");
}

#[tokio::test]
async fn a_page_that_may_not_be_read_says_where_to_look() {
    let denied = json!({ "status": 403, "code": "ACCESS_DENIED", "message": "no" });
    for may_be_read_before in [true, false] {
        let (harness, account) = harness_with::<Community>().await;
        if !may_be_read_before {
            harness.fake.refuses("/rest/posts", 403, denied.clone());
        }
        let post = harness.due(&account, "lost", vec![sample(MimeType::Png, 1)]).await;
        let since = harness.lose_outcome(&post, InjectedFault::LoseResponse).await;
        harness.fake.refuses("/rest/posts", 403, denied.clone());

        let answer = harness.resolve(&post, since).await;

        let Resolution::Undeterminable { advice } = answer else { panic!("{answer:?}") };
        assert!(advice.contains(if may_be_read_before { "role" } else { "were not listed" }), "{advice}");
    }
}

/// The list is also unreadable before the call; the post is still published.
#[tokio::test]
async fn a_list_that_cannot_be_read_holds_no_post_back() {
    let (harness, account) = harness_with::<Community>().await;
    let mut post = harness.post(&account, "out", Vec::new());
    harness.clock.skip_to(post.publish_at);
    harness.fake.inject_fault(Call::LookUp, InjectedFault::Unavailable, 1);
    let busy = harness.prepare(&post).await.unwrap_err();
    assert!(matches!(busy, AttemptError::RetryLater { .. }), "{busy:?}");
    harness.clock.advance(TimeDelta::minutes(2));
    harness.fake.inject_fault(Call::LookUp, InjectedFault::Unavailable, 1);

    harness.deliver(&mut post).await.unwrap();

    assert_eq!(harness.fake.call_count(Call::LookUp), 2);
    assert_eq!(harness.fake.public_posts().len(), 1);
}

/// The page's list lags: the adapter sends the post again, and LinkedIn's error names the first
/// post.
#[tokio::test]
async fn a_second_try_that_is_refused_as_a_duplicate_shows_that_the_first_arrived() {
    let (harness, account) = harness_with::<Community>().await;
    let post = harness.due(&account, "there already", Vec::new()).await;
    harness.lose_outcome(&post, InjectedFault::LoseResponse).await;

    let published = harness.publish(&post).await.unwrap();

    assert_eq!(published.platform_post_id, harness.fake.public_posts()[0].id);
    assert_eq!(harness.fake.public_posts().len(), 1);
    // Another post with the same text is a different post.
    let other = harness.due(&account, "there already", Vec::new()).await;
    harness.lose_outcome(&other, InjectedFault::CutBefore).await;
    let refused = harness.publish(&other).await.unwrap_err();
    assert!(matches!(refused, AttemptError::Refused { .. }), "{refused:?}");
}
