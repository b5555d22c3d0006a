//! Messages without files.

use fakes::matrix::{ENCRYPTED, ROOM};

use super::Matrix;
use crate::prelude::*;

#[tokio::test]
async fn message_mentions_nobody_and_has_a_link() {
    let (harness, account) = connected::<Matrix>().await;
    let text = "*no* <b>markup</b> & @keeper:lighthouse.example";

    let published = publish_text(&harness, &account, text).await;

    let content = harness.fake.contents().pop().unwrap();
    assert_eq!((content["body"].as_str(), content["formatted_body"].as_str()), (Some(text), None));
    assert_eq!(content["m.mentions"], json!({}));
    let link = format!("https://matrix.to/#/{ROOM}/{}?via=lighthouse.example", published.platform_post_id);
    assert_eq!(published.url, Some(link));
}

#[tokio::test]
async fn replies_are_in_the_thread_of_the_post() {
    let (harness, account) = connected::<Matrix>().await;
    let of_others = harness.deliver(&mut harness.post(&account, "what begins it", Vec::new())).await.unwrap();
    let thread_root = of_others.published.platform_post_id;
    let options = json!({ "room": ROOM, "notice": true, "thread_root": thread_root });
    let mut post = harness.post(&account, "one", Vec::new()).with(options.clone());
    let root = harness.deliver(&mut post).await.unwrap().published;
    assert_eq!(harness.fake.contents()[1]["msgtype"], "m.notice");
    let mut parents = vec![json!(thread_root), json!(root.platform_post_id)];
    let mut parent = root.clone();
    for text in ["two", "three"] {
        let mut reply = harness.reply(&account, (&root, &parent), text, Vec::new()).with(options.clone());
        parent = harness.deliver(&mut reply).await.unwrap().published;
        parents.push(json!(parent.platform_post_id));
    }

    let relations: Vec<Value> = harness.fake.contents()[1..].iter().map(|it| it["m.relates_to"].clone()).collect();
    let expected = |parent: &Value| {
        json!({
            "rel_type": "m.thread", "event_id": thread_root,
            "is_falling_back": true, "m.in_reply_to": { "event_id": parent },
        })
    };
    assert_eq!(relations, parents[..3].iter().map(expected).collect::<Vec<_>>());
}

#[tokio::test]
async fn closed_room_error_says_what_to_do() {
    let (harness, account) = connected::<Matrix>().await;
    for (room, advice) in [
        (ENCRYPTED, "cannot encrypt messages: choose another room"),
        ("!open-sea:lighthouse.example", "not in room"),
        ("#harbour:lighthouse.example", "choose a listed room"),
        ("", "choose a listed room"),
    ] {
        let mut post = harness.post(&account, "hello", Vec::new()).with(json!({ "room": room }));

        assert_refused(harness.deliver(&mut post).await, advice);
    }
    assert!(harness.fake.public_posts().is_empty());
}

/// Another device does not read the transaction id. More than the messages of five pages are not
/// read.
#[tokio::test]
async fn message_is_found_by_a_later_connection() {
    for (further, is_found) in [(150, true), (600, false)] {
        let (harness, account) = connected::<Matrix>().await;
        let post = harness.due(&account, "found by another device", Vec::new()).await;
        let since = harness.lose_outcome(&post, InjectedFault::LoseResponse).await;
        harness.fake.publish_manual_posts(further);
        harness.connect().await;
        harness.clock.advance(TimeDelta::hours(3));

        match harness.resolve(&post, since).await {
            Resolution::Found(_) => assert!(is_found),
            Resolution::Pending { reason } if !is_found => assert!(reason.contains("too many messages"), "{reason}"),
            other => panic!("{further}: {other:?}"),
        }
    }
}

/// The room's encryption is read before the message is sent.
#[tokio::test]
async fn error_page_of_an_intermediary_delays_the_message() {
    let (harness, account) = connected::<Matrix>().await;
    harness.fake.faults().block(Method::GET, "/state/m.room.encryption", 403, 1);

    let delivery = harness.deliver(&mut harness.post(&account, "delayed", Vec::new())).await.unwrap();

    assert!(matches!(&delivery.errors[..], [AttemptError::RetryLater { .. }]), "{:?}", delivery.errors);
}
