//! Behavior specific to X.

mod look_up;
mod own_app;
mod threads;
mod uploads;

use fakes::conformance::log::Log;
use fakes::x::{HANDLE, ID, X};

use crate::prelude::*;

#[tokio::test]
async fn account_has_its_numeric_id_urls_and_premium_text_limit() {
    let (harness, account) = connected::<X>().await;
    assert_eq!((account.profile.account_id.as_str(), account.profile.username.as_deref()), (ID, Some(HANDLE)));
    assert_eq!(account.profile.avatar.as_deref(), Some("https://pbs.twimg.com/profile_images/1/a.jpg"));
    let long = "x".repeat(281);
    assert!(!account.rules.breaches(long.as_str(), &[], &Options::default()).is_empty());

    harness.fake.set_subscription("Premium");
    let about = details(&harness, &account).await.unwrap().unwrap();

    assert!(about.rules.breaches(long.as_str(), &[], &Options::default()).is_empty());
    let published = publish_text(&harness, &account, long.as_str()).await;
    assert_eq!(published.url, Some(format!("https://x.com/{HANDLE}/status/{}", published.platform_post_id)));
}

#[tokio::test]
async fn options_become_fields_of_x() {
    let poll = |options: &[&str], minutes: u32| json!({ "poll": { "options": options, "duration_minutes": minutes } });
    let (harness, account) = connected::<X>().await;
    for (given, expected) in [
        (json!({ "reply_settings": "everyone" }), json!({})),
        (json!({ "reply_settings": "mentioned_users" }), json!({ "reply_settings": "mentionedUsers" })),
        (json!({ "quote_url": "https://x.com/a/status/12" }), json!({ "quote_tweet_id": "12" })),
        (json!({ "poll_options": ["Tea", "Coffee"] }), poll(&["Tea", "Coffee"], 1_440)),
        (json!({ "poll_options": ["1", "2", "3", "4"], "poll_duration_minutes": 5 }), poll(&["1", "2", "3", "4"], 5)),
        (
            json!({ "community": "1493446837214187523", "made_with_ai": true, "paid_partnership": false }),
            json!({ "community_id": "1493446837214187523", "made_with_ai": true }),
        ),
    ] {
        harness.deliver(&mut harness.post(&account, &format!("{expected}"), Vec::new()).with(given)).await.unwrap();
        assert_eq!(harness.fake.latest_fields(), expected);
    }
    let mut post = harness.post(&account, "in a community", Vec::new()).with(json!({ "community": "cats" }));
    assert_refused(harness.deliver(&mut post).await, "option community");
}

#[tokio::test]
async fn lost_poll_is_found() {
    let (harness, account) = connected::<X>().await;
    let mut post = harness.post(&account, "which?", Vec::new()).with(json!({ "poll_options": ["Tea", "Coffee"] }));
    harness.fake.inject_fault(Call::Publish, InjectedFault::LoseResponse, 1);

    harness.deliver(&mut post).await.unwrap();

    assert_eq!((harness.fake.public_posts().len(), harness.fake.call_count(Call::Publish)), (1, 1));
}

#[tokio::test]
async fn unprocessable_video_error_quotes_x() {
    let (harness, account) = connected::<X>().await;
    harness.fake.fail_files();
    let mut post = harness.post(&account, "a film", vec![sample(MimeType::Mp4, 1)]);

    let refused = harness.deliver(&mut post).await.unwrap_err();

    let said = "file 1 of 1 (video/mp4): X could not process the file: Unsupported video format";
    assert_matches!(&refused, AttemptError::Refused { reason } if reason == said);
}

#[tokio::test]
async fn look_up_reads_only_posts_since_the_call() {
    let (harness, account) = connected::<X>().await;
    for number in 0..30 {
        harness.fake.publish_manual_post(&format!("long ago {number}"));
    }
    harness.clock.advance(TimeDelta::hours(1));
    let words = "1 < 2 && see https://example.com/a?b=c&d=e, or not";
    let mut post = harness.post(&account, words, Vec::new());
    harness.fake.inject_fault(Call::Publish, InjectedFault::LoseResponse, 1);

    let delivered = harness.deliver(&mut post).await.unwrap();

    assert_eq!(delivered.errors.len(), 1, "{:?}", delivered.errors);
    assert_eq!((harness.fake.posts_read(), harness.fake.call_count(Call::Publish)), (1, 1), "what is paid");
    assert!(harness.fake.call_count(Call::LookUp) <= 2);
}

/// Each look-up is billed: an undeterminable outcome is not looked up for a day.
#[tokio::test]
async fn undeterminable_look_up_is_reported_to_the_user() {
    let (harness, account) = connected::<X>().await;
    harness.fake.rename_files();
    let post = harness.due(&account, "a lighthouse", vec![sample(MimeType::Jpeg, 1)]).await;
    let began = harness.lose_outcome(&post, InjectedFault::LoseResponse).await;

    assert_matches!(harness.resolve(&post, began).await, Resolution::Undeterminable { advice }
        if advice.contains("may be this one"));
    assert_eq!(harness.fake.posts_read(), 1);
}

#[tokio::test]
async fn account_is_connected_without_a_known_subscription() {
    let (harness, account) = connected::<X>().await;
    harness.fake.set_subscription("Premium");
    harness.fake.hides_subscription();

    let again = harness.connect().await;

    assert_eq!((&again.profile, &again.rules), (&account.profile, &account.rules));
    assert_eq!(details(&harness, &again).await.unwrap().unwrap().profile, again.profile);
}

/// The error may be a temporary fault of X; a token of the wrong kind is permanent.
#[tokio::test]
async fn unsupported_authentication_needs_the_user_after_an_hour() {
    let (harness, account) = connected::<X>().await;
    let post = harness.due(&account, "hello", Vec::new()).await;
    let refused = async || {
        let problem = json!({ "type": "https://api.x.com/2/problems/unsupported-authentication", "detail": "No." });
        harness.fake.refuses("/2/tweets", 403, problem);
        harness.publish(&post).await.unwrap_err()
    };
    assert_matches!(refused().await, AttemptError::RetryLater { .. });

    harness.clock.advance(TimeDelta::minutes(61));

    assert_matches!(refused().await, AttemptError::Unauthorized { .. });
}

/// X's message may repeat the text of the post.
#[tokio::test]
async fn log_has_the_status_and_the_problem_but_no_message() {
    let (log, _guard) = Log::capture();
    let (harness, account) = connected::<X>().await;
    let post = harness.due(&account, "good morning", Vec::new()).await;
    let body = json!({ "type": "https://api.x.com/2/problems/credits", "detail": "No credits for: good morning" });
    harness.fake.refuses("/2/tweets", 402, body);

    harness.publish(&post).await.unwrap_err();

    let lines = log.text();
    assert!(lines.contains("402") && lines.contains("credits"), "{lines}");
    assert!(!lines.contains("good morning"), "{lines}");
}
