//! Messages without files.

use chrono::TimeDelta;
use domain::delivery::{AttemptError, Resolution};
use domain::media::{AltText, MimeType};
use domain::options::OptionValue;
use fakes::matrix::{ELSEWHERE, ENCRYPTED, ROOM, SILENT};
use http::Method;
use platforms::conformance::fake_platform::{Call, FakePlatform, InjectedFault};
use platforms::conformance::samples::sample;
use serde_json::json;

use super::{harness, to};

#[tokio::test]
async fn a_message_is_seen_in_the_clients_of_its_readers() {
    let (harness, account) = harness().await;
    let mut post = harness.post(&account, "the lamp is lit", Vec::new());

    let published = harness.deliver(&mut post).await.unwrap().published;

    let id = &published.platform_post_id;
    let link = format!("https://matrix.to/#/{ROOM}/{id}?via=lighthouse.example");
    assert_eq!(published.url, Some(link));
}

#[tokio::test]
async fn a_text_is_plain_unless_it_has_links() {
    let (harness, account) = harness().await;
    for (text, html) in [
        ("*no* <b>markup</b> & @keeper:lighthouse.example", None),
        (
            "1 < 2:\nhttps://example.org/?a=1&b=2",
            Some("1 &lt; 2:<br><a href=\"https://example.org/?a=1&amp;b=2\">https://example.org/?a=1&amp;b=2</a>"),
        ),
    ] {
        let mut post = harness.post(&account, text, Vec::new());

        harness.deliver(&mut post).await.unwrap();

        let content = harness.fake.contents().pop().unwrap();
        assert_eq!(content["body"], text);
        assert_eq!(content["formatted_body"].as_str(), html);
        assert_eq!(content["m.mentions"], json!({}), "nobody is called");
    }
}

#[tokio::test]
async fn a_notice_and_a_thread_are_as_the_post_says() {
    let (harness, account) = harness().await;
    let mut root = harness.post(&account, "what begins it", Vec::new());
    let root = harness.deliver(&mut root).await.unwrap().published.platform_post_id;
    let mut post = harness.post(&account, "and what follows", Vec::new());
    post.options = to(ROOM, &[("notice", OptionValue::Flag(true)), ("thread_root", OptionValue::Text(root.clone()))]);

    harness.deliver(&mut post).await.unwrap();

    let content = harness.fake.contents().pop().unwrap();
    assert_eq!(content["msgtype"], "m.notice");
    assert_eq!(
        (&content["m.relates_to"]["rel_type"], &content["m.relates_to"]["event_id"]),
        (&json!("m.thread"), &json!(root))
    );
}

#[tokio::test]
async fn replies_are_in_the_thread_of_the_first_message() {
    let (harness, account) = harness().await;
    let mut of_others = harness.post(&account, "what begins it", Vec::new());
    let of_others = harness.deliver(&mut of_others).await.unwrap().published.platform_post_id;
    for named in [None, Some(OptionValue::Text(of_others))] {
        let named: Vec<_> = named.map(|it| ("thread_root", it)).into_iter().collect();
        let mut post = harness.post(&account, "one", Vec::new());
        post.options = to(ROOM, &named);
        let root = harness.deliver(&mut post).await.unwrap().published;
        let mut parent = root.clone();
        for text in ["two", "three"] {
            let mut reply = harness.reply(&account, (&root, &parent), text, Vec::new());
            reply.options = to(ROOM, &named);
            let published = harness.deliver(&mut reply).await.unwrap().published;

            let relation = harness.fake.contents().pop().unwrap()["m.relates_to"].clone();
            let first = named.first().map_or(json!(root.platform_post_id), |(_, it)| json!(it));
            let expected = json!({
                "rel_type": "m.thread", "event_id": first,
                "is_falling_back": true, "m.in_reply_to": { "event_id": parent.platform_post_id },
            });
            assert_eq!(relation, expected, "{named:?} {text}");
            parent = published;
        }
        harness.clock.advance(TimeDelta::minutes(2));
    }
}

/// Neither an empty message nor an empty caption is sent.
#[tokio::test]
async fn reply_may_have_files_alone() {
    for alt_text in [None, Some("waves")] {
        let (harness, account) = harness().await;
        let root = harness.deliver(&mut harness.post(&account, "one", Vec::new())).await.unwrap().published;
        let mut file = sample(MimeType::Png, 1);
        file.attachment.alt_text = alt_text.map(|it| AltText::parse(it).unwrap());

        harness.deliver(&mut harness.reply(&account, (&root, &root), "", vec![file])).await.unwrap();

        let contents = harness.fake.contents();
        assert_eq!(contents.len(), 2);
        assert_eq!(contents[1]["body"], alt_text.unwrap_or("1.png"));
    }
}

#[tokio::test]
async fn closed_room_error_says_what_to_do() {
    let (harness, account) = harness().await;
    for (room, advice) in [
        (ENCRYPTED, "cannot encrypt messages: choose another room"),
        (SILENT, "don't have permission to post"),
        (ELSEWHERE, "not in room"),
        ("#harbour:lighthouse.example", "choose a listed room"),
        ("", "choose a listed room"),
    ] {
        let mut post = harness.post(&account, "hello", Vec::new());
        post.options = to(room, &[]);

        let refused = harness.deliver(&mut post).await.unwrap_err();

        let AttemptError::Refused { reason } = &refused else { panic!("{room}: {refused:?}") };
        assert!(reason.contains(advice), "{room}: {reason}");
    }
    assert!(harness.fake.public_posts().is_empty());
}

#[tokio::test]
async fn message_is_found_by_a_later_connection() {
    let (harness, account) = harness().await;
    let post = harness.due(&account, "found by another device", Vec::new()).await;
    let since = harness.clock.now();
    harness.fake.inject_fault(Call::Publish, InjectedFault::LoseResponse, 1);
    harness.publish(&post).await.unwrap_err();
    for _ in 0..150 {
        harness.fake.says("something else");
    }
    harness.fake.has_pages_of(7);
    harness.connect().await;
    harness.clock.advance(TimeDelta::hours(3));

    // The message is not on the first of these short pages.
    let response = harness.resolve(&post, since).await;
    assert!(
        matches!(&response, Resolution::Pending { reason } if reason.contains("too many messages")),
        "{response:?}"
    );

    harness.fake.has_pages_of(100);
    let response = harness.resolve(&post, since).await;
    assert!(matches!(response, Resolution::Found(_)), "{response:?}");
}

#[tokio::test]
async fn a_message_that_is_sent_again_is_the_same() {
    let (harness, account) = harness().await;
    let post = harness.due(&account, "twice", Vec::new()).await;

    let first = harness.publish(&post).await.unwrap();
    let second = harness.publish(&post).await.unwrap();

    assert_eq!(first.platform_post_id, second.platform_post_id);
    assert_eq!(harness.fake.public_posts().len(), 1);
}

#[tokio::test]
async fn a_page_of_an_intermediary_ends_no_post() {
    let (harness, account) = harness().await;
    for (sent, status) in (1..).zip([400, 401, 403, 404, 408, 413]) {
        for (method, path, at_once) in [(Method::GET, "/state/m.room.encryption", true), (Method::PUT, "/send/", false)]
        {
            harness.fake.intermediary().block(method, path, status, 1);
            let mut post = harness.post(&account, &format!("{status} {path}"), Vec::new());

            let passage = harness.deliver(&mut post).await.unwrap_or_else(|it| panic!("{status} {path}: {it:?}"));

            let is_busy = matches!(&passage.errors[..], [AttemptError::RetryLater { .. }]);
            let is_unknown = matches!(&passage.errors[..], [AttemptError::Unknown { may_still_run: true, .. }]);
            assert!(if at_once { is_busy } else { is_unknown }, "{status} {path}: {:?}", passage.errors);
        }
        assert_eq!(harness.fake.public_posts().len(), sent * 2);
    }
}

/// The remaining messages wait until the account is unlocked.
#[tokio::test]
async fn a_post_of_several_messages_waits_in_the_middle() {
    let (harness, account) = harness().await;
    let files = vec![sample(MimeType::Png, 1), sample(MimeType::Png, 2)];
    let post = harness.due(&account, "two", files).await;
    let since = harness.clock.now();
    harness.fake.fail_after(1, InjectedFault::CutBefore);
    harness.publish(&post).await.unwrap_err();
    harness.fake.fail_after(0, InjectedFault::Unavailable);
    assert!(matches!(harness.resolve(&post, since).await, Resolution::Pending { .. }));

    harness.fake.locks(true);
    let locked = harness.resolve(&post, since).await;
    assert!(matches!(locked, Resolution::Pending { .. }), "{locked:?}");

    harness.fake.locks(false);
    assert!(matches!(harness.resolve(&post, since).await, Resolution::Found(_)));
    assert_eq!(harness.fake.contents().len(), 2);
}
