//! Behavior specific to X.

mod look_up;
mod own_app;
mod refusals;
mod threads;
mod uploads;

use fakes::x::{HANDLE, ID, X};

use crate::prelude::*;

async fn harness() -> (AdapterHarness<X>, Account) {
    let harness = AdapterHarness::new().await;
    let account = harness.connect().await;
    (harness, account)
}

#[tokio::test]
async fn account_has_its_numeric_id_urls_and_premium_text_limit() {
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
    let published = harness.deliver(&mut post).await.unwrap().published;
    assert_eq!(published.url, Some(format!("https://x.com/{HANDLE}/status/{}", published.platform_post_id)));
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
async fn a_poll_whose_answer_was_lost_is_found() {
    let (harness, account) = harness().await;
    let mut post = harness.post(&account, "which?", Vec::new());
    post.options = options(&[("poll_options", list(&["Tea", "Coffee"]))]);
    harness.fake.inject_fault(Call::Publish, InjectedFault::LoseResponse, 1);

    harness.deliver(&mut post).await.unwrap();

    assert_eq!((harness.fake.public_posts().len(), harness.fake.call_count(Call::Publish)), (1, 1));
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

#[tokio::test]
async fn look_up_reads_only_posts_since_the_call() {
    let (harness, account) = harness().await;
    for number in 0..30 {
        harness.fake.publish_manual_post(&format!("long ago {number}"));
    }
    harness.clock.advance(TimeDelta::hours(1));
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
    let began = harness.lose_outcome(&post, InjectedFault::LoseResponse).await;

    let found = harness.resolve(&post, began).await;

    assert!(matches!(&found, Resolution::Undeterminable { advice } if advice.contains("may be this one")), "{found:?}");
    assert_eq!(harness.fake.posts_read(), 1);
}
