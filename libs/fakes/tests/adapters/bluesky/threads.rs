//! Threads: the references of replies, and their order.

use super::Bluesky;
use crate::prelude::*;

fn reference(to: &Published) -> Value {
    json!({"uri": to.platform_post_id, "cid": to.handle})
}

fn created_at(record: &Value) -> DateTime<Utc> {
    DateTime::parse_from_rfc3339(record["createdAt"].as_str().unwrap()).unwrap().to_utc()
}

#[tokio::test]
async fn reply_names_its_parent_and_root_and_has_a_later_time() {
    let (harness, account) = connected::<Bluesky>().await;
    let root = publish_text(&harness, &account, "one").await;
    let mut segments = vec![root.clone()];
    for (text, is_lost) in [("two", false), ("three", true), ("four", false)] {
        harness.clock.advance(TimeDelta::seconds(1));
        harness.fake.inject_fault(Call::Publish, InjectedFault::LoseResponse, usize::from(is_lost));
        let parent = segments.last().unwrap().clone();
        let mut reply = harness.reply(&account, (&root, &parent), text, Vec::new());
        let published = harness.deliver(&mut reply).await.unwrap().published;
        let record = harness.fake.record(&published.platform_post_id).unwrap();
        assert_eq!(record["reply"], json!({"root": reference(&root), "parent": reference(&parent)}), "{text}");
        let record_of_parent = harness.fake.record(&parent.platform_post_id).unwrap();
        assert!(created_at(&record_of_parent) < created_at(&record), "{text}");
        assert!(parent.platform_post_id < published.platform_post_id, "{text}: keys sort like times");
        segments.push(published);
    }
}

/// The hour in which a server keeps files that no record shows may pass between two segments, and
/// then the reply is prepared again.
#[tokio::test]
async fn reply_that_is_prepared_again_is_the_same_record() {
    let (harness, account) = connected::<Bluesky>().await;
    let root = publish_text(&harness, &account, "one").await;
    let mut reply = harness.reply(&account, (&root, &root), "two", Vec::new());
    harness.prepare_all(&mut reply, &mut Vec::new()).await.unwrap();
    let since = harness.lose_outcome(&reply, InjectedFault::LoseResponse).await;

    reply.progress = None;
    let found = harness.resolve(&reply, since).await;
    harness.clock.advance(TimeDelta::minutes(1));
    harness.prepare_all(&mut reply, &mut Vec::new()).await.unwrap();
    let again = harness.publish(&reply).await.unwrap();

    let Resolution::Found(found) = found else { panic!("{found:?}") };
    assert_eq!((&found.platform_post_id, &found.handle), (&again.platform_post_id, &again.handle));
    assert_eq!(harness.fake.public_posts().len(), 2);
}

#[tokio::test]
async fn reply_to_a_record_without_a_hash_is_refused() {
    let (harness, account) = connected::<Bluesky>().await;
    let root = publish_text(&harness, &account, "one").await;
    let unknown = Published { handle: None, ..root };
    let mut reply = harness.reply(&account, (&unknown, &unknown), "two", Vec::new());

    assert_refused(harness.deliver(&mut reply).await, "hash");
    assert_eq!(harness.fake.public_posts().len(), 1);
}

#[tokio::test]
async fn record_after_another_one_is_not_the_reply() {
    let (harness, account) = connected::<Bluesky>().await;
    let root = publish_text(&harness, &account, "one").await;
    let mut reply = harness.reply(&account, (&root, &root), "two", Vec::new());
    let two = harness.deliver(&mut reply).await.unwrap().published;

    reply.reply_to = Some((root, two));

    assert_eq!(harness.resolve(&reply, harness.clock.now()).await, Resolution::NotFound);
}
