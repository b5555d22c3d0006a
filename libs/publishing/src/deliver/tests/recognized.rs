//! Look-ups on a platform that recognizes posts only by their content.

use domain::delivery::PUBLISH_CALL_DELAY;

use super::*;

fn by_looks(faults: impl IntoIterator<Item = PublishFault>) -> Network {
    Network { by_looks: true, ..Network::default() }.with_faults(faults)
}

async fn ids(rig: &Rig, posts: &[&Post]) -> Vec<String> {
    let mut ids = Vec::new();
    for post in posts {
        let post = rig.post(post).await;
        assert_eq!(post.status, PostStatus::Published, "{post:?}");
        ids.push(post.targets[0].platform_post_id.clone().unwrap());
    }
    ids
}

#[tokio::test]
async fn candidate_is_accepted_once_no_other_delivery_claims_it() {
    let rig = Rig::with(1, by_looks([PublishFault::LostAnswer])).await;
    let post = rig.schedule("Hello", noon()).await;

    let accepted_at = noon() + SETTLES + PUBLISH_CALL_DELAY;
    rig.live(accepted_at - TimeDelta::seconds(5)).await;
    let waiting = rig.post(&post).await;
    assert_eq!(waiting.status, PostStatus::Publishing);
    let note = waiting.targets[0].error_message.clone().unwrap_or_default();
    assert!(note.contains("The account shows a post that looks like this one"), "{note}");

    rig.live(accepted_at + TimeDelta::seconds(10)).await;
    assert_published_once(&rig, &post, "Hello").await;
}

#[tokio::test]
async fn post_of_another_delivery_is_not_claimed_and_the_missing_is_sent() {
    for fault in [PublishFault::LostCall, PublishFault::LostAnswer] {
        let rig = Rig::with(1, by_looks([PublishFault::Public, fault.clone()])).await;
        let first = rig.schedule("Hello", noon()).await;
        let second = rig.schedule("Hello", later(30)).await;

        rig.live(later(30 + 120)).await;

        assert_eq!(ids(&rig, &[&first, &second]).await, ["p1", "p2"], "{fault:?}");
        assert_eq!(rig.network.texts(), ["Hello", "Hello"], "{fault:?}");
    }
}

#[tokio::test]
async fn two_unknown_outcomes_resolve_to_two_posts() {
    for faults in [
        [PublishFault::LostAnswer, PublishFault::LostAnswer],
        [PublishFault::LostCall, PublishFault::LostAnswer],
        [PublishFault::LostAnswer, PublishFault::LostCall],
        [PublishFault::LostCall, PublishFault::LostCall],
    ] {
        let rig = Rig::with(1, by_looks(faults.clone())).await;
        let first = rig.schedule("Hello", noon()).await;
        let second = rig.schedule("Hello", later(1)).await;

        rig.live(later(400)).await;

        let mut ids = ids(&rig, &[&first, &second]).await;
        ids.sort();
        assert_eq!(ids, ["p1", "p2"], "{faults:?}");
        assert_eq!(rig.network.texts().len(), 2, "{faults:?}");
    }
}

#[tokio::test]
async fn claim_of_a_dead_worker_resolves_the_delivery_at_once() {
    let rig = Rig::with(1, by_looks([PublishFault::LostAnswer])).await;
    let post = rig.schedule("Hello", noon()).await;
    let delivery = rig.delivery(&post).await;
    let connection = rig.connection(0).await.connection;
    rig.store.claim_post(&connection, "p1", &delivery, noon()).await.unwrap();

    rig.live(later(5)).await;

    assert_published_once(&rig, &post, "Hello").await;
}

#[tokio::test]
async fn returned_post_of_another_delivery_is_a_refusal() {
    let rig = Rig::with(1, by_looks([])).await;
    rig.network.ids.lock().unwrap().extend(["p1".to_owned(), "p1".to_owned()]);
    let first = rig.schedule("Hello", noon()).await;
    let second = rig.schedule("Hello", later(30)).await;

    rig.live(later(60)).await;

    assert_eq!(ids(&rig, &[&first]).await, ["p1"]);
    let second = rig.post(&second).await;
    let message = second.targets[0].error_message.clone().unwrap();
    assert!(message.contains("one that existed already (p1)"), "{message}");
}

#[tokio::test]
async fn lost_grant_and_unknown_outcome_do_not_promise_publication() {
    let rig = Rig::with(1, by_looks([PublishFault::LostAnswer])).await;
    let gone = Resolution::Unauthorized { reason: "revoked".to_owned() };
    *rig.network.always.lock().unwrap() = Some(gone);
    let post = rig.schedule("Hello", noon()).await;

    rig.live(later(60)).await;

    let message = rig.post(&post).await.targets[0].error_message.clone().unwrap();
    assert!(message.contains("We look the post up") && !message.contains("We will try again"), "{message}");
}
