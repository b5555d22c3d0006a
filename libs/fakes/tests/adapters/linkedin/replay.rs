//! Sending a lost post again, if the operator enables that.

use fakes::linkedin::{LinkedIn, Replaying};

use crate::prelude::*;

/// A call begins within five seconds of its intent, and may take effect for 90 s after that.
const SETTLES: TimeDelta = TimeDelta::seconds(95);

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
        let (harness, account) = connected::<LinkedIn<Replaying>>().await;
        let (post, since) = lost_post(&harness, &account, "once (more)", Vec::new(), fault).await;
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
async fn post_is_replayed_once_and_not_after_minutes() {
    let (harness, account) = connected::<LinkedIn<Replaying>>().await;
    let (post, since) = lost_post(&harness, &account, "once (more)", Vec::new(), InjectedFault::LoseResponse).await;
    harness.clock.advance(SETTLES);
    harness.fake.inject_fault(Call::Publish, InjectedFault::LoseResponse, 1);
    assert_matches!(harness.resolve(&post, since).await, Resolution::Pending { .. });
    let calls = harness.fake.call_count(Call::Publish);

    // The earliest time of the next look-up.
    harness.clock.advance(harness.publisher().settle_time());
    assert_matches!(harness.resolve(&post, since).await, Resolution::Undeterminable { .. });
    assert_eq!(harness.fake.call_count(Call::Publish), calls);
    assert_eq!(harness.fake.public_posts().len(), 1);
}

#[tokio::test]
async fn duplicate_of_another_post_is_refused() {
    let (harness, account) = connected::<LinkedIn<Replaying>>().await;
    harness.deliver(&mut harness.post(&account, "once (more)", Vec::new())).await.unwrap();
    let (post, since) = lost_post(&harness, &account, "once (more)", Vec::new(), InjectedFault::CutBefore).await;
    harness.clock.advance(SETTLES);

    assert_matches!(harness.resolve(&post, since).await, Resolution::Refused { reason } if reason.contains("twice"));
    assert_eq!(harness.fake.public_posts().len(), 1);
}
