//! The records of what each call did.

use domain::attempt::{Attempt, AttemptOutcome, AttemptStep};
use platforms::Followed;

use super::*;

async fn attempts(rig: &Rig, post: &Post) -> Vec<Attempt> {
    rig.store.attempts(post.user_id, post.post_id, rig.clock.now()).await.unwrap()
}

/// Steps and outcomes, oldest first.
async fn told(rig: &Rig, post: &Post) -> Vec<(AttemptStep, AttemptOutcome)> {
    attempts(rig, post).await.iter().rev().map(|it| (it.step, it.outcome)).collect()
}

#[tokio::test]
async fn lost_answer_is_recorded_with_its_look_up() {
    let rig = Rig::with(1, Network::default().with_faults([PublishFault::LostAnswer])).await;
    let post = rig.schedule("A secret text", later(5)).await;

    rig.live(later(3600)).await;

    let expected = [(AttemptStep::Publish, AttemptOutcome::Unknown), (AttemptStep::LookUp, AttemptOutcome::Found)];
    assert_eq!(told(&rig, &post).await, expected);
    let attempts = attempts(&rig, &post).await;
    let publish = attempts.last().unwrap();
    assert_eq!((publish.at, publish.target_id), (later(5), post.targets[0].target_id));
    assert!(publish.message.as_deref().unwrap().contains("did not confirm whether the post is public"), "{publish:?}");
    assert!(!format!("{attempts:?}").contains("secret"), "{attempts:?}");
}

#[tokio::test]
async fn follow_ups_are_recorded_as_comments() {
    let busy = Err(AttemptError::RetryLater { retry_at: None, reason: "too many comments".to_owned() });
    let network = Network { follow_ups: vec!["comment"], ..Network::default() };
    network.following.lock().unwrap().extend([busy, Ok(Followed::Done)]);
    let rig = Rig::with(1, network).await;
    let post = rig.schedule("Hello", later(5)).await;

    rig.live(later(3600)).await;

    let comment = |outcome| (AttemptStep::Comment, outcome);
    let expected = [
        (AttemptStep::Publish, AttemptOutcome::Accepted),
        comment(AttemptOutcome::RetryLater),
        comment(AttemptOutcome::Accepted),
    ];
    assert_eq!(told(&rig, &post).await[..], expected);
}

/// The call was made, whatever became of the delivery.
#[tokio::test]
async fn attempt_is_recorded_when_the_write_of_the_delivery_loses() {
    let rig = Rig::new().await;
    let post = rig.schedule("Hello", noon()).await;
    let message = rig.queue.take().remove(0).1;
    let gate = rig.network.hold_publish();

    let changed = async {
        gate.entered().await;
        let intended = rig.delivery(&post).await;
        let other = intended.clone().with_write_id(4711);
        assert_eq!(rig.store.replace_delivery(&intended, &other).await.unwrap(), WriteOutcome::Applied);
        gate.open();
    };
    let (delivered, ()) = tokio::join!(rig.publishing.deliver(&rig.platforms, message), changed);

    delivered.unwrap();
    assert_eq!(rig.delivery(&post).await.write_id, 4711);
    assert_eq!(told(&rig, &post).await, [(AttemptStep::Publish, AttemptOutcome::Accepted)]);
}
