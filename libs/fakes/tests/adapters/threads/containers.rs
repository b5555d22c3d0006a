//! Steps before the publish call.

use super::Threads;
use crate::prelude::*;

#[tokio::test]
async fn options_become_fields_of_threads() {
    let (harness, account) = connected::<Threads>().await;
    for (given, expected) in [
        (json!({}), json!({})),
        (json!({ "reply_settings": "followers_only" }), json!({ "reply_control": "followers_only" })),
        (json!({ "topic_tag": "#Lighthouses" }), json!({ "topic_tag": "Lighthouses" })),
        (json!({ "link_attachment": "https://a.example/b" }), json!({ "link_attachment": "https://a.example/b" })),
        (
            json!({ "poll_options": ["Tea", " Coffee ", "Milk"] }),
            json!({ "poll_attachment": { "option_a": "Tea", "option_b": "Coffee", "option_c": "Milk" } }),
        ),
    ] {
        harness.deliver(&mut harness.post(&account, &format!("{expected}"), Vec::new()).with(given)).await.unwrap();
        assert_eq!(harness.fake.latest_fields(), expected);
    }
}

#[tokio::test]
async fn carousel_has_images_and_videos_in_order_with_alt_texts() {
    let (harness, account) = connected::<Threads>().await;
    let (video, picture) = (described(MimeType::Mp4, 2, "a lamp that turns"), described(MimeType::Png, 3, "a boat"));
    let files = vec![sample(MimeType::Jpeg, 1), video, picture];
    let mut post = harness
        .post(&account, "three of them", files)
        .with(json!({ "reply_settings": "mentioned_only", "topic_tag": "boats" }));

    let published = harness.deliver(&mut post).await.unwrap().published;

    let public = harness.fake.public_posts().pop().unwrap();
    let actual: Vec<_> = public.media.iter().map(|it| (it.mime_type, it.alt_text.as_deref())).collect();
    let expected =
        [(MimeType::Jpeg, None), (MimeType::Mp4, Some("a lamp that turns")), (MimeType::Png, Some("a boat"))];
    assert_eq!(actual, expected);
    assert_eq!(harness.fake.latest_fields(), json!({ "reply_control": "mentioned_only", "topic_tag": "boats" }));
    assert_eq!((harness.fake.call_count(Call::Upload), harness.fake.containers()), (3, 4), "nothing is made twice");
    assert!(published.url.unwrap().starts_with("https://www.threads.com/@keeper.ada/post/"));
}

#[tokio::test]
async fn expired_container_is_created_again() {
    let (harness, account) = connected::<Threads>().await;
    let mut post = harness.post(&account, "late", vec![sample(MimeType::Png, 1), sample(MimeType::Png, 2)]);
    harness.prepare_all(&mut post, &mut Vec::new()).await.unwrap();
    harness.clock.advance(TimeDelta::hours(23));

    harness.prepare_all(&mut post, &mut Vec::new()).await.unwrap();

    assert_eq!(harness.fake.containers(), 6, "two items and a carousel, twice");
    harness.deliver(&mut post).await.unwrap();
    assert_eq!(harness.fake.public_posts().len(), 1);
}

#[tokio::test]
async fn polling_slows_down_near_the_rate_limit() {
    let (harness, account) = connected::<Threads>().await;
    let looks = async |percent: u64| {
        harness.fake.usage.is(percent);
        let before = harness.fake.call_count(Call::Process);
        let mut post = harness.post(&account, &format!("at {percent}"), vec![sample(MimeType::Mp4, 1)]);
        assert_eq!(harness.stepped(&mut post).await.0, None);
        harness.fake.call_count(Call::Process) - before
    };

    let (usual, near) = (looks(10).await, looks(85).await);

    assert!(near == 1 && 2 < usual, "{near} and {usual}");
}
