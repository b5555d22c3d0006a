//! Lost answers, and what other people do meanwhile.

use chrono::TimeDelta;
use domain::delivery::{AttemptError, Resolution};
use domain::media::MimeType;
use platforms::conformance::network::{Call, InjectedFault, Network};
use platforms::conformance::samples::sample;

use super::stage;

#[tokio::test]
async fn a_draft_whose_answer_was_lost_is_found_again() {
    let (stage, account) = stage().await;
    for (number, trouble) in
        [InjectedFault::LoseAnswer, InjectedFault::BrokenAfter, InjectedFault::CutBefore].into_iter().enumerate()
    {
        // The first is the look for a draft, the second makes it.
        for count in [1, 2, 3] {
            stage.network.trouble(Call::Process, trouble, count);
            let mut post = stage.post(&account, &format!("{trouble:?} {count}"), vec![sample(MimeType::Png, 1)]);

            let passage = stage.deliver(&mut post).await.unwrap();

            assert_eq!(passage.setbacks.len(), count, "{trouble:?}");
            let sent = number * 3 + count;
            assert_eq!((stage.network.public().len(), stage.network.keeps()), (sent, (sent, sent)), "{trouble:?}");
        }
    }
}

#[tokio::test]
async fn a_file_whose_answer_was_lost_is_found_again() {
    let (stage, account) = stage().await;
    for trouble in [InjectedFault::LoseAnswer, InjectedFault::BrokenAfter] {
        stage.network.trouble(Call::Upload, trouble, 1);
        let mut post = stage.post(&account, "with a file", vec![sample(MimeType::Png, 1)]);
        stage.deliver(&mut post).await.unwrap();
    }
    assert_eq!(stage.network.keeps(), (2, 2));
}

#[tokio::test]
async fn a_lost_answer_is_settled_by_reading_the_post_and_not_by_another_call() {
    let (stage, account) = stage().await;
    let post = stage.due(&account, "read back", Vec::new()).await;
    let since = stage.clock.now();
    stage.network.trouble(Call::Publish, InjectedFault::LoseAnswer, 1);
    let lost = stage.publish(&post).await.unwrap_err();
    assert!(matches!(lost, AttemptError::Unknown { may_still_run: true, .. }), "{lost:?}");

    let Resolution::Found(found) = stage.resolve(&post, since).await else { panic!("it is there") };

    assert_eq!((found.platform_post_id, found.at), (stage.network.public()[0].id.clone(), post.publish_at));
    assert_eq!(stage.network.calls(Call::Publish), 1);
}

#[tokio::test]
async fn a_draft_that_somebody_deleted_is_made_anew() {
    let (stage, account) = stage().await;
    let mut post = stage.due(&account, "deleted meanwhile", Vec::new()).await;
    stage.network.loses_drafts();

    let passage = stage.deliver(&mut post).await;

    // The stored progress names the old draft, which is gone for the public call alone.
    let passage = passage.unwrap();
    assert!(matches!(passage.setbacks.as_slice(), [AttemptError::PreparationExpired { .. }]), "{:?}", passage.setbacks);
    assert_eq!(stage.network.public().len(), 1);
}

#[tokio::test]
async fn a_post_that_was_deleted_after_a_lost_call_is_not_made_again() {
    let (stage, account) = stage().await;
    let post = stage.due(&account, "unknown outcome, and deleted", Vec::new()).await;
    let since = stage.clock.now();
    stage.network.trouble(Call::Publish, InjectedFault::CutBefore, 1);
    stage.publish(&post).await.unwrap_err();
    stage.network.loses_drafts();
    stage.clock.advance(TimeDelta::minutes(2));

    let answer = stage.resolve(&post, since).await;

    assert!(matches!(&answer, Resolution::Refused { reason } if reason.contains("deleted")), "{answer:?}");
}

#[tokio::test]
async fn a_firewall_and_a_maintenance_are_waited_out() {
    let (stage, account) = stage().await;
    for call in [Call::Process, Call::Upload] {
        for trouble in [InjectedFault::Unavailable, InjectedFault::Limited { retry_after: TimeDelta::seconds(5) }] {
            stage.network.trouble(call, trouble, 1);
            let mut post = stage.post(&account, &format!("{call:?} {trouble:?}"), vec![sample(MimeType::Png, 1)]);
            let passage = stage.deliver(&mut post).await.unwrap();
            assert!(matches!(passage.setbacks.as_slice(), [AttemptError::RetryLater { .. }]), "{:?}", passage.setbacks);
        }
    }
}
