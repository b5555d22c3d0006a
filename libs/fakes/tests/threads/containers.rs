//! Steps before the publish call.

use chrono::TimeDelta;
use domain::delivery::AttemptError;
use domain::media::{AltText, MimeType};
use platforms::conformance::fake_platform::{Call, FakePlatform};
use platforms::conformance::samples::sample;
use serde_json::json;

use super::{harness, list, options, text};

#[tokio::test]
async fn options_become_fields_of_threads() {
    let (harness, account) = harness().await;
    for (given, expected) in [
        (options(&[]), json!({})),
        (options(&[("reply_settings", text("followers_only"))]), json!({ "reply_control": "followers_only" })),
        (options(&[("topic_tag", text("#Lighthouses"))]), json!({ "topic_tag": "Lighthouses" })),
        (
            options(&[("link_attachment", text("https://a.example/b"))]),
            json!({ "link_attachment": "https://a.example/b" }),
        ),
        (
            options(&[("poll_options", list(&["Tea", " Coffee ", "Milk"]))]),
            json!({ "poll_attachment": { "option_a": "Tea", "option_b": "Coffee", "option_c": "Milk" } }),
        ),
    ] {
        let mut post = harness.post(&account, &format!("{expected}"), Vec::new());
        post.options = given;
        harness.deliver(&mut post).await.unwrap();
        assert_eq!(harness.fake.latest_fields(), expected);
    }
}

#[tokio::test]
async fn a_carousel_mixes_pictures_and_films_in_their_order_each_with_its_words() {
    let (harness, account) = harness().await;
    let mut files = vec![sample(MimeType::Jpeg, 1), sample(MimeType::Mp4, 2), sample(MimeType::Png, 3)];
    files[1].attachment.alt_text = AltText::parse("a lamp that turns").ok();
    files[2].attachment.alt_text = AltText::parse("a boat").ok();
    let mut post = harness.post(&account, "three of them", files);
    post.options = options(&[("reply_settings", text("mentioned_only")), ("topic_tag", text("boats"))]);

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
async fn a_film_that_threads_does_not_take_is_refused_with_its_place() {
    let (harness, account) = harness().await;
    for words in ["INVALID_BIT_RATE", "INVALID_ASPEC_RATIO", "FAILED_PROCESSING_AUDIO", "INVALID_AUDIO_CHANNELS"] {
        harness.fake.fail_containers(Some(words));
        let mut post = harness.post(&account, "a film", vec![sample(MimeType::Mp4, 1)]);
        let before = harness.fake.containers();

        let (error, _) = harness.stepped(&mut post).await;

        let said = format!("file 1 of 1 (video/mp4): Threads could not process the file: {words}");
        assert_eq!(error, Some(AttemptError::Refused { reason: said }));
        assert_eq!(harness.fake.containers(), before + 1, "no other one is tried");
    }
}

#[tokio::test]
async fn a_container_that_was_made_long_ago_is_made_anew() {
    let (harness, account) = harness().await;
    let mut post = harness.post(&account, "late", vec![sample(MimeType::Png, 1), sample(MimeType::Png, 2)]);
    harness.prepare_all(&mut post, &mut Vec::new()).await.unwrap();
    harness.clock.advance(TimeDelta::hours(23));

    harness.prepare_all(&mut post, &mut Vec::new()).await.unwrap();

    assert_eq!(harness.fake.containers(), 6, "two items and a carousel, twice");
    harness.deliver(&mut post).await.unwrap();
    assert_eq!(harness.fake.public_posts().len(), 1);
}

#[tokio::test]
async fn a_container_on_which_the_work_does_not_end_is_given_up() {
    let (harness, account) = harness().await;
    harness.fake.works_for(TimeDelta::hours(5));
    let mut post = harness.post(&account, "slow", vec![sample(MimeType::Mp4, 1)]);

    let end = harness.clock.now() + TimeDelta::hours(2);
    let errors = harness.prepare_until(&mut post, end).await;

    let Some(AttemptError::Refused { reason }) = errors.last() else { panic!("{errors:?}") };
    assert!(errors.len() == 3 && reason.contains("30 minutes"), "{errors:?}");
    // Each read counts as a call; the interval grows to half a minute.
    assert!(harness.fake.call_count(Call::Process) < 300, "{}", harness.fake.call_count(Call::Process));
}

#[tokio::test]
async fn near_the_limit_of_calls_it_is_looked_less_often() {
    let (harness, account) = harness().await;
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

#[tokio::test]
async fn a_profile_that_has_published_all_of_a_day_waits_until_the_first_of_them_is_a_day_old() {
    let (harness, account) = harness().await;
    harness.fake.permits(3);
    harness.fake.publish_manual_post("the day before");
    harness.clock.advance(TimeDelta::hours(25));
    let first = harness.clock.now();
    for number in 0..3 {
        harness.fake.publish_manual_post(&format!("by hand {number}"));
        harness.clock.advance(TimeDelta::minutes(10));
    }
    let mut post = harness.post(&account, "one more", Vec::new());

    let (error, _) = harness.stepped(&mut post).await;

    let Some(AttemptError::RetryLater { retry_at: Some(at), reason }) = &error else { panic!("{error:?}") };
    assert_eq!(*at, first + TimeDelta::days(1));
    assert_eq!(reason, "the account has used 3 of the 3 posts that Threads allows within a day");
    assert_eq!(harness.fake.containers(), 0);
    // Posts that are due after the quota resets may be prepared.
    let mut post = harness.post(&account, "tomorrow", Vec::new());
    post.publish_at = *at + TimeDelta::minutes(1);
    assert_eq!(harness.stepped(&mut post).await.0, None);
}
