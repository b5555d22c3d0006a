use std::time::Duration;

use cloud::queue::DeliveryMessage;
use domain::post::PostStatus;
use domain::testing::noon;

use super::*;
use crate::testing::{Network, PublishFault, Rig, later};

/// The same deployment as another environment of it sees it.
fn another(rig: &Rig) -> Publishing {
    Publishing { held_permits: HeldPermits::default(), ..rig.publishing.clone() }
}

async fn fill(rig: &Rig, of: &LimitSubject, places: usize, began: DateTime<Utc>) {
    for place in 0..places {
        rig.store.record_permit(of, &format!("other{place}"), began, random_u64()).await.unwrap();
    }
}

#[test]
fn a_share_is_a_quarter_and_never_nothing() {
    let share =
        |environments| (ConcurrencyLimits { environments }.permits(), ConcurrencyLimits { environments }.unchecked());
    assert_eq!([2, 20, 1_000].map(share), [(1, 1), (5, 1), (250, 50)]);
}

#[tokio::test]
async fn what_finds_no_place_comes_back_later_and_no_attempt_is_counted() {
    let rig = Rig::new().await;
    let of = LimitSubject::user(rig.user.user_id);
    let post = rig.schedule("Hello", noon()).await;
    fill(&rig, &of, rig.publishing.concurrency_limits.permits(), noon() - TimeDelta::seconds(5)).await;

    rig.live(later(4)).await;
    let waiting = rig.delivery(&post).await;
    assert_eq!((rig.network.calls(), waiting.attempts, waiting.has_begun), (0, 0, false));
    assert!(later(10) <= waiting.next_step_at && waiting.next_step_at <= later(13), "{}", waiting.next_step_at);
    assert_eq!(rig.post(&post).await.status, PostStatus::Scheduled);

    // The places end by themselves.
    rig.live(noon() + LEASE_DURATION + TimeDelta::seconds(60)).await;
    assert_eq!((rig.network.texts(), rig.network.calls()), (vec!["Hello".to_owned()], 1));
    assert_eq!(rig.store.in_flight_calls(&of).await.unwrap().others("me", rig.clock.now()), 0, "all is given back");
}

#[tokio::test]
async fn calls_of_one_environment_share_a_place_and_the_last_gives_it_back() {
    let rig = Rig::with(30, Network::default()).await;
    let of = LimitSubject::user(rig.user.user_id);
    let gate = rig.network.hold_publish();
    rig.schedule("Hello", noon()).await;
    let deliver = |message| {
        let (publishing, platforms) = (rig.publishing.clone(), rig.platforms.clone());
        async move { publishing.deliver(&platforms, message).await.unwrap() }
    };
    let all = futures::future::join_all(rig.queue.take().into_iter().map(|it| deliver(it.1)));
    let looked = async {
        gate.entered().await;
        let open = rig.store.in_flight_calls(&of).await.unwrap();
        gate.open();
        open.others("me", noon())
    };

    assert_eq!(tokio::join!(all, looked).1, 1);
    assert_eq!(rig.network.calls(), 30);
    assert_eq!(rig.store.in_flight_calls(&of).await.unwrap().others("me", noon()), 0);
}

#[tokio::test]
async fn a_single_call_takes_no_place_unless_it_is_slow() {
    let rig = Rig::new().await;
    let of = LimitSubject::user(rig.user.user_id);
    let publishing = another(&rig);
    let limiter = publishing.limiter();
    let leave = || limiter.acquire(of.clone(), InFlightCalls::default(), 5, false);
    let open = async || rig.store.in_flight_calls(&of).await.unwrap();

    limiter.with_permit(leave().await.unwrap().unwrap(), async {}).await;
    assert_eq!(open().await, InFlightCalls::default());

    let seen = limiter.with_permit(leave().await.unwrap().unwrap(), async {
        tokio::time::sleep(RECORDED_AFTER + Duration::from_millis(200)).await;
        open().await.others("me", noon())
    });
    assert_eq!(Box::pin(seen).await, 1);
    assert_eq!(open().await.others("me", noon()), 0);
}

#[tokio::test]
async fn places_that_fast_calls_hold_are_waited_for() {
    let rig = Rig::new().await;
    let of = LimitSubject::user(rig.user.user_id);
    fill(&rig, &of, 1, noon()).await;
    let open = rig.store.in_flight_calls(&of).await.unwrap();
    // It is given back while this one waits for it.
    let (publishing, store) = (another(&rig), rig.store.clone());
    let limiter = publishing.limiter();
    let (leave, _) = tokio::join!(limiter.acquire(of.clone(), open, 1, true), store.release_permit(&of, "other0"));

    assert!(leave.unwrap().unwrap().stored.is_some());
    assert!(rig.clock.now() < later(1));
}

#[tokio::test]
async fn of_a_crowd_whose_calls_are_fast_nobody_is_put_off() {
    let rig = Rig::new().await;
    let of = LimitSubject::user(rig.user.user_id);
    let most = rig.publishing.concurrency_limits.permits();
    // The time of the machine: who waits must not move it on for the others.
    let environments: Vec<_> = (0..5 * most).map(|_| Publishing { clock: Clock::System, ..another(&rig) }).collect();

    let calls = environments.iter().map(async |it| {
        let leave = it.limiter().acquire(of.clone(), InFlightCalls::default(), most, true).await.unwrap()?;
        it.limiter().with_permit(leave, tokio::time::sleep(Duration::from_millis(20))).await;
        Some(())
    });
    let called = futures::future::join_all(calls).await;

    assert_eq!(called.into_iter().flatten().count(), environments.len());
}

#[tokio::test]
async fn a_call_that_is_to_be_alone_gets_the_only_permit_also_within_an_environment() {
    let rig = Rig::new().await;
    let of = LimitSubject::host("slow.example");
    let limiter = rig.publishing.limiter();
    let open = async || rig.store.in_flight_calls(&of).await.unwrap();

    let first = limiter.acquire_exclusive(of.clone(), &open().await).await.unwrap().unwrap();
    assert!(limiter.acquire_exclusive(of.clone(), &open().await).await.unwrap().is_none());
    limiter.release(first).await;
    let read = open().await;
    assert!(limiter.acquire_exclusive(of.clone(), &read).await.unwrap().is_some());
    assert!(limiter.acquire_exclusive(of.clone(), &read).await.unwrap().is_none(), "another call was faster");
}

async fn leave_for(publishing: &Publishing, host: &str) -> Option<HostPermit> {
    publishing.acquire_host_permit(Some(host.to_owned())).await.unwrap()
}

fn within(leave: Option<HostPermit>) -> Option<Duration> {
    leave.unwrap().0.unwrap().within
}

/// A call of this host that took too long, and failed or did not.
async fn too_slow(rig: &Rig, host: &str, failed: bool) {
    let leave = leave_for(&rig.publishing, host).await.unwrap();
    let call = async { rig.clock.skip_to(rig.clock.now() + SLOW_CALL) };
    rig.publishing.with_host_permit(leave, call, |_| failed).await.unwrap();
}

#[tokio::test]
async fn a_host_that_is_too_slow_again_and_again_gets_one_place_and_little_time() {
    let rig = Rig::new().await;
    let host = || leave_for(&rig.publishing, "slow.example");
    for _ in 0..SLOW_CALLS {
        assert_eq!(within(host().await), None);
        too_slow(&rig, "slow.example", true).await;
    }

    let leave = host().await.unwrap();
    assert_eq!(leave.0.as_ref().unwrap().within, Some(SLOW_HOST_TIMEOUT));
    let open = rig.store.in_flight_calls(&LimitSubject::host("slow.example")).await.unwrap();
    assert_eq!(open.others("another", rig.clock.now()), 1);
    rig.clock.skip_to(rig.clock.now() + TimeDelta::seconds(2));
    assert!(leave_for(&another(&rig), "slow.example").await.is_none(), "the one place is held");

    rig.publishing.with_host_permit(leave, async {}, |()| true).await.unwrap();
    assert_eq!(within(host().await), None, "it answered in time");
}

#[tokio::test]
async fn a_slow_step_that_succeeds_is_no_strike_against_its_host() {
    let rig = Rig::new().await;
    for _ in 0..SLOW_CALLS {
        too_slow(&rig, "busy.example", false).await;
    }
    assert_eq!(within(leave_for(&rig.publishing, "busy.example").await), None);
}

#[tokio::test]
async fn a_place_is_free_again_when_no_call_is_made_and_when_a_delivery_dies() {
    let rig = Rig::new().await;
    for _ in 0..SLOW_CALLS {
        too_slow(&rig, "slow.example", true).await;
    }
    let of = LimitSubject::host("slow.example");
    let held = async || rig.store.in_flight_calls(&of).await.unwrap().others("another", rig.clock.now());

    let unused = leave_for(&rig.publishing, "slow.example").await.unwrap();
    assert_eq!(held().await, 1);
    rig.publishing.release_host_permit(unused).await;
    assert_eq!(held().await, 0);

    drop(leave_for(&rig.publishing, "slow.example").await.unwrap());
    assert!(rig.publishing.held_permits.all().is_empty(), "it is not counted for ever");
    let next = leave_for(&rig.publishing, "slow.example").await.unwrap();
    rig.publishing.release_host_permit(next).await;
    assert_eq!(held().await, 0, "the next gives it back");
}

#[tokio::test]
async fn a_call_that_takes_longer_than_a_slow_host_may_is_cut_off() {
    let rig = Rig::new().await;
    let mut leave = leave_for(&rig.publishing, "slow.example").await.unwrap();
    leave.0.as_mut().unwrap().within = Some(Duration::from_millis(10));

    assert_eq!(rig.publishing.with_host_permit(leave, std::future::pending::<()>(), |()| true).await, None);
}

#[tokio::test]
async fn only_a_crowd_of_one_user_and_second_asks_for_places() {
    let rig = Rig::with(3, Network::default()).await;
    rig.schedule("three at once", later(400)).await;
    rig.schedule("a second later", later(401)).await;
    rig.clock.skip_to(later(300));
    rig.queue.take();

    rig.publishing.plan().await.unwrap();

    let mut asked: Vec<_> = rig.queue.take().iter().map(|it| it.1.needs_permit).collect();
    asked.sort_unstable();
    assert_eq!(asked, [false, false, true, true, true, true]);
}

#[tokio::test]
async fn what_is_tried_again_asks_for_a_place() {
    let rig = Rig::with(1, Network::default().fated([PublishFault::Busy(None)])).await;
    rig.schedule("Hello", later(400)).await;
    rig.clock.skip_to(later(399));
    rig.queue.take();
    rig.publishing.plan().await.unwrap();
    let [(_, message)] = rig.queue.take()[..] else { panic!() };
    assert!(!message.needs_permit);

    rig.deliver(message, 1).await;

    let [(_, DeliveryMessage { needs_permit, .. })] = rig.queue.take()[..] else { panic!() };
    assert!(needs_permit);
}
