//! Errors of X and their consequences.

use fakes::conformance::log::Log;

use super::harness;
use crate::prelude::*;

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

/// The error may be a temporary fault of X; a token of the wrong kind is permanent.
#[tokio::test]
async fn unsupported_authentication_wants_the_user_after_an_hour() {
    let (harness, account) = harness().await;
    let post = harness.due(&account, "hello", Vec::new()).await;
    let refused = async || {
        let problem = json!({ "type": "https://api.x.com/2/problems/unsupported-authentication", "detail": "No." });
        harness.fake.refuses("/2/tweets", 403, problem);
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
