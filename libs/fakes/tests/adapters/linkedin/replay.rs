//! Sending a lost post again, if the operator enables that.

use fakes::linkedin::{LinkedIn, Replaying};

use super::harness_with;
use crate::prelude::*;

/// A call begins within five seconds of its intent, and may take effect for 90 s after that.
const SETTLES: TimeDelta = TimeDelta::seconds(95);

/// A post whose publish call had this fault.
async fn publish_with_lost_response<'a>(
    harness: &AdapterHarness<LinkedIn<Replaying>>,
    account: &'a Account,
    fault: InjectedFault,
) -> Post<'a> {
    let post = harness.due(account, "once (more)", Vec::new()).await;
    harness.lose_outcome(&post, fault).await;
    post
}

/// LinkedIn does not document for how long it refuses the same post. A worker that died in the
/// repeated call holds the delivery for 90 s, so no other worker sends the post again.
#[tokio::test]
async fn post_is_sent_again_within_a_minute_after_its_call_has_ended() {
    let (lost, cut) = (InjectedFault::LoseResponse, InjectedFault::CutBefore);
    for (fault, seconds, expected) in [
        (lost, -1, "Pending"),
        (lost, 0, "Found"),
        (cut, 0, "Found"),
        (lost, 59, "Found"),
        (lost, 60, "Undeterminable"),
    ] {
        let (harness, account) = harness_with::<Replaying>().await;
        let post = publish_with_lost_response(&harness, &account, fault).await;
        let since = harness.clock.now();
        harness.clock.skip_to(since + SETTLES + TimeDelta::seconds(seconds));

        let resolution = harness.resolve(&post, since).await;

        assert!(format!("{resolution:?}").starts_with(expected), "after {seconds} s: {resolution:?}");
        let is_sent_again = expected == "Found";
        assert_eq!(harness.fake.call_count(Call::Publish), 1 + usize::from(is_sent_again), "after {seconds} s");
        let sent = harness.fake.request_log.all();
        let posts: Vec<_> = sent.iter().filter(|it| it.request_line == "POST /rest/posts").map(|it| &it.body).collect();
        assert!(posts.windows(2).all(|it| it[0] == it[1]), "byte for byte");
        assert_eq!(harness.fake.public_posts().len(), 1);
    }
}

#[tokio::test]
async fn it_is_sent_once_and_within_minutes_or_not_at_all() {
    let (harness, account) = harness_with::<Replaying>().await;
    let post = publish_with_lost_response(&harness, &account, InjectedFault::LoseResponse).await;
    let since = harness.clock.now();
    harness.clock.advance(SETTLES);
    harness.fake.inject_fault(Call::Publish, InjectedFault::LoseResponse, 1);
    let again = harness.resolve(&post, since).await;
    assert!(matches!(again, Resolution::Pending { .. }), "{again:?}");
    let calls = harness.fake.call_count(Call::Publish);

    // The earliest time of the next look-up.
    harness.clock.advance(harness.publisher().settle_time());
    let late = harness.resolve(&post, since).await;

    assert!(matches!(late, Resolution::Undeterminable { .. }), "{late:?}");
    assert_eq!(harness.fake.call_count(Call::Publish), calls);
    assert_eq!(harness.fake.public_posts().len(), 1);
}

#[tokio::test]
async fn duplicate_of_another_post_is_not_it() {
    let (harness, account) = harness_with::<Replaying>().await;
    let mut first = harness.post(&account, "once (more)", Vec::new());
    harness.deliver(&mut first).await.unwrap();
    let post = publish_with_lost_response(&harness, &account, InjectedFault::CutBefore).await;
    let since = harness.clock.now();
    harness.clock.advance(SETTLES);

    let response = harness.resolve(&post, since).await;

    assert!(matches!(&response, Resolution::Refused { reason } if reason.contains("twice")), "{response:?}");
    assert_eq!(harness.fake.public_posts().len(), 1);
}
