//! The publish call and its look-up.

use fakes::meta::error::GraphError;

use super::harness;
use crate::prelude::*;

/// A container that is not ready and one that is gone get equal responses.
#[tokio::test]
async fn a_container_that_is_not_found_and_is_there_is_published_a_little_later() {
    let (harness, account) = harness().await;
    let mut post = harness.due(&account, "hello", Vec::new()).await;
    let not_there = GraphError::new(24, "The requested resource does not exist").subcode(4_279_009);
    harness.fake.refuses("threads_publish", not_there);

    let error = harness.publish(&post).await.unwrap_err();
    assert!(matches!(error, AttemptError::RetryLater { .. }), "{error:?}");
    harness.deliver(&mut post).await.unwrap();

    assert_eq!((harness.fake.public_posts().len(), harness.fake.containers()), (1, 1), "the same container");
}

#[tokio::test]
async fn a_lost_answer_is_found_with_its_link_although_white_space_was_cut() {
    let (harness, account) = harness().await;
    let mut post = harness.post(&account, "  in the middle \n", Vec::new());
    harness.fake.inject_fault(Call::Publish, InjectedFault::LoseResponse, 1);

    let passage = harness.deliver(&mut post).await.unwrap();

    assert_eq!(passage.published.platform_post_id, harness.fake.public_posts()[0].id);
    assert!(passage.published.url.is_some());
    assert_eq!(harness.fake.call_count(Call::Publish), 1);
}
