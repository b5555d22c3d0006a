//! Lost responses, and concurrent changes by other users of the site.

use chrono::TimeDelta;
use domain::delivery::{AttemptError, Resolution};
use domain::media::MimeType;
use platforms::conformance::fake_platform::{Call, FakePlatform, InjectedFault};
use platforms::conformance::samples::sample;

use super::harness;

#[tokio::test]
async fn a_draft_whose_answer_was_lost_is_found_again() {
    let (harness, account) = harness().await;
    for (number, fault) in
        [InjectedFault::LoseResponse, InjectedFault::ServerErrorAfter, InjectedFault::CutBefore].into_iter().enumerate()
    {
        // The first call looks for a draft, the second creates one.
        for count in [1, 2, 3] {
            harness.fake.inject_fault(Call::Process, fault, count);
            let mut post = harness.post(&account, &format!("{fault:?} {count}"), vec![sample(MimeType::Png, 1)]);

            let passage = harness.deliver(&mut post).await.unwrap();

            assert_eq!(passage.errors.len(), count, "{fault:?}");
            let sent = number * 3 + count;
            assert_eq!((harness.fake.public_posts().len(), harness.fake.keeps()), (sent, (sent, sent)), "{fault:?}");
        }
    }
}

#[tokio::test]
async fn a_file_whose_answer_was_lost_is_found_again() {
    let (harness, account) = harness().await;
    for fault in [InjectedFault::LoseResponse, InjectedFault::ServerErrorAfter] {
        harness.fake.inject_fault(Call::Upload, fault, 1);
        let mut post = harness.post(&account, "with a file", vec![sample(MimeType::Png, 1)]);
        harness.deliver(&mut post).await.unwrap();
    }
    assert_eq!(harness.fake.keeps(), (2, 2));
}

#[tokio::test]
async fn a_lost_answer_is_settled_by_reading_the_post_and_not_by_another_call() {
    let (harness, account) = harness().await;
    let post = harness.due(&account, "read back", Vec::new()).await;
    let since = harness.clock.now();
    harness.fake.inject_fault(Call::Publish, InjectedFault::LoseResponse, 1);
    let lost = harness.publish(&post).await.unwrap_err();
    assert!(matches!(lost, AttemptError::Unknown { may_still_run: true, .. }), "{lost:?}");

    let Resolution::Found(found) = harness.resolve(&post, since).await else { panic!("it is there") };

    assert_eq!((found.platform_post_id, found.at), (harness.fake.public_posts()[0].id.clone(), post.publish_at));
    assert_eq!(harness.fake.call_count(Call::Publish), 1);
}

#[tokio::test]
async fn a_draft_that_somebody_deleted_is_made_anew() {
    let (harness, account) = harness().await;
    let mut post = harness.due(&account, "deleted meanwhile", Vec::new()).await;
    harness.fake.delete_drafts();

    let passage = harness.deliver(&mut post).await;

    // The stored progress names the old draft, which is missing only for the publish call.
    let passage = passage.unwrap();
    assert!(matches!(passage.errors.as_slice(), [AttemptError::PreparationExpired { .. }]), "{:?}", passage.errors);
    assert_eq!(harness.fake.public_posts().len(), 1);
}

#[tokio::test]
async fn a_post_that_was_deleted_after_a_lost_call_is_not_made_again() {
    let (harness, account) = harness().await;
    let post = harness.due(&account, "unknown outcome, and deleted", Vec::new()).await;
    let since = harness.clock.now();
    harness.fake.inject_fault(Call::Publish, InjectedFault::CutBefore, 1);
    harness.publish(&post).await.unwrap_err();
    harness.fake.delete_drafts();
    harness.clock.advance(TimeDelta::minutes(2));

    let response = harness.resolve(&post, since).await;

    assert!(matches!(&response, Resolution::Refused { reason } if reason.contains("deleted")), "{response:?}");
}
