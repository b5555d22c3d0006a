use std::time::Duration;

use cloud::queue::DeliveryMessage;
use domain::post::PostStatus;
use domain::testing::noon;

use super::*;
use crate::testing::{FakePlatform, PublishFault, PublishingHarness, later};

/// The deployment as another of its environments sees it.
fn another(harness: &PublishingHarness) -> Publishing {
    Publishing { held_permits: HeldPermits::new(Random::Os), ..harness.publishing.clone() }
}

async fn record_permits(harness: &PublishingHarness, subject: &LimitSubject, count: usize, began_at: DateTime<Utc>) {
    for index in 0..count {
        harness.store.record_permit(subject, &format!("other{index}"), began_at, Random::Os.u64()).await.unwrap();
    }
}

#[test]
fn permits_are_a_quarter_and_at_least_one() {
    let share =
        |environments| (ConcurrencyLimits { environments }.permits(), ConcurrencyLimits { environments }.unchecked());
    assert_eq!([2, 20, 1_000].map(share), [(1, 1), (5, 1), (250, 50)]);
}

#[tokio::test]
async fn delivery_without_permit_is_rescheduled_without_an_attempt() {
    let harness = PublishingHarness::new().await;
    let subject = LimitSubject::user(harness.user.user_id);
    let post = harness.schedule("Hello", noon()).await;
    record_permits(&harness, &subject, harness.publishing.concurrency_limits.permits(), noon() - TimeDelta::seconds(5))
        .await;

    harness.live(later(4)).await;
    let waiting = harness.delivery(&post).await;
    assert_eq!((harness.fake.calls(), waiting.attempts, waiting.has_begun), (0, 0, false));
    assert!(later(10) <= waiting.next_step_at && waiting.next_step_at <= later(13), "{}", waiting.next_step_at);
    assert_eq!(harness.post(&post).await.status, PostStatus::Scheduled);

    // The permits expire.
    harness.live(noon() + LEASE_DURATION + TimeDelta::seconds(60)).await;
    assert_eq!((harness.fake.texts(), harness.fake.calls()), (vec!["Hello".to_owned()], 1));
    assert_eq!(
        harness.store.in_flight_calls(&subject).await.unwrap().others("me", harness.clock.now()),
        0,
        "all permits are released"
    );
}

#[tokio::test]
async fn calls_of_one_environment_share_a_permit_until_the_last_ends() {
    let harness = PublishingHarness::with(30, FakePlatform::default()).await;
    let subject = LimitSubject::user(harness.user.user_id);
    let gate = harness.fake.hold_publish();
    harness.schedule("Hello", noon()).await;
    let deliver = |message| {
        let (publishing, platforms) = (harness.publishing.clone(), harness.platforms.clone());
        async move { publishing.deliver(&platforms, message).await.unwrap() }
    };
    let all = futures::future::join_all(harness.queue.take().into_iter().map(|it| deliver(it.1)));
    let count_permits = async {
        gate.entered().await;
        let in_flight = harness.store.in_flight_calls(&subject).await.unwrap();
        gate.open();
        in_flight.others("me", noon())
    };

    assert_eq!(tokio::join!(all, count_permits).1, 1);
    assert_eq!(harness.fake.calls(), 30);
    assert_eq!(harness.store.in_flight_calls(&subject).await.unwrap().others("me", noon()), 0);
}

#[tokio::test]
async fn single_call_needs_a_permit_only_if_slow() {
    let harness = PublishingHarness::new().await;
    let subject = LimitSubject::user(harness.user.user_id);
    let publishing = another(&harness);
    let limiter = publishing.limiter();
    let acquire = || limiter.acquire(subject.clone(), InFlightCalls::default(), 5, false);
    let in_flight = async || harness.store.in_flight_calls(&subject).await.unwrap();

    limiter.with_permit(acquire().await.unwrap().unwrap(), async {}).await;
    assert_eq!(in_flight().await, InFlightCalls::default());

    let seen = limiter.with_permit(acquire().await.unwrap().unwrap(), async {
        tokio::time::sleep(RECORDED_AFTER + Duration::from_millis(200)).await;
        in_flight().await.others("me", noon())
    });
    assert_eq!(Box::pin(seen).await, 1);
    assert_eq!(in_flight().await.others("me", noon()), 0);
}

#[tokio::test]
async fn permits_of_fast_calls_are_awaited() {
    let harness = PublishingHarness::new().await;
    let subject = LimitSubject::user(harness.user.user_id);
    record_permits(&harness, &subject, 1, noon()).await;
    let in_flight = harness.store.in_flight_calls(&subject).await.unwrap();
    // The permit is released while this one waits for it.
    let (publishing, store) = (another(&harness), harness.store.clone());
    let limiter = publishing.limiter();
    let (permit, _) =
        tokio::join!(limiter.acquire(subject.clone(), in_flight, 1, true), store.release_permit(&subject, "other0"));

    assert!(permit.unwrap().unwrap().stored.is_some());
    assert!(harness.clock.now() < later(1));
}

#[tokio::test(start_paused = true)]
async fn burst_of_fast_calls_is_not_rescheduled() {
    let harness = PublishingHarness::new().await;
    // Time passes only while all workers wait, so neither a waiting worker nor a busy machine uses
    // up the time of the others.
    let started_at = tokio::time::Instant::now();
    let clock = Clock::from_fn(move || noon() + TimeDelta::from_std(started_at.elapsed()).unwrap());
    let subject = LimitSubject::user(harness.user.user_id);
    let max_permits = harness.publishing.concurrency_limits.permits();
    let environments: Vec<_> =
        (0..5 * max_permits).map(|_| Publishing { clock: clock.clone(), ..another(&harness) }).collect();

    let calls = environments.iter().map(async |it| {
        let permit =
            it.limiter().acquire(subject.clone(), InFlightCalls::default(), max_permits, true).await.unwrap()?;
        it.limiter().with_permit(permit, tokio::time::sleep(Duration::from_millis(20))).await;
        Some(())
    });
    let called = futures::future::join_all(calls).await;

    assert_eq!(called.into_iter().flatten().count(), environments.len());
}

#[tokio::test]
async fn exclusive_call_gets_the_only_permit_even_in_one_environment() {
    let harness = PublishingHarness::new().await;
    let subject = LimitSubject::host("slow.example");
    let limiter = harness.publishing.limiter();
    let in_flight = async || harness.store.in_flight_calls(&subject).await.unwrap();

    let first = limiter.acquire_exclusive(subject.clone(), &in_flight().await).await.unwrap().unwrap();
    assert!(limiter.acquire_exclusive(subject.clone(), &in_flight().await).await.unwrap().is_none());
    limiter.release(first).await;
    let read = in_flight().await;
    assert!(limiter.acquire_exclusive(subject.clone(), &read).await.unwrap().is_some());
    assert!(limiter.acquire_exclusive(subject.clone(), &read).await.unwrap().is_none(), "another call was faster");
}

async fn leave_for(publishing: &Publishing, host: &str) -> Option<HostPermit> {
    publishing.acquire_host_permit(Some(host.to_owned())).await.unwrap()
}

fn within(permit: Option<HostPermit>) -> Option<Duration> {
    permit.unwrap().0.unwrap().within
}

/// A call of this host that took too long and failed, or succeeded.
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
    assert!(harness.publishing.held_permits.all().is_empty(), "it is not counted for ever");
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

#[tokio::test]
async fn only_bursts_of_one_user_and_second_need_permits() {
    let harness = PublishingHarness::with(3, FakePlatform::default()).await;
    harness.schedule("three at once", later(400)).await;
    harness.schedule("a second later", later(401)).await;
    harness.clock.skip_to(later(300));
    harness.queue.take();

    harness.planner().plan().await.unwrap();

    let mut needs_permit: Vec<_> = harness.queue.take().iter().map(|it| it.1.needs_permit).collect();
    needs_permit.sort_unstable();
    assert_eq!(needs_permit, [false, false, true, true, true, true]);
}

#[tokio::test]
async fn retry_needs_a_permit() {
    let harness = PublishingHarness::with(1, FakePlatform::default().with_faults([PublishFault::Busy(None)])).await;
    harness.schedule("Hello", later(400)).await;
    harness.clock.skip_to(later(399));
    harness.queue.take();
    harness.planner().plan().await.unwrap();
    let [(_, message)] = harness.queue.take()[..] else { panic!() };
    assert!(!message.needs_permit);

    harness.deliver(message, 1).await;

    let [(_, DeliveryMessage { needs_permit, .. })] = harness.queue.take()[..] else { panic!() };
    assert!(needs_permit);
}
