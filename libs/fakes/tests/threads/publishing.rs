//! The publish call and its look-up.

use chrono::TimeDelta;
use domain::delivery::{AttemptError, Resolution};
use domain::media::MimeType;
use fakes::meta::error::GraphError;
use platforms::conformance::fake_platform::{Call, FakePlatform, InjectedFault};
use platforms::conformance::samples::sample;

use super::harness;

fn not_there() -> GraphError {
    GraphError::new(24, "The requested resource does not exist").subcode(4_279_009)
}

/// A container that is not ready and one that is gone get equal responses.
#[tokio::test]
async fn a_container_that_is_not_found_and_is_there_is_published_a_little_later() {
    let (harness, account) = harness().await;
    let mut post = harness.due(&account, "hello", Vec::new()).await;
    harness.fake.refuses("threads_publish", not_there());

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

/// Whether an error is the expected one.
type IsExpectedError = fn(&AttemptError) -> bool;

#[tokio::test]
async fn each_error_of_threads_has_its_outcome() {
    let (harness, account) = harness().await;
    let restricted = || GraphError::new(1, "Your account is restricted.").subcode(4_279_013);
    let spam = || GraphError::new(4, "Application request limit reached").subcode(2_207_051);
    let names: [(GraphError, IsExpectedError); 6] = [
        (restricted(), |it| matches!(it, AttemptError::Unauthorized { .. })),
        (GraphError::permission("threads_content_publish"), |it| matches!(it, AttemptError::Unauthorized { .. })),
        // Posts have become public in spite of this error.
        (spam(), |it| matches!(it, AttemptError::Unknown { may_still_run: true, .. })),
        (GraphError::unavailable(), |it| matches!(it, AttemptError::Unknown { may_still_run: true, .. })),
        (GraphError::limited(7), |it| matches!(it, AttemptError::RetryLater { retry_at: Some(_), .. })),
        (GraphError::param("No."), |it| matches!(it, AttemptError::Refused { .. })),
    ];
    for (number, (error, follows)) in names.into_iter().enumerate() {
        let post = harness.due(&account, &format!("number {number}"), Vec::new()).await;
        harness.fake.refuses("threads_publish", error.clone());

        let setback = harness.publish(&post).await.unwrap_err();

        assert!(follows(&setback), "{error:?}: {setback:?}");
    }
    // Before the publish call, this error delays the post.
    harness.fake.refuses("threads", spam());
    let mut post = harness.post(&account, "later", Vec::new());
    let mut errors = Vec::new();
    harness.prepare_all(&mut post, &mut errors).await.unwrap();
    assert!(matches!(errors.as_slice(), [AttemptError::RetryLater { retry_at: Some(_), .. }]), "{errors:?}");
}
