//! Posts on a platform that knows them by their looks alone.

use domain::delivery::PUBLISH_CALL_DELAY;

use super::*;

fn by_looks(fates: impl IntoIterator<Item = PublishFault>) -> Network {
    Network { by_looks: true, ..Network::default() }.fated(fates)
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
async fn what_looks_like_a_post_is_believed_once_nobody_else_has_claimed_it() {
    let rig = Rig::with(1, by_looks([PublishFault::LostAnswer])).await;
    let post = rig.schedule("Hello", noon()).await;

    let believed_at = noon() + SETTLES + PUBLISH_CALL_DELAY;
    rig.live(believed_at - TimeDelta::seconds(5)).await;
    let waiting = rig.post(&post).await;
    assert_eq!(waiting.status, PostStatus::Publishing);
    let note = waiting.targets[0].error_message.clone().unwrap_or_default();
    assert!(note.contains("The account shows a post that looks like this one"), "{note}");

    rig.live(believed_at + TimeDelta::seconds(10)).await;
    assert_published_once(&rig, &post, "Hello").await;
}

#[tokio::test]
async fn the_post_of_another_delivery_is_not_taken_and_what_did_not_arrive_is_sent() {
    for fate in [PublishFault::LostCall, PublishFault::LostAnswer] {
        let rig = Rig::with(1, by_looks([PublishFault::Public, fate.clone()])).await;
        let first = rig.schedule("Hello", noon()).await;
        let second = rig.schedule("Hello", later(30)).await;

        rig.live(later(30 + 120)).await;

        assert_eq!(ids(&rig, &[&first, &second]).await, ["p1", "p2"], "{fate:?}");
        assert_eq!(rig.network.texts(), ["Hello", "Hello"], "{fate:?}");
    }
}

#[tokio::test]
async fn of_two_in_doubt_each_gets_a_post_of_its_own() {
    for fates in [
        [PublishFault::LostAnswer, PublishFault::LostAnswer],
        [PublishFault::LostCall, PublishFault::LostAnswer],
        [PublishFault::LostAnswer, PublishFault::LostCall],
        [PublishFault::LostCall, PublishFault::LostCall],
    ] {
        let rig = Rig::with(1, by_looks(fates.clone())).await;
        let first = rig.schedule("Hello", noon()).await;
        let second = rig.schedule("Hello", later(1)).await;

        rig.live(later(400)).await;

        let mut ids = ids(&rig, &[&first, &second]).await;
        ids.sort();
        assert_eq!(ids, ["p1", "p2"], "{fates:?}");
        assert_eq!(rig.network.texts().len(), 2, "{fates:?}");
    }
}

#[tokio::test]
async fn what_was_claimed_before_a_worker_died_is_known_at_once() {
    let rig = Rig::with(1, by_looks([PublishFault::LostAnswer])).await;
    let post = rig.schedule("Hello", noon()).await;
    let delivery = rig.delivery(&post).await;
    let connection = rig.connection(0).await.connection;
    rig.store.claim_post(&connection, "p1", &delivery, noon()).await.unwrap();

    rig.live(later(5)).await;

    assert_published_once(&rig, &post, "Hello").await;
}

#[tokio::test]
async fn a_platform_that_answers_with_another_post_has_made_none() {
    let rig = Rig::with(1, by_looks([])).await;
    rig.network.ids.lock().unwrap().extend(["p1".to_owned(), "p1".to_owned()]);
    let first = rig.schedule("Hello", noon()).await;
    let second = rig.schedule("Hello", later(30)).await;

    rig.live(later(60)).await;

    assert_eq!(ids(&rig, &[&first]).await, ["p1"]);
    let second = rig.post(&second).await;
    let words = second.targets[0].error_message.clone().unwrap();
    assert!(words.contains("a post that was there already (p1)"), "{words}");
}

#[tokio::test]
async fn who_is_in_doubt_and_disconnected_is_not_told_that_it_goes_out() {
    let rig = Rig::with(1, by_looks([PublishFault::LostAnswer])).await;
    let gone = Resolution::Unauthorized { reason: "revoked".to_owned() };
    *rig.network.always.lock().unwrap() = Some(gone);
    let post = rig.schedule("Hello", noon()).await;

    rig.live(later(60)).await;

    let words = rig.post(&post).await.targets[0].error_message.clone().unwrap();
    assert!(words.contains("it is looked up") && !words.contains("goes out"), "{words}");
}
