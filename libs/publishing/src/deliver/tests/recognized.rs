//! Look-ups on a platform that recognizes posts only by their content.

use domain::delivery::PUBLISH_CALL_DELAY;

use super::*;

fn by_looks(faults: impl IntoIterator<Item = PublishFault>) -> FakePlatform {
    FakePlatform { by_looks: true, ..FakePlatform::default() }.with_faults(faults)
}

async fn ids(harness: &PublishingHarness, posts: &[&Post]) -> Vec<String> {
    let mut ids = Vec::new();
    for post in posts {
        let post = harness.post(post).await;
        assert_eq!(post.status, PostStatus::Published, "{post:?}");
        ids.push(post.targets[0].published().unwrap().platform_post_id.clone());
    }
    ids
}

#[tokio::test]
async fn candidate_is_accepted_once_no_other_delivery_claims_it() {
    let harness = PublishingHarness::with(1, by_looks([PublishFault::LostResponse])).await;
    let post = harness.schedule("Hello", noon()).await;

    let accepted_at = noon() + SETTLES + PUBLISH_CALL_DELAY;
    harness.live(accepted_at - TimeDelta::seconds(5)).await;
    let waiting = harness.post(&post).await;
    assert_eq!(waiting.status, PostStatus::Publishing);
    let note = waiting.targets[0].error_message.clone().unwrap_or_default();
    assert!(note.contains("The account shows a post that looks like this one"), "{note}");

    harness.live(accepted_at + TimeDelta::seconds(10)).await;
    assert_published_once(&harness, &post, "Hello").await;
}

#[tokio::test]
async fn post_of_another_delivery_is_not_claimed_and_the_missing_is_sent() {
    for fault in [PublishFault::LostCall, PublishFault::LostResponse] {
        let harness = PublishingHarness::with(1, by_looks([PublishFault::Public, fault.clone()])).await;
        let first = harness.schedule("Hello", noon()).await;
        let second = harness.schedule("Hello", later(30)).await;

        harness.live(later(30 + 120)).await;

        assert_eq!(ids(&harness, &[&first, &second]).await, ["p1", "p2"], "{fault:?}");
        assert_eq!(harness.fake.texts(), ["Hello", "Hello"], "{fault:?}");
    }
}

#[tokio::test]
async fn two_unknown_outcomes_resolve_to_two_posts() {
    for faults in [
        [PublishFault::LostResponse, PublishFault::LostResponse],
        [PublishFault::LostCall, PublishFault::LostResponse],
        [PublishFault::LostResponse, PublishFault::LostCall],
        [PublishFault::LostCall, PublishFault::LostCall],
    ] {
        let harness = PublishingHarness::with(1, by_looks(faults.clone())).await;
        let first = harness.schedule("Hello", noon()).await;
        let second = harness.schedule("Hello", later(1)).await;

        harness.live(later(400)).await;

        let mut ids = ids(&harness, &[&first, &second]).await;
        ids.sort();
        assert_eq!(ids, ["p1", "p2"], "{faults:?}");
        assert_eq!(harness.fake.texts().len(), 2, "{faults:?}");
    }
}

#[tokio::test]
async fn claim_of_a_dead_worker_resolves_the_delivery_at_once() {
    let harness = PublishingHarness::with(1, by_looks([PublishFault::LostResponse])).await;
    let post = harness.schedule("Hello", noon()).await;
    let delivery = harness.delivery(&post).await;
    let connection = harness.connection(0).await.connection;
    harness.store.claim_post(&connection, "p1", &delivery, noon()).await.unwrap();

    harness.live(later(5)).await;

    assert_published_once(&harness, &post, "Hello").await;
}

#[tokio::test]
async fn returned_post_of_another_delivery_is_a_refusal() {
    let harness = PublishingHarness::with(1, by_looks([])).await;
    harness.fake.ids.lock().unwrap().extend(["p1".to_owned(), "p1".to_owned()]);
    let first = harness.schedule("Hello", noon()).await;
    let second = harness.schedule("Hello", later(30)).await;

    harness.live(later(60)).await;

    assert_eq!(ids(&harness, &[&first]).await, ["p1"]);
    let second = harness.post(&second).await;
    let message = second.targets[0].error_message.clone().unwrap();
    assert!(message.contains("one that existed already (p1)"), "{message}");
}

#[tokio::test]
async fn lost_grant_and_unknown_outcome_do_not_promise_publication() {
    let harness = PublishingHarness::with(1, by_looks([PublishFault::LostResponse])).await;
    let gone = Resolution::Unauthorized { reason: "revoked".to_owned() };
    *harness.fake.always.lock().unwrap() = Some(gone);
    let post = harness.schedule("Hello", noon()).await;

    harness.live(later(60)).await;

    let message = harness.post(&post).await.targets[0].error_message.clone().unwrap();
    assert!(message.contains("We look the post up") && !message.contains("We will try again"), "{message}");
}
