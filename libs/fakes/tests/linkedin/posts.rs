//! Posts of members.

use chrono::{Days, NaiveTime, TimeDelta};
use domain::delivery::{AttemptError, Resolution};
use domain::media::MimeType;
use domain::options::{OptionValue, Options};
use domain::text::PostText;
use platforms::Account;
use platforms::conformance::fake_platform::{Call, FakePlatform, InjectedFault};
use platforms::conformance::samples::sample;
use serde_json::json;

use super::{harness, harness_with};

fn visibility_option(whom: &str) -> Options {
    [("visibility".to_owned(), OptionValue::Text(whom.to_owned()))].into_iter().collect()
}

#[tokio::test]
async fn a_post_is_seen_where_its_name_leads() {
    let (harness, account) = harness().await;
    let mut post = harness.post(&account, "the lamp is lit", Vec::new());

    let published = harness.deliver(&mut post).await.unwrap().published;

    let name = published.platform_post_id;
    assert!(name.starts_with("urn:li:share:"), "{name}");
    assert_eq!(published.url, Some(format!("https://www.linkedin.com/feed/update/{name}/")));
    assert_eq!(harness.fake.latest_visibility().as_deref(), Some("PUBLIC"));
}

#[tokio::test]
async fn reserved_characters_are_escaped_and_hashtags_kept() {
    let (harness, account) = harness().await;
    let text = "#Leuchtturm (1_000 lamps*) {a} <b> [c] ~d~ e|f \\g me@example.com # #1, #日本語 \
                https://example.com/a_(b)~c#d @everyone #lamp_post";
    let mut post = harness.post(&account, text, Vec::new());

    harness.deliver(&mut post).await.unwrap();

    assert_eq!(harness.fake.public_posts()[0].text, text);
    assert_eq!(harness.fake.latest_hashtags(), ["Leuchtturm", "日本語", "lamp"]);
}

#[tokio::test]
async fn a_member_may_post_for_their_connections_and_a_page_has_none() {
    let (harness, account) = harness().await;
    for (whom, visibility) in [("connections", "CONNECTIONS"), ("public", "PUBLIC")] {
        let mut post = harness.post(&account, whom, Vec::new());
        post.options = visibility_option(whom);
        harness.deliver(&mut post).await.unwrap();
        assert_eq!(harness.fake.latest_visibility().as_deref(), Some(visibility));
    }

    let (harness, page) = harness_with::<fakes::linkedin::Community>().await;
    let text = PostText::parse("for friends").unwrap();
    let errors = |account: &Account, whom| account.rules.breaches(&text, &[], &visibility_option(whom)).len();
    assert_eq!((errors(&page, "connections"), errors(&page, "public")), (1, 0), "told when it is scheduled");
    assert_eq!(errors(&account, "connections"), 0);
    let mut post = harness.post(&page, "for friends", Vec::new());
    post.options = visibility_option("connections");
    let refused = harness.deliver(&mut post).await.unwrap_err();
    assert!(matches!(&refused, AttemptError::Refused { reason } if reason.contains("visibility")), "{refused:?}");
    assert_eq!(harness.fake.call_count(Call::Publish), 0);
}

#[tokio::test]
async fn equal_text_is_refused_and_not_mistaken_for_ours() {
    let (harness, account) = harness().await;
    for expected in [true, false] {
        let mut post = harness.post(&account, "good morning", Vec::new());
        match harness.deliver(&mut post).await {
            Ok(_) => assert!(expected),
            Err(AttemptError::Refused { reason }) => assert!(!expected && reason.contains("twice"), "{reason}"),
            Err(other) => panic!("{other:?}"),
        }
    }
    assert_eq!(harness.fake.public_posts().len(), 1);
}

/// LinkedIn names the missing permission, which only the member can grant. Another 403 may be
/// temporary.
#[tokio::test]
async fn missing_permission_asks_to_connect_again_and_another_403_does_not() {
    for files in [Vec::new(), vec![sample(MimeType::Png, 1)]] {
        let (harness, account) = harness().await;
        let mut post = harness.post(&account, "not permitted", files);
        harness.fake.remove_scope("w_member_social");

        let missing = harness.deliver(&mut post).await.unwrap_err();

        let AttemptError::Unauthorized { reason } = &missing else { panic!("{missing:?}") };
        for part in ["permission", "operator", "Share on LinkedIn", "Not enough permissions to access"] {
            assert!(reason.contains(part), "{part}: {reason}");
        }
    }
    let (harness, account) = harness().await;
    let post = harness.due(&account, "later", Vec::new()).await;
    let denied = json!({ "status": 403, "code": "ACCESS_DENIED", "message": "Accessing this resource is forbidden." });
    harness.fake.refuses("/rest/posts", 403, denied);
    let unspecific = harness.publish(&post).await.unwrap_err();
    assert!(
        matches!(&unspecific, AttemptError::RetryLater { reason, .. } if reason.contains("again")),
        "{unspecific:?}"
    );
    harness.publish(&post).await.unwrap();
}

#[tokio::test]
async fn a_post_whose_answer_was_lost_is_not_sent_again() {
    let (harness, account) = harness().await;
    let post = harness.due(&account, "once", Vec::new()).await;
    let since = harness.clock.now();
    for fault in [InjectedFault::LoseResponse, InjectedFault::ServerErrorAfter] {
        harness.fake.inject_fault(Call::Publish, fault, 1);
        let error = harness.publish(&post).await.unwrap_err();
        if let AttemptError::Unknown { .. } = error {
            let answer = harness.resolve(&post, since).await;
            let Resolution::Undeterminable { advice } = answer else { panic!("{answer:?}") };
            assert!(advice.contains("linkedin.com/in/me/recent-activity"), "{advice}");
        }
    }
    assert_eq!(harness.fake.public_posts().len(), 1);

    // A post with a missing file was never sent.
    let lost = harness.post(&account, "with a file", vec![sample(MimeType::Png, 1)]);
    assert_eq!(harness.resolve(&lost, since).await, Resolution::NotPublished);
}

#[tokio::test]
async fn a_day_that_is_used_up_is_tried_twice_and_then_waited_for() {
    let (harness, account) = harness().await;
    let post = harness.due(&account, "patience", Vec::new()).await;
    let midnight = (harness.clock.now().date_naive() + Days::new(1)).and_time(NaiveTime::MIN).and_utc();
    let limited = InjectedFault::RateLimited { retry_after: TimeDelta::seconds(1) };
    for (wait, expected) in [(0, None), (6, None), (10, Some(midnight))] {
        harness.clock.advance(TimeDelta::seconds(wait));
        harness.fake.inject_fault(Call::Publish, limited, 1);
        let error = harness.publish(&post).await.unwrap_err();
        assert!(
            matches!(error, AttemptError::RetryLater { retry_at, .. } if retry_at == expected),
            "{wait}: {error:?}"
        );
    }
}

#[tokio::test]
async fn a_member_has_so_many_calls_in_a_day() {
    let (harness, account) = harness().await;
    let mut left = 0;
    loop {
        let mut post = harness.post(&account, &format!("number {left}"), Vec::new());
        post.publish_at = harness.clock.now();
        match harness.publish(&post).await {
            Ok(_) => left += 1,
            Err(AttemptError::RetryLater { retry_at: None, reason }) if reason.contains("00:00 UTC") => break,
            Err(other) => panic!("{other:?}"),
        }
    }
    // One call read the member's account info.
    assert_eq!(left, 149);
}

#[tokio::test]
async fn refusals_quote_linkedins_message() {
    let (harness, account) = harness().await;
    let post = harness.due(&account, "hello", Vec::new()).await;
    for (status, code, message, outcome) in [
        (400, "INVALID_VALUE_FOR_FIELD", "no such field", "Refused"),
        (403, "ACCESS_DENIED", "fields [/author]", "Refused"),
        (404, "NOT_FOUND", "gone", "Refused"),
        (409, "CONFLICT", "twice at once", "RetryLater"),
        (401, "REVOKED_ACCESS_TOKEN", "revoked", "Unauthorized"),
        (504, "", "", "Unknown"),
    ] {
        let body = json!({ "status": status, "code": code, "message": message });
        harness.fake.refuses("/rest/posts", status, body.clone());
        let error = harness.publish(&post).await.unwrap_err();
        let said = format!("{error:?}");
        assert!(said.starts_with(outcome) && said.contains(message), "{status} {body}: {said}");
    }
}

/// "Resource is forbidden" may be temporary. LinkedIn reports a lost token with 401.
#[tokio::test]
async fn a_member_who_is_denied_something_keeps_the_connection() {
    let (harness, account) = harness().await;
    for (number, message) in [(1, "Accessing this resource is forbidden"), (2, "Forbidden for now")] {
        let mut post = harness.post(&account, &format!("number {number}"), vec![sample(MimeType::Png, number)]);
        let denied = json!({ "status": 403, "serviceErrorCode": 100, "code": "ACCESS_DENIED", "message": message });
        harness.fake.refuses("/rest/posts", 403, denied.clone());
        harness.fake.refuses("/rest/images", 403, denied);

        let passage = harness.deliver(&mut post).await.unwrap();

        let [AttemptError::RetryLater { .. }, AttemptError::RetryLater { reason, .. }] = &passage.errors[..] else {
            panic!("{:?}", passage.errors)
        };
        assert!(reason.contains("connect the account again") && reason.contains(message), "{reason}");
    }
}
