//! Calls fail in every way, and a post is public once all the same.

use chrono::TimeDelta;
use domain::delivery::{AttemptError, Resolution};
use platforms::Account;

use crate::conformance::adapter_harness::AdapterHarness;
use crate::conformance::fake_platform::{Call, InjectedFault, StartFake};
use crate::conformance::samples::sample;

const LIMITED: InjectedFault = InjectedFault::RateLimited { retry_after: TimeDelta::seconds(45) };

/// All temporary faults.
pub const PASSING: [InjectedFault; 7] = [
    InjectedFault::CutBefore,
    InjectedFault::LoseResponse,
    InjectedFault::ServerError,
    InjectedFault::ServerErrorAfter,
    InjectedFault::Unavailable,
    InjectedFault::HtmlPage,
    LIMITED,
];

/// The temporary faults of calls that are not carried out.
pub(super) const WITHOUT_EFFECT: [InjectedFault; 5] = [
    InjectedFault::CutBefore,
    InjectedFault::ServerError,
    InjectedFault::Unavailable,
    InjectedFault::HtmlPage,
    LIMITED,
];

/// Each fault once, and twice in a row.
pub async fn every_fault_of_the_publish_call_publishes_once(start: StartFake) {
    let harness = AdapterHarness::start(start).await;
    let account = harness.connect().await;
    if !harness.fake.can_look_up() {
        return check_unknown_outcome_is_not_sent_again(&harness, &account).await;
    }
    let mut sent = 0;
    for fault in PASSING.into_iter().filter(|it| harness.fake.can_fail(Call::Publish, *it)) {
        for count in [1, 2] {
            harness.fake.inject_fault(Call::Publish, fault, count);
            let mut post =
                harness.post(&account, &format!("{fault:?} {count}"), vec![sample(harness.main_type(&account), 1)]);

            let delivery = harness.deliver(&mut post).await.unwrap();

            sent += 1;
            assert!(!delivery.errors.is_empty(), "{fault:?} was not met");
            let public = harness.fake.public_posts();
            assert_eq!(public.len(), sent, "{fault:?}, {count} times");
            assert_eq!(public[sent - 1].text, harness.fake.displayed_text(&post.text));
            assert_eq!(public[sent - 1].id, delivery.published.platform_post_id, "{fault:?}");
        }
        harness.clock.advance(TimeDelta::minutes(1));
    }
}

/// If the outcome of a call cannot be looked up, the call is made once, and the user reads where to
/// look.
async fn check_unknown_outcome_is_not_sent_again(harness: &AdapterHarness, account: &Account) {
    for fault in PASSING.into_iter().filter(|it| harness.fake.can_fail(Call::Publish, *it)) {
        let mut post = harness.post(account, &format!("{fault:?}"), vec![sample(harness.main_type(account), 1)]);
        harness.prepare_all(&mut post, &mut Vec::new()).await.unwrap();
        harness.clock.skip_to(post.publish_at);
        let since = harness.clock.now();
        let before = harness.fake.public_posts().len();
        harness.fake.inject_fault(Call::Publish, fault, 1);

        match harness.publish(&post).await.unwrap_err() {
            AttemptError::Unknown { .. } => {
                let resolution = harness.resolve(&post, since).await;
                assert!(
                    matches!(&resolution, Resolution::Undeterminable { advice } if !advice.is_empty()),
                    "{resolution:?}"
                );
            }
            // It is certain that nothing was published.
            AttemptError::RetryLater { .. } => assert_eq!(harness.fake.public_posts().len(), before, "{fault:?}"),
            other => panic!("{fault:?}: {other:?}"),
        }
        harness.clock.advance(TimeDelta::minutes(1));
    }
}

/// It is not retried, and the user reads the platform's message.
pub async fn refusal_is_final_and_has_the_reason(start: StartFake) {
    let harness = AdapterHarness::start(start).await;
    let account = harness.connect().await;
    if !harness.fake.can_fail(Call::Publish, InjectedFault::Refused) {
        return;
    }
    harness.fake.inject_fault(Call::Publish, InjectedFault::Refused, 1);
    let mut post = harness.post(&account, "unwanted", vec![sample(harness.main_type(&account), 1)]);

    let error = harness.deliver(&mut post).await.unwrap_err();

    let AttemptError::Refused { reason } = &error else { panic!("{error:?}") };
    assert!(!reason.is_empty() && !reason.contains('<'), "{reason}");
    assert!(harness.fake.public_posts().is_empty());
}

/// The post waits for the time that the platform names, and is known not to be public.
pub async fn rate_limit_delays_the_post(start: StartFake) {
    let harness = AdapterHarness::start(start).await;
    if !harness.fake.can_fail(Call::Publish, LIMITED) {
        return;
    }
    let account = harness.connect().await;
    let mut post = harness.post(&account, "limited", vec![sample(harness.main_type(&account), 1)]);
    harness.prepare_all(&mut post, &mut Vec::new()).await.unwrap();
    harness.fake.inject_fault(Call::Publish, LIMITED, 1);

    let limited = harness.publish(&post).await.unwrap_err();

    let AttemptError::RetryLater { retry_at: Some(at), .. } = limited else { panic!("{limited:?}") };
    let wait = at - harness.clock.now();
    assert!(TimeDelta::seconds(44) <= wait && wait <= TimeDelta::seconds(60), "{wait}");
}

/// Each fault for each file of a post, and for its processing.
pub async fn every_fault_of_an_upload_publishes_once(start: StartFake) {
    let harness = AdapterHarness::start(start).await;
    let account = harness.connect().await;
    let mut sent = 0;
    for (call, mime_type) in harness.file_calls(&account) {
        for fault in PASSING.into_iter().filter(|it| harness.fake.can_fail(call, *it)) {
            harness.fake.inject_fault(call, fault, 1);
            let before = harness.fake.call_count(call);
            let mut post = harness.post(&account, &format!("{call:?} {fault:?}"), vec![sample(mime_type, 1)]);

            harness.deliver(&mut post).await.unwrap();

            sent += 1;
            let public = harness.fake.public_posts();
            assert_eq!(public.len(), sent, "{call:?} {fault:?}");
            assert_eq!(public[sent - 1].media.len(), 1);
            if harness.fake.call_count(call) == before {
                // The platform has no such call for this file.
                harness.fake.inject_fault(call, fault, 0);
                break;
            }
        }
    }
}

/// While the platform does not respond, the adapter never reports a post as missing.
pub async fn failed_look_up_decides_nothing(start: StartFake) {
    let harness = AdapterHarness::start(start).await;
    let account = harness.connect().await;
    let mut post = harness.post(&account, "unknown outcome", vec![sample(harness.main_type(&account), 1)]);
    harness.prepare_all(&mut post, &mut Vec::new()).await.unwrap();
    harness.clock.skip_to(post.publish_at);
    let since = harness.clock.now();
    harness.fake.inject_fault(Call::Publish, InjectedFault::LoseResponse, 1);
    let lost = harness.publish(&post).await.unwrap_err();
    assert!(matches!(lost, AttemptError::Unknown { may_still_run: true, .. }), "{lost:?}");
    if !harness.fake.can_look_up() {
        return;
    }

    for wait in [TimeDelta::seconds(2), TimeDelta::minutes(5), TimeDelta::hours(3)] {
        harness.clock.advance(wait);
        for fault in WITHOUT_EFFECT.into_iter().filter(|it| harness.fake.can_fail(Call::LookUp, *it)) {
            harness.fake.inject_fault(Call::LookUp, fault, 3);
            // If repeating the call settles it, the repetition meets the fault, too.
            harness.fake.inject_fault(Call::Publish, fault, 3);
            let resolution = harness.resolve(&post, since).await;
            assert!(
                matches!(resolution, Resolution::Pending { .. } | Resolution::Unauthorized { .. }),
                "{fault:?} after {wait}: {resolution:?}"
            );
            harness.fake.inject_fault(Call::LookUp, fault, 0);
            harness.fake.inject_fault(Call::Publish, fault, 0);
        }
    }
    assert_eq!(harness.fake.public_posts().len(), 1);
}

/// Hours later, when idempotency keys have expired.
pub async fn lost_response_is_found_hours_later(start: StartFake) {
    for (fault, is_published) in [(InjectedFault::LoseResponse, true), (InjectedFault::CutBefore, false)] {
        let harness = AdapterHarness::start(start).await;
        let account = harness.connect().await;
        if !harness.fake.can_look_up() {
            return;
        }
        let mut post = harness.post(&account, "found later", vec![sample(harness.main_type(&account), 1)]);
        harness.prepare_all(&mut post, &mut Vec::new()).await.unwrap();
        harness.clock.skip_to(post.publish_at);
        let since = harness.clock.now();
        harness.fake.inject_fault(Call::Publish, fault, 1);
        harness.publish(&post).await.unwrap_err();

        harness.clock.advance(TimeDelta::hours(3));
        let resolution = harness.resolve(&post, since).await;

        let public = harness.fake.public_posts();
        match resolution {
            Resolution::Found(found) | Resolution::Candidate(found) if is_published => {
                assert_eq!(public[0].id, found.platform_post_id);
            }
            Resolution::NotFound | Resolution::NotPublished if !is_published => {}
            other => panic!("{fault:?}: {other:?}"),
        }
        assert_eq!(public.len(), usize::from(is_published));
    }
}

/// A server repeats the token and the text in its errors. The user, the log and the event bus see
/// the error without them.
pub async fn repeated_secrets_are_redacted(start: StartFake) {
    let harness = AdapterHarness::start(start).await;
    let account = harness.connect().await;
    let faults = [InjectedFault::Refused, InjectedFault::ServerError, InjectedFault::Unavailable, LIMITED];
    let mut redaction_count = 0;
    for fault in faults.into_iter().filter(|it| harness.fake.can_fail(Call::Publish, *it)) {
        // Twice, because one request in two begins with the token.
        for _ in 0..2 {
            let filler = harness.required_files(&account, 1);
            let mut post = harness.post(&account, "The canary sings before the sun is up.", filler);
            harness.prepare_all(&mut post, &mut Vec::new()).await.unwrap();
            harness.clock.skip_to(post.publish_at);
            harness.fake.inject_fault(Call::Publish, fault, 1);

            let reason = harness.publish(&post).await.unwrap_err().into_reason();

            assert!(!reason.contains("canary sings"), "{fault:?}: {reason}");
            redaction_count += usize::from(reason.contains("[…]"));
            harness.clock.advance(TimeDelta::minutes(1));
        }
    }
    // Otherwise nothing was repeated, and the check would prove nothing.
    let is_repeated = harness.echoes_requests && harness.fake.publish_call_has_secrets();
    assert!(!is_repeated || 0 < redaction_count, "nothing had to be taken out");
}

/// Only a grant that has ended requires the user; no other error counts as its end.
pub async fn only_an_ended_grant_asks_for_reconnection(start: StartFake) {
    let harness = AdapterHarness::start(start).await;
    let account = harness.connect().await;
    let mut post = harness.post(&account, "gone", vec![sample(harness.main_type(&account), 1)]);
    harness.prepare_all(&mut post, &mut Vec::new()).await.unwrap();
    for fault in PASSING.into_iter().filter(|it| harness.fake.can_fail(Call::Publish, *it)) {
        let was_public = !harness.fake.public_posts().is_empty();
        harness.fake.inject_fault(Call::Publish, fault, 1);
        let error = match harness.publish(&post).await {
            Err(error) => error,
            // An adapter may see that an earlier call took effect.
            Ok(published) => {
                assert!(was_public, "{fault:?}: {published:?}");
                continue;
            }
        };
        assert!(
            !matches!(error, AttemptError::Unauthorized { .. } | AttemptError::Refused { .. }),
            "{fault:?}: {error:?}"
        );
    }

    let mut other = harness.post(&account, "never", vec![sample(harness.main_type(&account), 1)]);
    harness.fake.revoke();
    harness.fake.end_access_tokens();
    let prepared = harness.prepare_all(&mut other, &mut Vec::new()).await;
    let makes_no_call = harness.fake.call_count(Call::Upload) == 0;
    assert!(matches!(prepared, Err(AttemptError::Unauthorized { .. })) || makes_no_call, "{prepared:?}");
    let error = harness.publish(&post).await.unwrap_err();
    assert!(matches!(error, AttemptError::Unauthorized { .. }), "{error:?}");
}
