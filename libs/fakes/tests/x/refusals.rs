//! Errors of X and their consequences.

use chrono::TimeDelta;
use domain::delivery::AttemptError;
use domain::media::MimeType;
use platforms::conformance::log::Log;
use platforms::conformance::samples::sample;
use serde_json::{Value, json};

use super::harness;

fn problem(name: &str) -> Value {
    json!({ "title": "Forbidden", "type": format!("https://api.x.com/2/problems/{name}"), "detail": "No." })
}

fn detail(text: &str) -> Value {
    json!({ "title": "Forbidden", "type": "about:blank", "status": 403, "detail": text })
}

#[tokio::test]
async fn publish_call_refused_with_403_says_whether_the_account_or_the_post_is_meant() {
    let (harness, account) = harness().await;
    for (body, is_the_account) in [
        (
            detail("To protect our users from spam and other malicious activity, this account is temporarily locked."),
            true,
        ),
        (detail("Your account is suspended and is not permitted to access this feature."), true),
        (problem("user-suspended"), true),
        (detail("You have been blocked by the author of this post."), false),
        (detail("This community is locked."), false),
    ] {
        let post = harness.due(&account, "hello", Vec::new()).await;
        harness.fake.refuses("/2/tweets", 403, body.clone());

        let error = harness.publish(&post).await.unwrap_err();

        assert_eq!(matches!(error, AttemptError::Unauthorized { .. }), is_the_account, "{body}: {error:?}");
        assert_eq!(matches!(error, AttemptError::Refused { .. }), !is_the_account, "{body}: {error:?}");
    }
}

#[tokio::test]
async fn duplicate_tells_the_user_that_x_does_not_accept_a_text_twice() {
    let (harness, account) = harness().await;
    for body in [problem("duplicate-rules"), detail("You are not allowed to create a Tweet with duplicate content.")] {
        let post = harness.due(&account, "good morning", Vec::new()).await;
        harness.fake.refuses("/2/tweets", 403, body);

        let error = harness.publish(&post).await.unwrap_err();

        let is_explained =
            |it: &str| it.contains("X does not accept the same text twice") && it.contains("change the text");
        assert!(matches!(&error, AttemptError::Refused { reason } if is_explained(reason)), "{error:?}");
    }
}

#[tokio::test]
async fn unreadable_success_is_unknown_and_may_still_run() {
    let (harness, account) = harness().await;
    for body in [json!("{\"data\":{\"id\":\"1"), json!({}), json!({ "data": { "id": "../1" } })] {
        let post = harness.due(&account, "hello", Vec::new()).await;
        harness.fake.refuses("/2/tweets", 201, body.clone());

        let error = harness.publish(&post).await.unwrap_err();

        assert!(matches!(&error, AttemptError::Unknown { may_still_run: true, .. }), "{body}: {error:?}");
    }
    let post = harness.due(&account, "hello", Vec::new()).await;
    harness.fake.refuses("/2/tweets", 302, json!({}));
    let error = harness.publish(&post).await.unwrap_err();
    assert!(matches!(&error, AttemptError::Unknown { may_still_run: true, .. }), "{error:?}");
}

#[tokio::test]
async fn account_is_connected_where_x_refuses_to_say_what_it_pays() {
    let (harness, account) = harness().await;
    harness.fake.set_subscription("Premium");
    harness.fake.hides_subscription();

    let again = harness.connect().await;

    assert_eq!((&again.profile, &again.rules), (&account.profile, &account.rules));
    let about = harness.publisher().account_details(&again.profile, &again.credentials, harness.clock.now()).await;
    assert_eq!(about.unwrap().unwrap().profile, again.profile);
}

#[tokio::test]
async fn pictures_without_a_text_are_published_with_an_empty_text() {
    let (harness, account) = harness().await;
    let mut post = harness.post(&account, "", vec![sample(MimeType::Png, 1)]);

    harness.deliver(&mut post).await.unwrap();

    let sent = harness.fake.request_log.latest("POST /2/tweets").unwrap();
    assert_eq!(serde_json::from_str::<Value>(&sent.body).unwrap()["text"], "");
}

/// The error may be a temporary fault of X; a token of the wrong kind is permanent.
#[tokio::test]
async fn unsupported_authentication_wants_the_user_after_an_hour() {
    let (harness, account) = harness().await;
    let post = harness.due(&account, "hello", Vec::new()).await;
    let refused = async || {
        harness.fake.refuses("/2/tweets", 403, problem("unsupported-authentication"));
        harness.publish(&post).await.unwrap_err()
    };
    assert!(matches!(refused().await, AttemptError::RetryLater { .. }));

    harness.clock.advance(TimeDelta::minutes(61));

    assert!(matches!(refused().await, AttemptError::Unauthorized { .. }));
}

/// X's message may repeat the text of the post.
#[tokio::test]
async fn log_has_the_status_and_the_problem_but_no_message() {
    let (log, _guard) = Log::capture();
    let (harness, account) = harness().await;
    let post = harness.due(&account, "good morning", Vec::new()).await;
    let body = json!({ "type": "https://api.x.com/2/problems/credits", "detail": "No credits for: good morning" });
    harness.fake.refuses("/2/tweets", 402, body);

    harness.publish(&post).await.unwrap_err();

    let lines = log.text();
    assert!(lines.contains("402") && lines.contains("credits"), "{lines}");
    assert!(!lines.contains("good morning"), "{lines}");
}
