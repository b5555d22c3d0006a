use chrono::TimeDelta;
use domain::random::Random;
use permits::HeldPermits;

use super::*;
use crate::concurrency_limits::SLOW_CALLS;
use crate::testing::PublishingHarness;

/// The deployment as another of its environments sees it.
fn another(harness: &PublishingHarness) -> Publishing {
    Publishing { held_permits: HeldPermits::new(Random::Os), ..harness.publishing.clone() }
}

async fn leave_for(publishing: &Publishing, host: &str) -> Option<HostPermit> {
    publishing.acquire_host_permit(Some(host.to_owned())).await.unwrap()
}

fn within(permit: Option<HostPermit>) -> Option<Duration> {
    permit.unwrap().0.unwrap().within
}

async fn make_slow_call(harness: &PublishingHarness, host: &str, failed: bool) {
    let permit = leave_for(&harness.publishing, host).await.unwrap();
    let call = async { harness.clock.skip_to(harness.clock.now() + SLOW_CALL) };
    harness.publishing.with_host_permit(permit, call, |_| failed).await.unwrap();
}

#[tokio::test]
async fn repeatedly_slow_host_gets_one_permit_and_a_short_timeout() {
    let harness = PublishingHarness::new().await;
    let host = || leave_for(&harness.publishing, "slow.example");
    for _ in 0..SLOW_CALLS {
        assert_eq!(within(host().await), None);
        make_slow_call(&harness, "slow.example", true).await;
    }

    let permit = host().await.unwrap();
    assert_eq!(permit.0.as_ref().unwrap().within, Some(SLOW_HOST_TIMEOUT));
    let in_flight = harness.store.in_flight_calls(&LimitSubject::host("slow.example")).await.unwrap();
    assert_eq!(in_flight.others("another", harness.clock.now()), 1);
    harness.clock.skip_to(harness.clock.now() + TimeDelta::seconds(2));
    assert!(leave_for(&another(&harness), "slow.example").await.is_none(), "the one place is held");

    harness.publishing.with_host_permit(permit, async {}, |()| true).await.unwrap();
    assert_eq!(within(host().await), None, "it answered in time");
}

#[tokio::test]
async fn slow_step_that_succeeds_is_not_a_slow_call() {
    let harness = PublishingHarness::new().await;
    for _ in 0..SLOW_CALLS {
        make_slow_call(&harness, "busy.example", false).await;
    }
    assert_eq!(within(leave_for(&harness.publishing, "busy.example").await), None);
}

#[tokio::test]
async fn permit_is_released_without_a_call_and_after_a_panic() {
    let harness = PublishingHarness::new().await;
    for _ in 0..SLOW_CALLS {
        make_slow_call(&harness, "slow.example", true).await;
    }
    let subject = LimitSubject::host("slow.example");
    let held = async || harness.store.in_flight_calls(&subject).await.unwrap().others("another", harness.clock.now());

    let unused = leave_for(&harness.publishing, "slow.example").await.unwrap();
    assert_eq!(held().await, 1);
    harness.publishing.release_host_permit(unused).await;
    assert_eq!(held().await, 0);

    drop(leave_for(&harness.publishing, "slow.example").await.unwrap());
    let next = leave_for(&harness.publishing, "slow.example").await.unwrap();
    harness.publishing.release_host_permit(next).await;
    assert_eq!(held().await, 0, "the next gives it back");
}

#[tokio::test]
async fn call_over_the_slow_host_timeout_is_cut_off() {
    let harness = PublishingHarness::new().await;
    let mut permit = leave_for(&harness.publishing, "slow.example").await.unwrap();
    permit.0.as_mut().unwrap().within = Some(Duration::from_millis(10));

    assert_eq!(harness.publishing.with_host_permit(permit, std::future::pending::<()>(), |()| true).await, None);
}
