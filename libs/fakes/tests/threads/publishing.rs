//! The publish call and its look-up.

use chrono::TimeDelta;
use domain::delivery::{AttemptError, Resolution};
use domain::media::MimeType;
use fakes::meta::error::GraphError;
use platforms::conformance::fake_platform::{Call, FakePlatform, InjectedFault};
use platforms::conformance::samples::sample;

use super::harness;

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
async fn a_container_that_is_forgotten_is_made_anew() {
    let (harness, account) = harness().await;
    let mut post = harness.due(&account, "hello", vec![sample(MimeType::Png, 1)]).await;
    harness.fake.forgets_containers();

    let error = harness.publish(&post).await.unwrap_err();
    assert!(matches!(error, AttemptError::PreparationExpired { .. }), "{error:?}");
    harness.deliver(&mut post).await.unwrap();

    assert_eq!(harness.fake.public_posts().len(), 1);
}

#[tokio::test]
async fn what_is_public_and_not_listed_yet_is_waited_for_and_then_reported_without_a_link() {
    let (harness, account) = harness().await;
    harness.fake.lists_after(TimeDelta::hours(1));
    let post = harness.due(&account, "hello", Vec::new()).await;
    let since = harness.clock.now();
    harness.fake.inject_fault(Call::Publish, InjectedFault::LoseResponse, 1);
    harness.publish(&post).await.unwrap_err();

    let early = harness.resolve(&post, since).await;
    harness.clock.advance(TimeDelta::minutes(11));
    let late = harness.resolve(&post, since).await;

    assert!(matches!(early, Resolution::Pending { .. }), "{early:?}");
    assert!(matches!(&late, Resolution::Found(it) if it.url.is_none()), "{late:?}");
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

/// The error occurs if the quota is used up between its check and the call.
#[tokio::test]
async fn a_quota_that_is_used_up_meanwhile_gives_a_time() {
    let (harness, account) = harness().await;
    harness.fake.permits(1);
    let mut post = harness.due(&account, "second", Vec::new()).await;
    harness.fake.publish_manual_post("first");
    let first = harness.clock.now();
    harness.clock.advance(TimeDelta::minutes(1));

    let error = harness.publish(&post).await.unwrap_err();

    let AttemptError::RetryLater { retry_at: Some(at), .. } = &error else { panic!("{error:?}") };
    assert_eq!(*at, first + TimeDelta::days(1));
    harness.clock.skip_to(*at);
    harness.deliver(&mut post).await.unwrap();
    assert_eq!(harness.fake.public_posts().len(), 2);
}
