use domain::attempt::{Attempt, AttemptOutcome, AttemptStep};
use platforms::Followed;

use super::*;

async fn attempts(harness: &PublishingHarness, post: &Post) -> Vec<Attempt> {
    harness.store.attempts(post.user_id, post.post_id, harness.clock.now()).await.unwrap()
}

/// Oldest first.
async fn recorded_attempts(harness: &PublishingHarness, post: &Post) -> Vec<(AttemptStep, AttemptOutcome)> {
    attempts(harness, post).await.iter().rev().map(|it| (it.step, it.outcome)).collect()
}

#[tokio::test]
async fn lost_response_is_recorded_with_its_look_up() {
    let harness = PublishingHarness::with(1, FakePlatform::default().with_faults([PublishFault::LostResponse])).await;
    let post = harness.schedule("A secret text", later(5)).await;

    harness.live(later(3600)).await;

    let expected = [(AttemptStep::Publish, AttemptOutcome::Unknown), (AttemptStep::LookUp, AttemptOutcome::Found)];
    assert_eq!(recorded_attempts(&harness, &post).await, expected);
    let attempts = attempts(&harness, &post).await;
    let publish = attempts.last().unwrap();
    assert_eq!((publish.at, publish.target_id), (later(5), post.targets[0].target_id));
    assert!(publish.message.as_deref().unwrap().contains("did not confirm whether the post is public"), "{publish:?}");
    assert!(!format!("{attempts:?}").contains("secret"), "{attempts:?}");
}

#[tokio::test]
async fn follow_ups_are_recorded_as_comments() {
    let busy = Err(AttemptError::RetryLater { retry_at: None, reason: "too many comments".to_owned() });
    let fake = FakePlatform { follow_ups: vec!["comment"], ..FakePlatform::default() };
    fake.following.lock().unwrap().extend([busy, Ok(Followed::Done)]);
    let harness = PublishingHarness::with(1, fake).await;
    let post = harness.schedule("Hello", later(5)).await;

    harness.live(later(3600)).await;

    let comment = |outcome| (AttemptStep::Comment, outcome);
    let expected = [
        (AttemptStep::Publish, AttemptOutcome::Accepted),
        comment(AttemptOutcome::RetryLater),
        comment(AttemptOutcome::Accepted),
    ];
    assert_eq!(recorded_attempts(&harness, &post).await[..], expected);
}

/// The call was made, whatever became of the delivery.
#[tokio::test]
async fn attempt_is_recorded_when_the_write_of_the_delivery_loses() {
    let harness = PublishingHarness::new().await;
    let post = harness.schedule("Hello", noon()).await;
    let message = harness.queue.take().remove(0).1;
    let gate = harness.fake.hold_publish();

    let changed = async {
        gate.entered().await;
        let intended = harness.delivery(&post).await;
        let other = intended.clone().with_write_id(4711);
        assert_eq!(harness.store.replace_delivery(&intended, &other).await.unwrap(), WriteOutcome::Applied);
        gate.open();
    };
    let (delivered, ()) = tokio::join!(harness.publishing.deliver(&harness.platforms, message), changed);

    delivered.unwrap();
    assert_eq!(harness.delivery(&post).await.write_id, 4711);
    assert_eq!(recorded_attempts(&harness, &post).await, [(AttemptStep::Publish, AttemptOutcome::Accepted)]);
}
