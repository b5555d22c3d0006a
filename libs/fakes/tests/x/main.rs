//! Behavior specific to X.
#![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

mod look_up;
mod own_app;
mod refusals;
mod threads;
mod uploads;

use domain::delivery::{AttemptError, Resolution};
use domain::media::{AltText, MimeType};
use domain::options::{OptionValue, Options};
use domain::validation_errors::ValidationErrors;
use fakes::x::{HANDLE, ID, X};
use platforms::conformance::adapter_harness::AdapterHarness;
use platforms::conformance::fake_platform::{Call, FakePlatform, InjectedFault};
use platforms::conformance::options::{list, options, text};
use platforms::conformance::samples::{Sample, sample};
use platforms::{Account, Step};
use serde_json::json;

async fn harness() -> (AdapterHarness<X>, Account) {
    let harness = AdapterHarness::new().await;
    let account = harness.connect().await;
    (harness, account)
}

/// A video of nine parts.
fn long_video() -> Sample {
    let mut video = sample(MimeType::Mp4, 1);
    video.bytes.resize(9 << 20, 0);
    video.attachment.size_bytes = 9 << 20;
    video
}

#[tokio::test]
async fn account_has_its_numeric_id_and_premium_text_limit() {
    let (harness, account) = harness().await;
    assert_eq!((account.profile.account_id.as_str(), account.profile.username.as_deref()), (ID, Some(HANDLE)));
    assert_eq!(account.profile.avatar.as_deref(), Some("https://pbs.twimg.com/profile_images/1/a.jpg"));
    let long = "x".repeat(281);
    assert!(!account.rules.breaches(long.as_str(), &[], &Options::default()).is_empty());

    harness.fake.set_subscription("Premium");
    let now = harness.clock.now();
    let about =
        harness.publisher().account_details(&account.profile, &account.credentials, now).await.unwrap().unwrap();

    assert!(about.rules.breaches(long.as_str(), &[], &Options::default()).is_empty());
    let mut post = harness.post(&account, long.as_str(), Vec::new());
    harness.deliver(&mut post).await.unwrap();
}

#[tokio::test]
async fn options_become_fields_of_x() {
    let (harness, account) = harness().await;
    for (given, expected) in [
        (options(&[("reply_settings", text("everyone"))]), json!({})),
        (options(&[("reply_settings", text("mentioned_users"))]), json!({ "reply_settings": "mentionedUsers" })),
        (options(&[("quote_url", text("https://x.com/a/status/12"))]), json!({ "quote_tweet_id": "12" })),
        (
            options(&[("poll_options", list(&["Tea", "Coffee"]))]),
            json!({ "poll": { "options": ["Tea", "Coffee"], "duration_minutes": 1_440 } }),
        ),
        (
            options(&[
                ("poll_options", list(&["1", "2", "3", "4"])),
                ("poll_duration_minutes", OptionValue::Number(5)),
            ]),
            json!({ "poll": { "options": ["1", "2", "3", "4"], "duration_minutes": 5 } }),
        ),
        (
            options(&[
                ("community", text("1493446837214187523")),
                ("made_with_ai", OptionValue::Flag(true)),
                ("paid_partnership", OptionValue::Flag(false)),
            ]),
            json!({ "community_id": "1493446837214187523", "made_with_ai": true }),
        ),
    ] {
        let mut post = harness.post(&account, &format!("{expected}"), Vec::new());
        post.options = given;
        harness.deliver(&mut post).await.unwrap();
        assert_eq!(harness.fake.latest_fields(), expected);
    }
    let mut post = harness.post(&account, "in a community", Vec::new());
    post.options = options(&[("community", text("cats"))]);
    let refused = harness.deliver(&mut post).await.unwrap_err();
    assert!(matches!(&refused, AttemptError::Refused { reason } if reason.contains("option community")), "{refused:?}");
}

#[tokio::test]
async fn a_poll_is_checked_when_it_is_scheduled() {
    let (_, account) = harness().await;
    let files = [sample(MimeType::Png, 1).attachment];
    let poll = options(&[("poll_options", list(&["Tea", "Coffee"]))]);
    let errors = account.rules.breaches(Some("which?"), &files, &poll);
    let expected =
        "X accepts poll_options or images and videos in one post, not both; this has poll_options and 1 file";
    assert_eq!(errors.iter().map(|it| it.message.as_str()).collect::<Vec<_>>(), [expected]);

    for (given, field) in [
        (options(&[("poll_options", list(&["Tea"]))]), "o.poll_options"),
        (options(&[("poll_options", list(&["Tea", "A cup of coffee with cream"]))]), "o.poll_options"),
        (options(&[("poll_duration_minutes", OptionValue::Number(60))]), "o.poll_duration_minutes"),
        (
            options(&[
                ("poll_options", list(&["Tea", "Coffee"])),
                ("poll_duration_minutes", OptionValue::Number(10_081)),
            ]),
            "o.poll_duration_minutes",
        ),
        (
            options(&[("poll_options", list(&["Tea", "Coffee"])), ("quote_url", text("https://x.com/a/status/12"))]),
            "o.poll_options",
        ),
    ] {
        let mut faults = ValidationErrors::new();
        platforms::vocabulary().check_values("x", &given, "o", &mut faults);
        assert_eq!(faults.iter().map(|it| it.0).collect::<Vec<_>>(), [field], "{given:?}");
    }
}

#[tokio::test]
async fn a_poll_whose_answer_was_lost_is_found() {
    let (harness, account) = harness().await;
    let mut post = harness.post(&account, "which?", Vec::new());
    post.options = options(&[("poll_options", list(&["Tea", "Coffee"]))]);
    harness.fake.inject_fault(Call::Publish, InjectedFault::LoseResponse, 1);

    harness.deliver(&mut post).await.unwrap();

    assert_eq!((harness.fake.public_posts().len(), harness.fake.call_count(Call::Publish)), (1, 1));
}

#[tokio::test]
async fn pictures_go_up_with_one_call_each_and_their_words() {
    let (harness, account) = harness().await;
    let mut files = vec![sample(MimeType::Png, 1), sample(MimeType::Jpeg, 2), sample(MimeType::Webp, 3)];
    files[1].attachment.alt_text = Some(AltText::parse("a lamp").unwrap());
    let mut post = harness.post(&account, "three of them", files);

    let published = harness.deliver(&mut post).await.unwrap().published;

    let public = harness.fake.public_posts().pop().unwrap();
    let expected: Vec<_> = public.media.iter().map(|it| (it.mime_type, it.alt_text.as_deref())).collect();
    assert_eq!(expected, [(MimeType::Png, None), (MimeType::Jpeg, Some("a lamp")), (MimeType::Webp, None)]);
    assert_eq!(harness.fake.call_count(Call::Upload), 3);
    let address = format!("https://x.com/{HANDLE}/status/{}", published.platform_post_id);
    assert_eq!(published.url, Some(address));
}

#[tokio::test]
async fn a_video_goes_up_in_parts_and_what_has_arrived_is_not_sent_again() {
    let (harness, account) = harness().await;
    let video = long_video();
    let mut post = harness.post(&account, "a film", vec![video.clone()]);
    harness.clock.skip_to(post.publish_at - harness.lead(std::slice::from_ref(&video.attachment)).unwrap());
    let Step::Again { progress, .. } = harness.prepare(&post).await.unwrap() else { panic!("it is not there yet") };
    post.progress = Some(progress);
    // The part that arrives first fails, and is then sent again with the others.
    let broken = json!({ "title": "Internal Server Error", "detail": "Internal Server Error" });
    harness.fake.refuses("/2/media/upload/append/0", 500, broken);
    let error = harness.prepare(&post).await.unwrap_err();
    assert!(
        matches!(&error, AttemptError::RetryLater { reason, .. } if reason.starts_with("file 1 of 1")),
        "{error:?}"
    );
    let Step::Again { progress, .. } = harness.prepare(&post).await.unwrap() else { panic!("it is not there yet") };
    post.progress = Some(progress);
    let sent = harness.fake.call_count(Call::Upload);

    harness.deliver(&mut post).await.unwrap();

    assert_eq!(harness.fake.call_count(Call::Upload), sent, "nothing is sent again");
    assert_eq!(harness.fake.public_posts()[0].media[0].bytes, video.bytes);
}

#[tokio::test]
async fn unprocessable_video_error_quotes_x() {
    let (harness, account) = harness().await;
    harness.fake.fail_files();
    let mut post = harness.post(&account, "a film", vec![sample(MimeType::Mp4, 1)]);

    let refused = harness.deliver(&mut post).await.unwrap_err();

    let said = "file 1 of 1 (video/mp4): X could not process the file: Unsupported video format";
    assert!(matches!(&refused, AttemptError::Refused { reason } if reason == said), "{refused:?}");
}

/// A GIF is animated, so the service does not resize it: validation has the limits of X.
#[tokio::test]
async fn a_gif_that_is_too_large_is_refused_when_it_is_scheduled() {
    let (harness, account) = harness().await;
    let gif = |size| {
        let mut gif = sample(MimeType::Gif, 1);
        gif.bytes.resize(size, 0);
        gif.attachment.size_bytes = size as u64;
        gif
    };
    let errors = |gif: &Sample| {
        let errors =
            account.rules.breaches(Some("it moves"), std::slice::from_ref(&gif.attachment), &Options::default());
        errors.into_iter().map(|it| it.message).collect::<Vec<_>>()
    };
    let (fits, large) = (gif(15_000_000), gif(15_000_001));
    let expected = "X accepts GIFs of at most 15000000 bytes; file 1 has 15000001 bytes; make it smaller, or convert it to a video";
    assert_eq!((errors(&fits), errors(&large)), (Vec::new(), vec![expected.to_owned()]));

    harness.deliver(&mut harness.post(&account, "it moves", vec![fits])).await.unwrap();
    let refused = harness.deliver(&mut harness.post(&account, "too much", vec![large])).await.unwrap_err();
    assert!(matches!(refused, AttemptError::Refused { .. }), "{refused:?}");
}

#[tokio::test]
async fn forgotten_upload_is_repeated() {
    let (harness, account) = harness().await;
    let mut post = harness.post(&account, "a film", vec![sample(MimeType::Mp4, 1)]);
    harness.prepare_all(&mut post, &mut Vec::new()).await.unwrap();
    harness.fake.forgets_uploads();

    let refused = harness.publish(&post).await.unwrap_err();
    assert!(matches!(&refused, AttemptError::PreparationExpired { .. }), "{refused:?}");
    harness.deliver(&mut post).await.unwrap();

    assert_eq!(harness.fake.public_posts().len(), 1);
}

#[tokio::test]
async fn look_up_reads_only_posts_since_the_call() {
    let (harness, account) = harness().await;
    for number in 0..30 {
        harness.fake.publish_manual_post(&format!("long ago {number}"));
    }
    harness.clock.advance(chrono::TimeDelta::hours(1));
    let words = "1 < 2 && see https://example.com/a?b=c&d=e, or not";
    let mut post = harness.post(&account, words, Vec::new());
    harness.fake.inject_fault(Call::Publish, InjectedFault::LoseResponse, 1);

    let passage = harness.deliver(&mut post).await.unwrap();

    assert_eq!(passage.errors.len(), 1, "{:?}", passage.errors);
    assert_eq!((harness.fake.posts_read(), harness.fake.call_count(Call::Publish)), (1, 1), "what is paid");
    assert!(harness.fake.call_count(Call::LookUp) <= 2);
}

/// Each look-up is billed: an undeterminable outcome is not looked up for a day.
#[tokio::test]
async fn undeterminable_look_up_is_reported_to_the_user() {
    let (harness, account) = harness().await;
    harness.fake.rename_files();
    let post = harness.due(&account, "a lighthouse", vec![sample(MimeType::Jpeg, 1)]).await;
    harness.fake.inject_fault(Call::Publish, InjectedFault::LoseResponse, 1);
    let began = harness.clock.now();
    assert!(matches!(harness.publish(&post).await, Err(AttemptError::Unknown { .. })));

    let found = harness.resolve(&post, began).await;

    assert!(matches!(&found, Resolution::Undeterminable { advice } if advice.contains("may be this one")), "{found:?}");
    assert_eq!(harness.fake.posts_read(), 1);
}

/// The call may still be running behind the gateway, so it is not repeated before its settle time
/// is over.
#[tokio::test]
async fn gateway_timeout_has_an_unknown_outcome() {
    let (harness, account) = harness().await;
    for fault in [InjectedFault::ServerError, InjectedFault::Unavailable] {
        let post = harness.due(&account, &format!("hello {fault:?}"), Vec::new()).await;
        harness.fake.inject_fault(Call::Publish, fault, 1);

        let error = harness.publish(&post).await.unwrap_err();

        assert!(matches!(&error, AttemptError::Unknown { may_still_run: true, .. }), "{error:?}");
    }
}

#[tokio::test]
async fn app_without_credits_is_reported_to_the_operator() {
    let (harness, account) = harness().await;
    let credits = json!({ "title": "CreditsDepleted", "detail": "Your enrolled account has no credits.", "type": "https://api.x.com/2/problems/credits" });
    let enrolled = json!({ "title": "Client Forbidden", "type": "https://api.twitter.com/2/problems/client-forbidden", "detail": "x" });
    for (status, body) in [(402, credits), (403, enrolled)] {
        let post = harness.due(&account, "hello", Vec::new()).await;
        harness.fake.refuses("/2/tweets", status, body);
        let error = harness.publish(&post).await.unwrap_err();
        assert!(matches!(&error, AttemptError::RetryLater { reason, .. } if reason.contains("operator")), "{error:?}");
    }
}
