//! The publish call and its look-up.

use chrono::TimeDelta;
use domain::delivery::{AttemptError, Resolution};
use domain::media::MimeType;
use networks::meta::error::GraphError;
use platforms::conformance::network::{Call, InjectedFault, Network};
use platforms::conformance::samples::sample;

use super::stage;

fn not_there() -> GraphError {
    GraphError::new(24, "The requested resource does not exist").subcode(4_279_009)
}

/// A container that is not ready and one that is gone get equal responses.
#[tokio::test]
async fn a_container_that_is_not_found_and_is_there_is_published_a_little_later() {
    let (stage, account) = stage().await;
    let mut post = stage.due(&account, "hello", Vec::new()).await;
    stage.fake.refuses("threads_publish", not_there());

    let error = stage.publish(&post).await.unwrap_err();
    assert!(matches!(error, AttemptError::RetryLater { .. }), "{error:?}");
    stage.deliver(&mut post).await.unwrap();

    assert_eq!((stage.fake.public_posts().len(), stage.fake.containers()), (1, 1), "the same container");
}

#[tokio::test]
async fn a_container_that_is_forgotten_is_made_anew() {
    let (stage, account) = stage().await;
    let mut post = stage.due(&account, "hello", vec![sample(MimeType::Png, 1)]).await;
    stage.fake.forgets_containers();

    let error = stage.publish(&post).await.unwrap_err();
    assert!(matches!(error, AttemptError::PreparationExpired { .. }), "{error:?}");
    stage.deliver(&mut post).await.unwrap();

    assert_eq!(stage.fake.public_posts().len(), 1);
}

/// Of two calls with one container only the first publishes; what it did is found.
#[tokio::test]
async fn a_second_call_publishes_nothing_and_leads_to_the_first() {
    let (stage, account) = stage().await;
    let post = stage.due(&account, "hello", Vec::new()).await;
    let since = stage.clock.now();
    let published = stage.publish(&post).await.unwrap();

    let error = stage.publish(&post).await.unwrap_err();

    assert!(matches!(error, AttemptError::Unknown { may_still_run: false, .. }), "{error:?}");
    let found = stage.resolve(&post, since).await;
    assert!(matches!(&found, Resolution::Found(it) if *it == published), "{found:?}");
    assert_eq!(stage.fake.public_posts().len(), 1);
}

#[tokio::test]
async fn what_is_public_and_not_listed_yet_is_waited_for_and_then_reported_without_a_link() {
    let (stage, account) = stage().await;
    stage.fake.lists_after(TimeDelta::hours(1));
    let post = stage.due(&account, "hello", Vec::new()).await;
    let since = stage.clock.now();
    stage.fake.inject_fault(Call::Publish, InjectedFault::LoseResponse, 1);
    stage.publish(&post).await.unwrap_err();

    let early = stage.resolve(&post, since).await;
    stage.clock.advance(TimeDelta::minutes(11));
    let late = stage.resolve(&post, since).await;

    assert!(matches!(early, Resolution::Pending { .. }), "{early:?}");
    assert!(matches!(&late, Resolution::Found(it) if it.url.is_none()), "{late:?}");
}

#[tokio::test]
async fn a_lost_answer_is_found_with_its_link_although_white_space_was_cut() {
    let (stage, account) = stage().await;
    let mut post = stage.post(&account, "  in the middle \n", Vec::new());
    stage.fake.inject_fault(Call::Publish, InjectedFault::LoseResponse, 1);

    let passage = stage.deliver(&mut post).await.unwrap();

    assert_eq!(passage.published.platform_post_id, stage.fake.public_posts()[0].id);
    assert!(passage.published.url.is_some());
    assert_eq!(stage.fake.call_count(Call::Publish), 1);
}

/// The error comes when the quota is used up between its check and the call.
#[tokio::test]
async fn a_quota_that_is_used_up_meanwhile_gives_a_time() {
    let (stage, account) = stage().await;
    stage.fake.permits(1);
    let mut post = stage.due(&account, "second", Vec::new()).await;
    stage.fake.publish_manual_post("first");
    let first = stage.clock.now();
    stage.clock.advance(TimeDelta::minutes(1));

    let error = stage.publish(&post).await.unwrap_err();

    let AttemptError::RetryLater { retry_at: Some(at), .. } = &error else { panic!("{error:?}") };
    assert_eq!(*at, first + TimeDelta::days(1));
    stage.clock.skip_to(*at);
    stage.deliver(&mut post).await.unwrap();
    assert_eq!(stage.fake.public_posts().len(), 2);
}

/// Whether a setback is the right one.
type Follows = fn(&AttemptError) -> bool;

#[tokio::test]
async fn each_error_of_threads_has_its_outcome() {
    let (stage, account) = stage().await;
    let restricted = || GraphError::new(1, "Your account is restricted.").subcode(4_279_013);
    let spam = || GraphError::new(4, "Application request limit reached").subcode(2_207_051);
    let names: [(GraphError, Follows); 6] = [
        (restricted(), |it| matches!(it, AttemptError::Unauthorized { .. })),
        (GraphError::permission("threads_content_publish"), |it| matches!(it, AttemptError::Unauthorized { .. })),
        // It was seen that a post was public all the same.
        (spam(), |it| matches!(it, AttemptError::Unknown { may_still_run: true, .. })),
        (GraphError::unavailable(), |it| matches!(it, AttemptError::Unknown { may_still_run: true, .. })),
        (GraphError::limited(7), |it| matches!(it, AttemptError::RetryLater { retry_at: Some(_), .. })),
        (GraphError::param("No."), |it| matches!(it, AttemptError::Refused { .. })),
    ];
    for (number, (error, follows)) in names.into_iter().enumerate() {
        let post = stage.due(&account, &format!("number {number}"), Vec::new()).await;
        stage.fake.refuses("threads_publish", error.clone());

        let setback = stage.publish(&post).await.unwrap_err();

        assert!(follows(&setback), "{error:?}: {setback:?}");
    }
    // Before the call, the account is left alone for a while.
    stage.fake.refuses("threads", spam());
    let mut post = stage.post(&account, "later", Vec::new());
    let mut errors = Vec::new();
    stage.prepare_all(&mut post, &mut errors).await.unwrap();
    assert!(matches!(errors.as_slice(), [AttemptError::RetryLater { retry_at: Some(_), .. }]), "{errors:?}");
}
